"""Figures of ``planted-modules``."""

import numpy as np

from foretrain.figures import finished
from foretrain.figures.style import PALETTE, panels
from foretrain.quantities.cell import Cell
from foretrain.study import NotApplicable, drawn, figure, panel
from foretrain.training.modules import ACTIVATIONS

from .claims import rectified, surplus, undone
from .study import COUNTS


def draw_surplus(grid):
    part, words = grid.first(("part", "activation"))
    cell = Cell(part.along("part", "activation"))
    figure, ax = panels(1, 1, height=4)
    for place, activation in enumerate(ACTIVATIONS):
        try:
            values = surplus(cell, activation)
        except NotApplicable:
            continue
        ax.plot(np.full(values.size, place), values, "o", color=PALETTE["blue"], alpha=0.6)
        ax.hlines(undone(activation, cell.p.mediators), place - 0.3, place + 0.3, "black", "--")
    ax.set(xlim=(-0.6, 2.6), ylabel="Effective parameters, parts less whole")
    ax.set_xticks(range(3), ["relu", "linear", "tanh"])
    caption = "M1 with its mediating variables held and M2, less both together; dashed: changes that M2 can undo."
    return finished(figure, "Learning coefficients of constrained losses", caption + words)


_COST = {"x": "strength", "scale": "semilogx", "label": "Effective parameters"}
_COST["theory_label"] = "its formula"
_FOUND = {"x": "strength", "by": "mediators", "scale": "semilogx", "theory": False}
_FOUND |= {"label": "Adjusted Rand index", "ylim": (-0.1, 1.05)}
FIGURES = {
    "surplus": drawn(draw_surplus, where=lambda c: c.p.part != COUNTS),
    "modules": figure(
        "Costs of interaction, and modules",
        "Above: effective parameters that a constraint of strength w adds, by the secant of volumes and by their derivative. "
        "Below: agreement of the modules found with those planted, by the normalised cut and by the plain cut.",
        panel(lambda c: c.secant_cost, theory=lambda c: c.secant_law, title="Secant", **_COST),
        panel(
            lambda c: c.derivative_cost,
            theory=lambda c: c.derivative_law,
            title="Derivative",
            **_COST,
        ),
        panel(lambda c: c.search_agreement, title="Modules found", **_FOUND),
        panel(lambda c: c.plain_agreement, title="Modules by the plain cut", **_FOUND),
        where=rectified,
        columns=2,
        sharey="row",
    ),
}
