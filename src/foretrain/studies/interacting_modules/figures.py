"""Figures of ``interacting-modules``."""

import numpy as np

from foretrain.figures import finished
from foretrain.figures.style import PALETTE, panels, theory_line
from foretrain.quantities.cell import Cell
from foretrain.study import NotApplicable, drawn

from .claims import surplus

UNDONE = {"relu": lambda m: m, "identity": lambda m: m * (m + 1), "tanh": lambda m: 0}


def draw_surplus(grid):
    """By how much the coefficients of the parts add to more than that of the whole, by activation."""
    cell, words = grid.first(("part", "activation"))
    cell = Cell(cell.along("part", "activation"))
    figure, ax = panels(1, 1, height=4)
    for place, (activation, undone) in enumerate(UNDONE.items()):
        try:
            values = surplus(cell, activation).values
        except NotApplicable:
            continue
        ax.plot(np.full(values.size, place), values, "o", color=PALETTE["blue"], alpha=0.6)
        ax.plot(place + np.array([-0.3, 0.3]), [undone(cell.p.mediators)] * 2, **theory_line())
    ax.set(xticks=range(3), xlim=(-0.6, 2.6), ylabel="Effective parameters, parts less whole")
    ax.set_xticklabels(["relu", "linear", "tanh"])
    caption = (
        "Sampled effective parameters of M1 with its mediating variables held and of M2, less those of both together; dashed: "
        "the number of changes that M2 can undo." + words
    )
    return finished(figure, "Learning coefficients of constrained losses", caption)


FIGURES = {"surplus": drawn(draw_surplus, "learning_coefficient")}
