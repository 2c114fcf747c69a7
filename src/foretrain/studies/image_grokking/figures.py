"""Figures of ``image-grokking``: probability of each phase over the map, and steps of generalisation beside their laws."""

import numpy as np

from foretrain.figures.phase_map import draw_phase_map
from foretrain.study import drawn, figure, panel
from foretrain.training.phases import PHASES

from .claims import MAP, first_steps, generalisation_steps, has_comparisons, phase


def draw_phases(grid):
    if any(len(grid.values(name)) < 2 for name in MAP):
        return None
    return draw_phase_map(grid, PHASES, MAP[::-1], phase, first_steps, "training and validation")


def finite(steps):
    return steps.where(np.isfinite(steps))  # nan for never


def other_sets(c):
    """Return steps of generalisation by size of the training set, in the cell where several are trained."""
    return finite(generalisation_steps(c, "fewer", "", "more")) if has_comparisons(c.p) else None


STEP = {"theory": False, "label": "Step"}
RUNS = STEP | {"x": "training_images", "statistic": "runs", "scale": "semilogx"}
FIGURES = {
    "phases": drawn(draw_phases),
    "delay": figure(
        "What the delay depends on",
        "Above, median accuracies in one cell, and median step of the runs that generalise, and of two laws: decay alone, and "
        "the tangent kernel of the shrunk start. Below, in the cell with other training sets: every seed against their size.",
        panel(
            {"training": lambda c: c.train_accuracy, "validation": lambda c: c.validation_accuracy},
            x="step",
            statistic="median",
            label="Accuracy",
        ),
        panel(
            {
                "b: measured": lambda c: finite(first_steps(c)[1]),
                "b: law of decay": lambda c: finite(c.theory.forgetting_step),
                "b: law of the kernel": lambda c: finite(c.theory.lazy_step),
            },
            x="weight_decay",
            statistic="median",
            scale="loglog",
            **STEP,
        ),
        panel(other_sets, by="weight_decay", across="last_learning_rate", most=99, **RUNS),
        columns=2,
    ),
}
