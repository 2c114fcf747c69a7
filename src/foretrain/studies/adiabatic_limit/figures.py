"""Figures of ``adiabatic-limit``."""

import numpy as np

from foretrain.figures import finished
from foretrain.figures.style import (
    panels,
    seed_band,
    shades,
    simulation_line,
    theory_line,
)

from .claims import deviation_error

SHOWS = {
    "ratio": ("frozen", "isotropic"),
}


def draw(grid):
    """Energy of pairs over time, beside that of the effective loss; the frozen map's error against the ratio."""
    kept = ("rate_ratio",)
    cell, words = grid.first(kept)
    cell = cell.along(*kept)
    ratios = np.array(cell.values("rate_ratio"))
    both = len(ratios) > 1 and bool(ratios[0] > 0)
    figure, axes = panels(1, 1 + both, height=4.6, squeeze=False)
    left, right = axes[0, 0], axes[0, -1]
    for number, colour in enumerate(shades(len(ratios))):
        energy = cell.simulation["pair_energy"].isel(rate_ratio=number, seed=0)
        words_of = rf"$\eta_A/\eta_x$ = {ratios[number]:g}"
        left.semilogy(energy["time"], energy / energy[0], **simulation_line(colour, label=words_of))
    effective = cell.theory["pair_energy"].isel(rate_ratio=0, seed=0)
    left.semilogy(
        effective["time"], effective / effective[0], **theory_line(label="effective loss")
    )
    left.set(xlabel=r"Time ($1/\eta_x$)", ylabel="Energy of pairs / first")
    if both:
        parts = list(grid.cells(keep=kept))
        parts.sort(key=lambda part: part.parameters.output_dim)
        for part, colour in zip(parts, shades(len(parts)), strict=True):
            error = deviation_error(part.along(*kept))
            name = ", ".join(f"{axis} {value}" for axis, value in part.cell.items())
            seed_band(right, ratios, error.T, name.replace("output_dim", "k ="), color=colour)
        right.set(
            xlabel=r"$\eta_A/\eta_x$",
            ylabel="Error with the map frozen",
            xscale="log",
            yscale="log",
        )
    caption = (
        "Left: one seed, and exp(-2 t), what the effective loss of pairs says. Right: largest distance over time between "
        "deviations and those under the map of the start, relative to the start." + words
    )
    return {"ratio": finished(figure, "Effective and real", caption)}
