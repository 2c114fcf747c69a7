"""Claims about planted modules: their counts, costs and search, and sampled coefficients of modules that interact."""

import numpy as np

from foretrain.quantities.allowed import around
from foretrain.study import claim, skip_if

from .study import COUNTS, INPUTS, SOURCE

COUNT = "Both sides are whole numbers, ranks of matrices whose singular values leave a wide gap."
PAGE = "docs/studies/planted-modules.md"
MOST = 0.01  # ten times eps^(1/2)


def rectified(c):
    return c.p.part == COUNTS and c.p.activation == "relu"


def excess(c):
    """Return the effective parameters of M2 and of M1 with its mediators held, less those of the network that they make up."""
    return c.constrained + c.second - c.together


def not_undone(c):
    """Return the largest deviation of linear modules and of modules of tanh from the changes that M2 undoes."""
    m = c.p.mediators
    affine = m * (min(m, INPUTS) + 1)
    return np.maximum(abs(excess(c.of("linear")) - affine), abs(excess(c.of("tanh"))))


def between(c, quantity):
    """Return the mean over strengths neither below the cutoff nor so strong that the constraint holds all of the box."""
    strength = c.axis("strength")
    kept = (strength > 3 * c.p.cutoff**0.5) & (strength < 0.5)
    skip_if(not kept.any(), "no strength lies between the cutoff and the box")
    return quantity.isel(strength=np.flatnonzero(kept)).mean("strength", skipna=False)


def off_secant(c):
    """Return the larger deviation from the secant's law: of the cost of one variable above the cutoff, of the sum of two."""
    secant = c.secant_cost - c.secant_law if 3 * c.p.cutoff**0.5 < c.p.strength < 0.5 else 0.0
    return np.maximum(abs(secant), abs(c.pair_cost - c.secant_cost - c.other_cost))


def twice(c, part, activation):
    """Return twice the learning coefficient of a part of the loss, per seed."""
    values = c.learning_coefficient
    there = part in values["part"] and activation in values["activation"]
    skip_if(not there, f"the loss of `{part}` was not sampled with {activation}")
    return 2 * values.sel(part=part, activation=activation, drop=True)


def surplus(c, activation):
    """Return the effective parameters of M1 with its mediators held and of M2, less those of both."""
    first, second = (twice(c, part, activation) for part in ("first, held", "second"))
    return first + second - twice(c, "both", activation)


def undone(activation, m):
    """Return the number of changes of m mediating variables that M2 can undo."""
    return {"relu": m, "identity": m * (m + 1), "tanh": 0}[activation]


def additive(c):
    """Return the effective parameters of both modules, nothing between, less those of each, the mean over activations."""
    names, activations = ("both, apart", "first", "second, apart"), c.values("activation")
    whole, first, second = (sum(twice(c, part, kind) for kind in activations) for part in names)
    return (whole - first - second) / len(activations)


def others(c):
    """Return the larger deviation of linear modules and of modules of tanh, over 1 and a quarter of a parameter."""
    linear = surplus(c, "identity") - undone("identity", c.p.mediators)
    return np.maximum(abs(linear), abs(surplus(c, "tanh")) / 0.25)


NONE = {"near": 0, "inside": (0, 0), "why": COUNT, "where": lambda c: c.p.part == COUNTS}
ALL = {"along": ("part", "activation")}
TENTH = {"near": 0, "inside": (-0.1, 0.1), "where": rectified}
CLAIMS = [
    claim(
        "additive",
        "Effective parameters of modules that share nothing add, as their free directions do.",
        lambda c: c.apart_together - c.apart_sum,
        exact=True,
        rank="control",
        source=SOURCE + ".1",
        **NONE,
    ),
    *claim(
        "constrained-sum",
        "The effective parameters of modules that interact are those of M2 and of M1 with its mediating variables held.",
        excess,
        rank="headline",
        source=SOURCE + ".2",
        **NONE,
    ).and_corrected(
        "Interacting rectified modules have one effective parameter less than the sum for each mediating variable, whose "
        "scale M2 undoes.",
        near=lambda c: c.p.mediators,
        inside=lambda c: around(c.p.mediators, 0.5),
        source=PAGE,
        why="Whole numbers; units that are on for all examples are linear and make it more in some draws, silent ones less.",
    ),
    claim(
        "linear-sum",
        "Interacting linear modules have fewer than the sum by every affine change of the m mediating variables, which M2 "
        "undoes, m (rank + 1), and modules of tanh, of which M2 undoes nothing, have as many.",
        not_undone,
        source=PAGE,
        **NONE,
    ),
    *claim(
        "logarithmic-count",
        "In effective parameters, too, a mediating variable costs 1 - 2 ln w/ln eps.",
        lambda c: between(c, c.derivative_cost - c.secant_law),
        source=SOURCE + ".3, (34) with (8) and (9)",
        why="A tenth of a parameter, on the mean over strengths between eps^(1/2) and 1.",
        along="strength",
        **TENTH,
    ).and_corrected(
        "In effective parameters a mediating variable costs one where w² > eps and nothing below: a step.",
        quantity=lambda c: between(c, c.derivative_cost - c.derivative_law),
        near=0,
        source=PAGE,
        why="A tenth of a parameter, on the mean over the same strengths; the secant's law is off by half a one.",
    ),
    claim(
        "strengths-add",
        "By the secant of volumes a mediating variable costs 1 - 2 ln w/ln eps, and costs of two add: strengths add as "
        "logarithms.",
        off_secant,
        source=SOURCE + ".3, (34) and (35)",
        why="Both at once are held within an ellipse, not a box: ln(pi/4) of volume, .035 of a parameter at eps = 1e-6.",
        **TENTH,
    ),
    *claim(
        "search",
        "The partition that cuts the least sum of ln(w/eps^(1/2)) is that into the planted modules.",
        lambda c: c.plain_agreement,
        near=1,
        inside=(0.8, 1),
        rank="headline",
        source=SOURCE + ".3, end",
        why="Of two equal modules one node in twenty that goes astray takes the index to .8; drawn at random it is 0.",
        where=rectified,
    ).and_corrected(
        "With each module's cut over its volume the search finds the planted modules at strengths up to ten times eps^(1/2).",
        quantity=lambda c: c.search_agreement,
        near=1,
        source=PAGE,
        where=lambda c: rectified(c) and c.p.strength <= MOST,
    ),
    claim(
        "sampled-additive",
        "Sampled learning coefficients of modules that share nothing add.",
        additive,
        near=0,
        inside=around(0, 0.75),
        rank="control",
        source=SOURCE + ".1",
        why="Exact at every temperature, as the loss is a sum; mean over activations, of which only rectified ones scatter.",
        **ALL,
    ),
    claim(
        "one-each",
        "Holding a rectified mediating variable adds one to the effective parameters of M1.",
        lambda c: (twice(c, "first, held", "relu") - twice(c, "first", "relu")) / c.p.mediators,
        near=1,
        inside=(0.5, 1.5),
        source=SOURCE + ".3, before (34)",
        why="Half a parameter; chains scatter by one, half of it for each of two variables.",
        **ALL,
    ),
    *claim(
        "sampled-sum",
        "Sampled coefficients of rectified modules add: M1 with its mediating variables held and M2 have that of both "
        "together.",
        lambda c: surplus(c, "relu"),
        near=0,
        inside=(-0.5, 0.5),
        rank="headline",
        source=SOURCE + ".2",
        why="Half a parameter, where by symmetries of rectifiers it would be two.",
        **ALL,
    ).and_corrected(
        "The sum over rectified modules is too large by one for each mediating variable, whose scale M2 undoes.",
        near=lambda c: c.p.mediators,
        inside=lambda c: around(c.p.mediators, 1),
        source=PAGE,
        why="Chains of the network scatter by one.",
    ),
    claim(
        "sampled-linear-sum",
        "The sum over linear modules is too large by every affine change of the m mediating variables, m (m + 1), and that "
        "over modules of tanh, which undo nothing, is right.",
        others,
        near=0,
        inside=(0, 1),
        source=PAGE,
        why="In units of what chains scatter at most: one parameter of linear networks, a quarter of those of tanh.",
        **ALL,
    ),
]
