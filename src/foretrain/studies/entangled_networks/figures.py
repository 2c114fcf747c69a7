"""Figures of ``entangled-networks``."""

from foretrain.figures import finished
from foretrain.figures.style import PALETTE, panels, seed_band, theory_line
from foretrain.quantities.cell import Cell
from foretrain.study import NotApplicable, drawn

from .claims import DERIVED, PAIRS, more, sampled


def draw_pairs(grid):
    part, words = grid.first(("network", "units"))
    cell = Cell(part.along("network", "units"))
    figure, ax = panels(1, 1, height=4.6)
    for pair, colour in zip(PAIRS, PALETTE.values(), strict=False):
        try:
            values = more(sampled(cell), pair).transpose("seed", "units")
        except NotApplicable:
            continue
        seed_band(ax, values.units, values, pair, color=colour, fraction=False)
        if pair in DERIVED:
            derived = more(cell.of("theory").learning_coefficient, pair)
            ax.plot(values.units, derived, **theory_line(colour))
    ax.plot([], [], **theory_line(label="derived"))
    ax.axhline(0, color="#c5c9cd", linewidth=1, zorder=0)
    ax.set(xticks=part.values("units"), xlabel="Neurons of a module", ylabel="Effective parameters")
    caption = "Effective parameters: above 0 the modular network has fewer; dashed: derived."
    title = "Networks of equal function, entangled less modular"
    return finished(figure, title, caption + words, columns=3)


FIGURES = {"entangled": drawn(draw_pairs)}
