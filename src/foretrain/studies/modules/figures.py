"""Figures of ``modules``."""

import numpy as np

from foretrain.figures import finished
from foretrain.figures.style import PALETTE, panels, seed_band, shades, theory_line

from .sampled_claims import PAIRS, derived, more, planted, surplus
from .study import ACTIVATIONS, UNITS

EXCESS = {"relu": 2, "identity": 6, "tanh": 0}
SHOWS = {
    "modules": ("secant-slope", "logarithmic-count", "search"),
    "entangled": (
        *("modular-is-lower", "rotation", "cancelling", "cancelling-rectified", "shared-once"),
        *("trained-apart", "sampled-constrained-sum", "sampled-linear-sum", "sampled-smooth-sum"),
    ),
}


def draw(grid):
    """What a mediating variable costs, how well modules are found, and coefficients of networks of equal function."""
    if not planted(grid) or grid.parameters.activation != "relu":
        return {}
    found = {"modules": costs(grid)} if len(grid.values("strength")) > 1 else {}
    if {"entangled", "held"} <= set(grid.variants):
        found["entangled"] = coefficients(grid)
    return found


def costs(grid):
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
    left.set(xscale="log", xlabel="Strength w", ylabel="Effective parameters")
    left.set_title("Cost of a variable", loc="left")
    cells.sort(key=lambda one: one.parameters.mediators)
    for one, colour in zip(cells, shades(len(cells)), strict=True):
        along = one.along("strength")
        m = along.parameters.mediators
        found = along.simulation["search_agreement"].isel(strength=order)
        seed_band(right, strengths, found.transpose("seed", "strength"), f"m = {m}", color=colour)
    plain = cell.simulation["plain_agreement"].isel(strength=order).mean("seed")
    right.plot(
        strengths, plain, color="#9aa0a6", label=f"plain cut, m = {cell.parameters.mediators}"
    )
    line = {"color": "#9aa0a6", "linewidth": 1, "linestyle": ":", "label": r"$\epsilon^{1/2}$"}
    right.axvline(cell.parameters.cutoff**0.5, **line)
    right.set(xscale="log", xlabel="Strength w", ylabel="Adjusted Rand index")
    right.set_title("Modules found", loc="left")
    caption = (
        f"Left: effective parameters that a constraint of strength w adds at the cutoff {cell.parameters.cutoff:g}, by both "
        "readings. Right: agreement of the modules found with those planted, by the normalised cut; dotted, the root of "
        "the cutoff."
    )
    return finished(figure, "Costs of interaction, and modules", caption, columns=3)


def coefficients(grid):
    """Entangled less modular networks by size, and by how much constrained losses add to too much."""
    figure, (left, right) = panels(1, 2, height=5, width_ratios=(3, 2))
    units = np.array(UNITS)
    colours = ("blue", "vermillion", "orange", "green", "purple")
    for (pair, (entangled, modular)), name in zip(PAIRS.items(), colours, strict=True):
        colour = PALETTE[name]
        seed_band(left, units, more(grid, pair), pair, color=colour, fraction=False)
        if pair != "trained":
            said = derived(entangled) - derived(modular)
            left.plot(units, said, **theory_line(colour, label="derived"))
    left.axhline(0, color="#c5c9cd", linewidth=1, zorder=0)
    left.set(xticks=units, xlabel="Neurons of a module", ylabel="Effective parameters")
    left.set_title("Entangled less modular", loc="left")
    for place, activation in enumerate(ACTIVATIONS):
        values = surplus(grid, activation)
        right.plot(np.full(values.size, place), values, "o", color=PALETTE["blue"], alpha=0.6)
        right.plot(place + np.array([-0.3, 0.3]), [EXCESS[activation]] * 2, **theory_line())
    words = {"relu": "relu", "identity": "linear", "tanh": "tanh"}
    right.set(xticks=range(len(ACTIVATIONS)), xlim=(-0.6, 2.6), ylim=(-1, 7))
    right.set_xticklabels([words[name] for name in ACTIVATIONS])
    right.set_title("Parts less whole", loc="left")
    caption = (
        "Left: above 0 the modular network has fewer; dashed: derived. Right: sampled effective parameters of M1 "
        "with two mediating variables held and of M2, less those of both together; dashed: what M2 can undo."
    )
    title = "Learning coefficients of networks of equal function, and of constrained losses"
    return finished(figure, title, caption, columns=3)
