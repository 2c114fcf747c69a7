"""Figures of ``entangled-networks``."""

import numpy as np

from foretrain.figures import finished
from foretrain.figures.style import PALETTE, panels, seed_band, theory_line
from foretrain.quantities.cell import Cell
from foretrain.study import NotApplicable, drawn

from .claims import DERIVED, PAIRS, more

COLOURS = ("blue", "vermillion", "orange", "green", "purple")


def draw_pairs(grid):
    """Effective parameters of the entangled network of each pair less those of the modular one, by size."""
    cell, words = grid.first(("network", "units"))
    cell = Cell(cell.along("network", "units"))
    units = np.array(cell.values("units"))
    figure, ax = panels(1, 1, height=4.6)
    for pair, name in zip(PAIRS, COLOURS, strict=True):
        try:
            values = more(cell, pair).transpose("seed", "units").values
        except NotApplicable:
            continue
        seed_band(ax, units, values, pair, color=PALETTE[name], fraction=False)
        if pair in DERIVED:
            theory = more(cell.of("theory"), pair).values
            ax.plot(units, theory, **theory_line(PALETTE[name], label="derived"))
    ax.axhline(0, color="#c5c9cd", linewidth=1, zorder=0)
    ax.set(xticks=units, xlabel="Neurons of a module", ylabel="Effective parameters")
    caption = (
        "Effective parameters of the entangled network less those of the modular one of each pair. Above 0 the modular "
        "network has fewer; dashed: derived." + words
    )
    return finished(
        figure, "Networks of equal function, entangled less modular", caption, columns=3
    )


FIGURES = {"entangled": drawn(draw_pairs, "learning_coefficient")}
