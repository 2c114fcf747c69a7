"""Figures of ``image-grokking``: probability of each phase over the map, and steps of generalisation beside their laws."""

import numpy as np

from foretrain.figures import Drawing
from foretrain.figures.style import INK, titled_panels
from foretrain.quantities.cell import Cell
from foretrain.study import drawn, figure, panel
from foretrain.training.phases import PHASES

from .claims import MAP, first_steps, generalisation_steps, has_comparisons, phase


def draw_phases(grid):
    cell, words = grid.first(MAP)
    if any(len(cell.values(name)) < 2 for name in MAP):
        return None
    c, decays, rates = Cell(cell), *map(cell.values, MAP)
    picture, axes = titled_panels(PHASES, 3.4, ylabel="Weight decay", xlabel="Rate, last layer")
    for number, ax in enumerate(axes):
        ax.set_title(PHASES[number], loc="left", fontsize=11)
        share = (phase(c) == number).mean("seed").values
        ax.pcolormesh(share, vmin=0, vmax=1, cmap="Blues")
        ax.set_xticks(np.arange(len(rates)) + 0.5, [f"{rate:g}" for rate in rates], rotation=60)
        ax.set_yticks(np.arange(len(decays)) + 0.5, [f"{decay:g}" for decay in decays])
        ax.tick_params(labelsize=9.7)
        for (row, column), value in np.ndenumerate(share if share.size <= 40 else np.empty((0, 0))):
            look = {"color": "white" if value > 0.6 else INK, "fontsize": 9.7}
            ax.text(column + 0.5, row + 0.5, f"{value:.2g}", ha="center", va="center", **look)
    caption = f"Share of {c.seeds} seeds in each phase, over decay and the last layer's rate."
    return Drawing(picture, "Phases", caption + words)  # letters would not fit beside the names


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
