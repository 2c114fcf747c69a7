"""Figures of ``deep-linear-coefficients``."""

import numpy as np

from foretrain.figures import finished
from foretrain.figures.style import INK, PALETTE, panels

from .claims import exact, sampled

SHOWS = {
    "coefficients": ("closed-form", "from-below", "multiplicity", "at-larger-beta"),
}


def draw(grid):
    """Sampled against exact coefficients, and what is missing by multiplicity."""
    figure, (left, right) = panels(1, 2, height=4.4)
    colours, seen = list(PALETTE.values()), set()
    cells = [cell.along("network") for cell in grid.cells(keep=("network",))]
    for number, cell in enumerate(sorted(cells, key=lambda one: one.parameters.beta)):
        (limit, m), found = exact(cell), sampled(cell)
        colour, beta = colours[number % len(colours)], cell.parameters.beta
        left.errorbar(
            limit[:, 0], found.mean(1), found.std(1), fmt="o", markersize=4, color=colour,
            label=f"$\\beta$ = {beta:g}", alpha=0.8,
        )  # fmt: skip
        missing = (limit - found.mean(1, keepdims=True))[:, 0]
        shift = 0.12 * (number - (len(cells) - 1) / 2)
        right.plot(m[:, 0] + shift, missing, "o", color=colour, markersize=4, alpha=0.6)
        steps = np.unique(m)
        seen |= {int(step) for step in steps}
        look = {"color": colour, "markersize": 14, "markeredgewidth": 2}
        right.plot(steps + shift, (steps - 1) / np.log(beta), "_", **look)
    right.plot([], [], "_", color=INK, markersize=14, label=r"$(m - 1)/\ln\beta$")
    top = left.get_xlim()[1]
    left.plot([0, top], [0, top], color="#c5c9cd", linewidth=1, zorder=0, label="equal")
    left.set(xlabel=r"Coefficient $\lambda$, closed form", ylabel=r"Coefficient $\lambda$, sampled")
    right.axhline(0, color="#c5c9cd", linewidth=1, zorder=0)
    right.set(xlabel="Multiplicity m", ylabel="Closed form − sampled", xticks=sorted(seen))
    caption = (
        "Left: every network, mean and deviation of its chains. Right: what is missing at finite beta; dashes are "
        "(m - 1)/ln(beta), which leaves out terms that are constant in the logarithm."
    )
    return {
        "coefficients": finished(figure, "Learning coefficients of deep linear networks", caption)
    }
