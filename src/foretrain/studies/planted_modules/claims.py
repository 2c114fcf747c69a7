"""Claims about planted modules: their freedom adds, an interaction costs freedom, and a search finds them."""

import numpy as np

from foretrain.study import NotApplicable, claim

from .study import INPUTS, SOURCE

COUNT = "Both sides are whole numbers, ranks of matrices whose singular values leave a wide gap."
DRAWS = "Whole numbers; units that are on for all examples are linear and make it more in some draws, silent ones less."
PAGE = "docs/studies/planted-modules.md"
AGREEMENT = "Of two equal modules one node in twenty that goes astray takes the index to .8; drawn at random it is 0."
MOST = 0.01  # ten times eps^(1/2)


def rectified(c):
    """Condition that volumes are measured and modules sought."""
    return c.p.activation == "relu"


def excess(c):
    """Effective parameters of M2 and of M1 with its mediators held, less those of the network that they make up."""
    return c.constrained + c.second - c.together


def affine(c):
    """Number of affine changes of the mediating variables of linear modules."""
    m = c.p.mediators
    return m * (min(m, INPUTS) + 1)


def between(c, quantity):
    """The quantity at strengths neither below the cutoff nor so strong that the constraint holds all of the box."""
    strength = c.axis("strength")
    kept = (strength > 3 * c.p.cutoff**0.5) & (strength < 0.5)
    if not kept.any():
        raise NotApplicable("no strength lies between the cutoff and the box")
    return quantity.isel(strength=np.flatnonzero(kept))


def secant_slope(c):
    """Slope of the secant cost along ln w, over that of the law, per seed."""
    cost = between(c, c.secant_cost)
    if cost.sizes["strength"] < 3:
        raise NotApplicable("`strength` has fewer than 3 values between the cutoff and the box")
    x, y = np.log(cost["strength"].values), cost.transpose("strength", "seed").values
    return np.polyfit(x, y, 1)[0] * np.log(c.p.cutoff) / -2


_sum = claim(
    "constrained-sum",
    "The effective parameters of modules that interact are those of M2 and of M1 with its mediating variables held.",
    excess,
    near=0,
    inside=(0, 0),
    rank="headline",
    source=SOURCE + ".2",
    why=COUNT,
)
_search = claim(
    "search",
    "The partition that cuts the least sum of ln(w/eps^(1/2)) is that into the planted modules.",
    lambda c: c.plain_agreement,
    near=1,
    inside=(0.8, 1),
    rank="headline",
    source=SOURCE + ".3, end",
    why=AGREEMENT,
    where=rectified,
)
CLAIMS = [
    claim(
        "additive",
        "Effective parameters of modules that share nothing add, as their free directions do.",
        lambda c: c.apart_together - c.apart_sum,
        exact=True,
        near=0,
        inside=(0, 0),
        rank="control",
        source=SOURCE + ".1",
        why=COUNT,
    ),
    claim(
        "one-each",
        "Every mediating variable removes the same number of free directions of M1: of a rectified one, its scale.",
        lambda c: (c.constrained - c.unconstrained) / c.p.mediators,
        near=1,
        inside=(0.5, 1.5),
        source=SOURCE + ".3, before (34)",
        why=DRAWS,
    ),
    _sum,
    _sum.corrected(
        "Interacting rectified modules have one effective parameter less than the sum for each mediating variable, whose "
        "scale M2 undoes.",
        near=lambda c: c.p.mediators,
        inside=lambda c: (c.p.mediators - 0.5, c.p.mediators + 0.5),
        source=PAGE,
        why=DRAWS,
    ),
    claim(
        "linear-sum",
        "Interacting linear modules have fewer than the sum by every affine change of the m mediating variables, which M2 "
        "undoes: m (rank + 1).",
        lambda c: excess(c.of("linear")),
        near=affine,
        inside=lambda c: (affine(c),) * 2,
        source=PAGE,
        why=COUNT,
    ),
    claim(
        "smooth-sum",
        "Interacting modules of tanh, which undo nothing, have as many effective parameters as the sum.",
        lambda c: excess(c.of("tanh")),
        near=0,
        inside=(0, 0),
        source=PAGE,
        why=COUNT,
    ),
    claim(
        "secant-slope",
        "By the secant of volumes the cost of a mediating variable grows by -2/ln eps with every e-fold of its strength.",
        secant_slope,
        near=1,
        inside=(0.95, 1.05),
        source=SOURCE + ".3, (34)",
        why="The law is exact for a quadratic constraint; here a scale e^s bends it at the cutoff by some percent.",
        where=rectified,
        along="strength",
    ),
    claim(
        "logarithmic-count",
        "In effective parameters, too, a mediating variable costs 1 - 2 ln w/ln eps.",
        lambda c: between(c, c.derivative_cost - c.secant_law).mean("strength", skipna=False),
        near=0,
        inside=(-0.1, 0.1),
        rank="headline",
        source=SOURCE + ".3, (34) with (8) and (9)",
        why="A tenth of a parameter, on the mean over strengths between eps^(1/2) and 1.",
        where=rectified,
        along="strength",
    ),
    claim(
        "logarithmic-count.corrected",
        "In effective parameters a mediating variable costs one where w² > eps and nothing below: a step.",
        lambda c: between(c, c.derivative_cost - c.derivative_law).mean("strength", skipna=False),
        corrects="logarithmic-count",
        near=0,
        inside=(-0.1, 0.1),
        rank="headline",
        source=PAGE,
        why="A tenth of a parameter, on the mean over the same strengths; the secant's law is off by half a one.",
        where=rectified,
        along="strength",
    ),
    claim(
        "strengths-add",
        "Costs of two mediating variables add: by the secant, strengths add as logarithms.",
        lambda c: c.pair_cost - c.secant_cost - c.other_cost,
        near=0,
        inside=(-0.1, 0.1),
        source=SOURCE + ".3, (35)",
        why="Both at once are held within an ellipse, not a box: ln(pi/4) of volume, .035 of a parameter at eps = 1e-6.",
        where=rectified,
    ),
    _search,
    claim(
        "search.corrected",
        "With each module's cut over its volume the search finds the planted modules at strengths up to ten times eps^(1/2).",
        lambda c: c.search_agreement,
        corrects="search",
        near=1,
        inside=(0.8, 1),
        rank="headline",
        source=PAGE,
        why=AGREEMENT,
        where=lambda c: rectified(c) and c.p.strength <= MOST,
    ),
]
