"""Figures of ``deep-linear-coefficients``."""

import numpy as np

from foretrain.figures import finished
from foretrain.figures.style import INK, PALETTE, panels
from foretrain.study import drawn


def draw_coefficients(grid):
    figure, (left, right) = panels(1, 2, height=4.4)
    colours, line = list(PALETTE.values()), {"color": "#c5c9cd", "linewidth": 1, "zorder": 0}
    cells = [cell.along("network") for cell in grid.cells(keep=("network",))]
    for number, cell in enumerate(sorted(cells, key=lambda cell: cell.parameters.beta)):
        limit, m = cell.theory["limit"].values, cell.theory["multiplicity"].values
        values = cell.simulation["learning_coefficient"].transpose("network", "seed").values
        colour, beta = colours[number % len(colours)], cell.parameters.beta
        look = {"fmt": "o", "ms": 4, "color": colour, "alpha": 0.8, "label": rf"$\beta$ = {beta:g}"}
        left.errorbar(limit, values.mean(1), values.std(1), **look)
        shift = 0.12 * (number - (len(cells) - 1) / 2)
        right.plot(m + shift, limit - values.mean(1), "o", color=colour, markersize=4, alpha=0.6)
        steps = np.unique(m)
        look = {"color": colour, "markersize": 14, "markeredgewidth": 2}
        right.plot(steps + shift, (steps - 1) / np.log(beta), "_", **look)
    right.plot([], [], "_", color=INK, markersize=14, label=r"$(m - 1)/\ln\beta$")
    left.axline((0, 0), slope=1, label="equal", **line)
    left.set(xlabel=r"Coefficient $\lambda$, closed form", ylabel=r"Coefficient $\lambda$, sampled")
    right.axhline(0, **line)
    right.set(xlabel="Multiplicity m", ylabel="Closed form − sampled")
    right.xaxis.get_major_locator().set_params(integer=True)
    words = "Left: every network, mean and deviation of its chains. Right: what is missing at finite beta, dashes by m alone."
    return finished(figure, "Learning coefficients of deep linear networks", words)


FIGURES = {"coefficients": drawn(draw_coefficients)}
