"""What is claimed of modules: that their freedom adds, what an interaction costs, and that they can be found."""

from functools import partial

import numpy as np

from foretrain.quantities.measured import largest
from foretrain.study import sentence

from .sampled_claims import (  # noqa: F401
    as_derived,
    beyond_rank,
    cancelling,
    cancelling_rectified,
    modular_is_lower,
    modular_is_lower_corrected,
    one_function,
    planted,
    rotation,
    sampled_additive,
    sampled_constrained_sum,
    sampled_constrained_sum_corrected,
    sampled_linear_sum,
    sampled_one_each,
    sampled_smooth_sum,
    shared_once,
    trained_apart,
    trained_apart_corrected,
    within_as_across,
)
from .study import INPUTS, SOURCE

COUNT = "Both sides are whole numbers, ranks of matrices whose singular values leave a wide gap."
DRAWS = "Whole numbers; units that are on for all examples are linear and make it more in some draws, silent ones less."
PAGE = "docs/studies/modules.md"
FOUND = "Of two equal modules one node in twenty that goes astray takes the index to .8; drawn at random it is 0."
MOST = 0.01  # ten times eps^(1/2)


def volumes(cell):
    """Whether volumes are measured and modules sought."""
    return planted(cell) and cell.parameters.activation == "relu"


counted, rectified = partial(sentence, where=planted), partial(sentence, where=volumes)


def values(cell, *names, variant=""):
    data = cell.variants[variant] if variant else cell.simulation
    return [data[name].transpose("seed", ...).values for name in names]


@counted(
    "Effective parameters of modules that share nothing add, as their free directions do.",
    source=SOURCE + ".1",
    predicted=0,
    allowed=(0, 0),
    why=COUNT,
)
def additive(cell):
    together, parts = values(cell, "apart_together", "apart_sum")
    return largest(together - parts)


@counted(
    "Every mediating variable removes the same number of free directions of M1: of a rectified one, its scale.",
    source=SOURCE + ".3, before (34)",
    predicted=1,
    allowed=(0.5, 1.5),
    why=DRAWS,
)
def one_each(cell):
    constrained, free = values(cell, "constrained", "unconstrained")
    return (constrained - free) / cell.parameters.mediators


def excess(cell, variant=""):
    """Effective parameters of the constrained parts, less those of the network that they make up."""
    first, second, whole = values(cell, "constrained", "second", "together", variant=variant)
    return first + second - whole


@counted(
    "The effective parameters of modules that interact are those of M2 and of M1 with its mediating variables held.",
    source=SOURCE + ".2",
    predicted=0,
    allowed=(0, 0),
    why=COUNT,
)
def constrained_sum(cell):
    return excess(cell)


@counted(
    "Of rectified modules they are fewer by one for each mediating variable, whose scale M2 undoes.",
    source=PAGE,
    corrects="constrained-sum",
    predicted=lambda cell: cell.parameters.mediators,
    allowed=lambda cell: (cell.parameters.mediators - 0.5, cell.parameters.mediators + 0.5),
    why=DRAWS,
)
def constrained_sum_corrected(cell):
    return excess(cell)


@counted(
    "Of linear modules they are fewer by every affine change of the mediating variables, which M2 undoes: m (rank + 1).",
    source=PAGE,
    predicted=lambda cell: affine(cell),
    allowed=lambda cell: (affine(cell),) * 2,
    why=COUNT,
    of="linear",
)
def linear_sum(cell):
    return excess(cell, "linear")


def affine(cell):
    m = cell.parameters.mediators
    return m * (min(m, INPUTS) + 1)


@counted(
    "Of modules of tanh, which undo nothing, they are the sum.",
    source=PAGE,
    predicted=0,
    allowed=(0, 0),
    why=COUNT,
    of="tanh",
)
def smooth_sum(cell):
    return excess(cell, "tanh")


def between(cell):
    """Strengths at which a constraint is neither below the cutoff nor so strong that it holds all of the box."""
    eps = cell.parameters.cutoff
    return [3 * eps**0.5 < w < 0.5 for w in cell.values("strength")]


@rectified(
    "By the secant of volumes what a mediating variable costs grows by -2/ln eps with every e-fold of its strength.",
    source=SOURCE + ".3, (34)",
    predicted=1,
    allowed=(0.95, 1.05),
    why="The law is exact for a quadratic constraint; here a scale e^s bends it at the cutoff by some percent.",
    over="strength",
)
def secant_slope(cell):
    kept = np.array(between(cell))
    if kept.sum() < 3:
        return None
    x = np.log(np.array(cell.values("strength"))[kept])
    y = cell.simulation["secant_cost"].transpose("strength", "seed").values[kept]
    return np.polyfit(x, y, 1)[0] * np.log(cell.parameters.cutoff) / -2


def distance(cell, law):
    kept = np.array(between(cell))
    if not kept.any():
        return None
    names = "derivative_cost", law
    cost, said = (cell.simulation[n].transpose("strength", "seed").values[kept] for n in names)
    return (cost - said).mean(0)


@rectified(
    "In effective parameters, too, a mediating variable costs 1 - 2 ln w/ln eps.",
    source=SOURCE + ".3, (34) with (8) and (9)",
    predicted=0,
    allowed=(-0.1, 0.1),
    why="A tenth of a parameter, on the mean over strengths between eps^(1/2) and 1.",
    over="strength",
)
def logarithmic_count(cell):
    return distance(cell, "secant_law")


@rectified(
    "In effective parameters it costs one where w² > eps and nothing below: a step.",
    source=PAGE,
    corrects="logarithmic-count",
    predicted=0,
    allowed=(-0.1, 0.1),
    why="A tenth of a parameter, on the mean over the same strengths; the secant's law is off by half a one.",
    over="strength",
)
def logarithmic_count_corrected(cell):
    return distance(cell, "derivative_law")


@rectified(
    "Costs of two mediating variables add: by the secant, strengths add as logarithms.",
    source=SOURCE + ".3, (35)",
    predicted=0,
    allowed=(-0.1, 0.1),
    why="Both at once are held within an ellipse, not a box: ln(pi/4) of volume, .035 of a parameter at eps = 1e-6.",
)
def strengths_add(cell):
    pair, one, other = values(cell, "pair_cost", "secant_cost", "other_cost")
    return pair - one - other


@rectified(
    "The partition that cuts the least sum of ln(w/eps^(1/2)) is that into the planted modules.",
    source=SOURCE + ".3, end",
    predicted=1,
    allowed=(0.8, 1),
    why=FOUND,
)
def search(cell):
    return values(cell, "plain_agreement")[0]


@rectified(
    "With each module's cut over its volume the planted modules are found, joined by as many and as strong variables as here "
    "up to ten times eps^(1/2).",
    source=PAGE,
    corrects="search",
    predicted=1,
    allowed=(0.8, 1),
    why=FOUND,
    where=lambda cell: volumes(cell) and cell.parameters.strength <= MOST,
)
def search_corrected(cell):
    return values(cell, "search_agreement")[0]
