"""Figures of ``grokking-phases``, after Liu et al. (2022), Figs 6 and 13-15."""

import numpy as np
from matplotlib.patheffects import withStroke

from foretrain.figures import finished
from foretrain.figures.phase_map import draw_phase_map
from foretrain.figures.style import PALETTE, panels, theory_line
from foretrain.quantities.cell import Cell
from foretrain.study import NotApplicable, drawn
from foretrain.training.phases import PHASES

from .claims import CAUSES, RATES, causes, generalisation_steps, head_start
from .study import learners


def draw_phases(grid):
    """Probability and entropy of phases over the first two axes that are numbers."""
    swept = [name for name, values in grid.axes.items() if len(values) > 1]
    numbers = [name for name in swept if not isinstance(grid.values(name)[0], str)]
    axes = tuple(dict.fromkeys((*numbers, *RATES)))[:2]
    moments = "training, representation and validation"
    return draw_phase_map(grid, PHASES, axes, lambda c: c.phase, steps, moments, _boundaries)


def steps(c):
    return [c.train_step, c.rqi_step, c.validation_step]


def _boundaries(c, ax):
    """Draw where representation and decoder take equally long, for each seed whose training set tells enough."""
    if "decoder_step" not in c.theory or min(c.phase.shape[:2]) < 2:
        return ""
    halo = [withStroke(linewidth=2.6, foreground="white")]  # seen on black, too
    look = {**theory_line(linewidth=1.2), "path_effects": halo}
    for gap in np.moveaxis(head_start(c).values[..., learners(c)], 2, 0):
        if np.isfinite(places := crossings(gap)).any():
            ax.plot(places, np.arange(len(places)), **look)
    ax.plot([], [], label="predicted boundary", **look)
    return " Dashed: representation and decoder take equally long, a line for each seed."


def crossings(gap) -> np.ndarray:
    """Return where along the first axis of (column, row) each row falls through zero, (row,); nan where it does not."""
    places = np.full(gap.shape[1], np.nan)
    for row, values in enumerate(gap.T):
        known = np.flatnonzero(np.isfinite(values))
        if known.size and values[known[0]] > 0 >= values[known[-1]]:
            places[row] = np.interp(0, -values[known], known)
    return places


def draw_times(grid):
    cell, where = grid.first(RATES)
    c = Cell(cell)
    try:
        predicted, measured = generalisation_steps(c)
    except NotApplicable:
        return None
    figure, (left, right) = panels(1, 2, height=3.8)
    left.set_title("Representation + decoder", loc="left")
    right.set_title("Why others do not", loc="left")
    left.plot(predicted, measured, "o", color=PALETTE["blue"], markersize=4, alpha=0.5)
    ends = np.array([np.nanmin(measured), np.nanmax(predicted)])
    left.plot(ends, ends, **theory_line(label="equal"))
    left.plot(ends, ends / 2, ":", color="#9aa0a6", label="both at the same time, at least")
    left.set(xscale="log", yscale="log", xlabel="Predicted step", ylabel="Step of validation")
    base = np.zeros(2)
    for number, (name, colour) in enumerate(zip(CAUSES, ("purple", "blue", "green"), strict=True)):
        of = [((causes(c) == number) & (c.phase == code)).mean() for code in (2, 3)]
        right.bar(PHASES[2:], of, 0.8, base, color=PALETTE[colour], label=f"{name} at fault")
        base = base + of
    right.set_ylabel("Share of all runs")
    caption = (
        "Left: every run that generalises; the prediction is made before the run. Right: data, where the ideal model of the "
        "training set does not generalise; representation, where RQI is not reached; decoder, where it is."
    )
    return finished(figure, "When runs generalise, and why others do not", caption + where)


FIGURES = {"phases": drawn(draw_phases), "times": drawn(draw_times)}
