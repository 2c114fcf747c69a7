"""Claims about sampled learning coefficients of modules that interact, the constrained loss among them."""

import numpy as np

from foretrain.quantities.allowed import around
from foretrain.study import claim, skip_if

from .study import SOURCE

PAGE = "docs/studies/planted-modules.md"
ALL = {"along": ("part", "activation")}


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


CLAIMS = [
    claim(
        "additive",
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
        rank="headline",
        source=SOURCE + ".3, before (34)",
        why="Half a parameter; chains scatter by one, half of it for each of two variables.",
        **ALL,
    ),
    *claim(
        "constrained-sum",
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
        "linear-sum",
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
