"""Figures of ``modular-transformer``, after Liu et al. (2022), Figs. 1, 7, 21 and 22."""

import numpy as np

from foretrain.figures import Drawing
from foretrain.figures.phase_map import draw_phase_map
from foretrain.figures.style import panels
from foretrain.figures.symbols import draw_symbols
from foretrain.quantities.cell import Cell
from foretrain.quantities.frequency import frequency_shares, principal_axes
from foretrain.study import drawn, figure, panel
from foretrain.training.phases import PHASES

from .study import embedding


def draw_circles(grid):
    cell, words = grid.first()
    c = Cell(cell)
    if c.snapshot_embedding.sizes["coordinate"] < 2:
        return None
    delay = (c.validation_step - c.train_step).values
    last = max(0, np.isfinite(delay).sum() - 1)
    seed = int(np.argsort(delay)[last // 2])  # those that never generalise are sorted last
    times = {"start": 0, "fitted": c.train_step, "generalised": c.validation_step, "end": np.inf}
    moments = {name: embedding(c, step).isel(seed=seed).values for name, step in times.items()}
    start, end = moments["start"], moments["end"]
    if not np.isfinite(end).all():
        return None
    symbols, frequency = len(end), int(frequency_shares(end).argmax()) + 1
    wave = np.exp(2j * np.pi * frequency * np.arange(symbols) / symbols) @ (end - end.mean(0))
    along = np.linalg.svd(np.stack([wave.real, wave.imag]), full_matrices=False)[2]
    shown = [(name, values, principal_axes(values, 2)) for name, values in moments.items()]
    shown.append((f"end, frequency {frequency}", end, along))
    shown.append(("start, axes of the end", start, principal_axes(end, 2)))
    picture, axes = panels(2, 3, height=5.2)
    order = np.argsort(np.arange(symbols) * frequency % symbols)
    for ax, (name, values, of) in zip(axes.flat, shown, strict=True):
        draw_symbols(ax, (values - values.mean(0)) @ of.T, np.append(order, order[0]))
        ax.set(xticks=[], yticks=[])
        ax.set_title(name, loc="left")
    caption = (
        "Embeddings on their first two principal axes, at the last snapshot not after each step; those of the end on the axes "
        f"of frequency {frequency}, the strongest there; those of the start on the principal axes of the end. Lines join "
        "symbols in the order of that frequency."
    )
    return Drawing(picture, "Circles", f"{caption} Seed {seed}.{words}")


def draw_phases(grid):
    axes, moments = ("decoder_learning_rate", "decoder_decay"), "training and validation"
    return draw_phase_map(
        grid, PHASES, axes, lambda c: c.phase, lambda c: [c.train_step, c.validation_step], moments
    )


OVER_STEPS = {"x": "step", "statistic": "median", "scale": "semilogx"}
AXES = {"axes of the end": "final", "axes of the snapshot": "current", "random axes": "random"}
FIGURES = {
    "learning-curve": figure(
        "Learning curves",
        "Median accuracies, and exponential of the entropy of the embeddings' principal variances, in bands over seeds.",
        panel(
            {"training": lambda c: c.train_accuracy, "validation": lambda c: c.validation_accuracy},
            **OVER_STEPS,
            label="Accuracy",
        ),
        panel(lambda c: c.effective_dimension, **OVER_STEPS, label="Effective dimension"),
    ),
    "circles": drawn(draw_circles),
    "projections": figure(
        "Projected embeddings",
        "Validation accuracy of each snapshot, at steps that grow by the square root of 2, with embeddings on a few axes "
        "only: principal axes of the end, those of the snapshot, or random ones. Their number stands above each panel.",
        panel(
            {text: lambda c, n=n: c.projected_accuracy.sel(axes_of=n) for text, n in AXES.items()},
            x="snapshot",
            across="rank",
            label="Validation accuracy",
        ),
        columns=4,
    ),
    "phases": drawn(draw_phases),
}
