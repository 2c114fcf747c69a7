"""Figure of ``modules``."""

import numpy as np

from foretrain.figures import finished
from foretrain.figures.style import PALETTE, panels, seed_band, shades, theory_line


def draw(grid):
    """What a mediating variable costs against its strength, by secant and derivative, and how well modules are found."""
    figure, (left, right) = panels(1, 2, height=4.2)
    cells = list(grid.cells(keep=("strength",)))
    cell = cells[0].along("strength")
    order = np.argsort(cell.values("strength"))
    strengths = np.array(cell.values("strength"))[order]
    for name, law, words, colour in (
        ("secant_cost", "secant_law", "secant of volumes", PALETTE["blue"]),
        ("derivative_cost", "derivative_law", "derivative", PALETTE["vermillion"]),
    ):
        found = cell.simulation[name].isel(strength=order)
        seed_band(left, strengths, found.transpose("seed", "strength"), words, color=colour)
        said = cell.simulation[law].isel(strength=order).mean("seed")
        left.plot(strengths, said, **theory_line(colour, label="its formula"))
    left.set(xscale="log", xlabel="strength w", ylabel="parameters that it costs")
    left.set_title("A mediating variable", loc="left")
    for one, colour in zip(cells, shades(len(cells)), strict=True):
        along = one.along("strength")
        m = along.parameters.mediators
        found = along.simulation["search_agreement"].isel(strength=order)
        seed_band(right, strengths, found.transpose("seed", "strength"), f"m = {m}", color=colour)
    plain = cell.simulation["plain_agreement"].isel(strength=order).mean("seed")
    right.plot(
        strengths, plain, color="#9aa0a6", label=f"plain cut, m = {cell.parameters.mediators}"
    )
    right.axvline(cell.parameters.cutoff**0.5, color="#c5c9cd", linewidth=1)
    right.set(xscale="log", xlabel="strength w", ylabel="adjusted Rand index")
    right.set_title("Modules found", loc="left")
    caption = (
        f"Left: effective parameters that a constraint of strength w adds at the cutoff {cell.parameters.cutoff:g}, by both "
        "readings. Right: agreement of the modules found with those planted, by the normalised cut; the grey line is "
        "eps^(1/2)."
    )
    return {"modules": finished(figure, "Costs of interaction, and modules", caption, columns=3)}
