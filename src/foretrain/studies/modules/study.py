"""Planted modules: do free directions of separate modules add, what does a mediating variable cost, and are modules found?"""

from dataclasses import dataclass

import numpy as np

from foretrain.study import Run, declare, default, parameter

SOURCE = "Bushnaq et al. (2024), Using degeneracy in the loss landscape, section 5.2"
COST = "2 min"
REFERENCES = ("bushnaq2024degeneracy",)
SEEDS = 8
AXES = {"strength": (0.01, 0.0003, 0.003, 0.03, 0.1, 1.0), "mediators": (2, 1, 4)}
PRESETS = {"paper": {"seeds": 50}}
INPUTS, HIDDEN, OUTPUTS = 3, 5, 2  # of each module; both hidden layers are as wide
ACTIVATIONS = ("relu", "identity", "tanh")
ENTANGLED = (
    "blocks", "rotated", "idle", "within", "across", "idle rectified", "across rectified", "twice", "once", "apart", "whole",
)  # fmt: skip
UNITS = (1, 2, 3)  # neurons of each module of those
SAMPLED = {"strength": 1.0, "mediators": 2}
PATHS = {"entangled": 1500, "held": 2500}  # of chains; one is a step
PARTS = ("first", "first, held", "second", "both", "second, apart", "both, apart")
declare(
    apart_sum="Effective parameters of both modules, nothing between them.",
    apart_together="Of the network that they are, weights between them held.",
    constrained="Effective parameters of M1 that keep its mediators too.",
    unconstrained="Effective parameters of M1 for its own outputs alone.",
    second="Effective parameters of M2.",
    together="Of the whole network, weights between the modules held.",
    secant_cost="Secant of volumes of a constraint: 2 ln(V/V0)/ln eps.",
    derivative_cost="Its derivative: 2 d ln V/d ln eps.",
    pair_cost="Secant of volumes of two constraints at once.",
    other_cost="Secant of volumes of the second of them alone.",
    secant_law="1 - 2 ln w/ln eps of the constraint, from 0 to 1.",
    derivative_law="1 where w² > eps, else 0.",
    search_agreement="Adjusted Rand index of modules by the normalised cut.",
    plain_agreement="Adjusted Rand index of modules by the plain cut.",
)
declare(
    "realisation module_units",
    sampled_parameters="Twice the sampled learning coefficient of networks of equal function, by kind and size.",
    derived_parameters="What it tends to, where that is known.",
    exact_rank="Rank of their Jacobians.",
    function_gap="Root mean square distance from the function of the modular one.",
)
declare(
    "nonlinearity loss_part",
    constrained_parameters="Twice the sampled learning coefficient of a loss of interacting modules.",
    constrained_rank="Rank of its Jacobian.",
)


@dataclass(frozen=True)
class Parameters(Run):
    """Two modules 3-5-5-2; M2's second hidden layer reads some of M1's first, each by one weight."""

    kind: str = parameter(
        "planted",
        "planted modules, of which freedom is counted and which are sought; networks of equal function; or losses of "
        "modules that interact, sampled",
        choices=("planted", "entangled", "held"),
        static=True,
        sweepable=False,
    )
    mediators: int = parameter(2, "m, units of M1 that M2 reads", minimum=1, maximum=HIDDEN)
    strength: float = parameter(0.01, "w, weight by which it reads each", above=0, maximum=10)
    activation: str = parameter(
        "relu",
        "of both hidden layers",
        choices=ACTIVATIONS,
        static=True,
        sweepable=False,
    )
    cutoff: float = parameter(1e-6, "eps, of the loss", above=0, maximum=0.1)
    examples: int = parameter(
        25, "of each module; modules are sought on all pairs of them", minimum=15, maximum=100
    )
    steps: int = default(1)
    observe_every: int = default(1)
    precision: str = default("float64")


def variants(p):
    """Beside rectified modules linear ones and ones of tanh; networks of equal function, and losses, that are sampled."""
    if p.kind != "planted":
        return {}
    return {
        "linear": {"activation": "identity", "seeds": 3},
        "tanh": {"activation": "tanh", "seeds": 3},
        **{
            kind: {"kind": kind, "steps": paths, "observe_every": paths, **SAMPLED}
            for kind, paths in PATHS.items()
        },
    }


def labels(p):
    """Kinds of networks, and parts of losses."""
    return {
        "realisation": np.array(ENTANGLED),
        "module_units": np.array(UNITS),
        "nonlinearity": np.array(ACTIVATIONS),
        "loss_part": np.array(PARTS),
    }
