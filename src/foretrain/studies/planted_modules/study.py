"""Planted modules: do free directions of separate modules add, what does a mediating variable cost, and are modules found?"""

from dataclasses import dataclass

from foretrain.study import Sampling, argument_error, declare, default, parameter
from foretrain.training.modules import ACTIVATIONS

SOURCE = "Bushnaq et al. (2024), Using degeneracy in the loss landscape, section 5.2"
COST = "25 s"
REFERENCES = ("bushnaq2024degeneracy",)
SEEDS = 8
AXES = {"strength": (0.01, 0.0003, 0.003, 0.03, 0.1, 1.0), "mediators": (2, 1, 4)}
# Outputs of M1 and of M2, mediating variables, weights of M1 and of M2, weights between: what counts and what moves.
PARTS = {
    "first": (1, 0, 0, 1, 0, 1),
    "first, held": (1, 0, 1, 1, 0, 1),
    "second": (0, 1, 0, 0, 1, 1),
    "both": (1, 1, 0, 1, 1, 1),
    "second, apart": (0, 1, 0, 0, 1, 0),
    "both, apart": (1, 1, 0, 1, 1, 0),
}
COUNTS = "counts"  # in place of a part: nothing is sampled
_SAMPLED = {"part": tuple(PARTS), "activation": ACTIVATIONS, "strength": 1.0, "mediators": 2}
PRESETS = {
    "paper": {"seeds": 50},
    "interacting-modules": _SAMPLED,
    "paper-interacting-modules": {**_SAMPLED, "seeds": 30, "gradients": 4_000_000},
}
INPUTS, HIDDEN, OUTPUTS = 3, 5, 2  # of each module; both hidden layers are as wide
SAMPLED_WIDTH = 2  # of all layers of each module that is sampled
declare(
    apart_sum="Effective parameters of both modules, nothing between them.",
    apart_together="Of the network that they are, weights between them held.",
    constrained="Effective parameters of M1 that keep its mediators too.",
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
    constrained_rank="Rank of the Jacobian of all that counts by all weights that move.",
)


@dataclass(frozen=True)
class Parameters(Sampling):
    """Two modules 3-5-5-2, where sampled 2-2-2-2; M2's second hidden layer reads some of M1's first, each by one weight."""

    part: str = parameter(
        COUNTS,
        "counts alone; or the loss to sample: of M1, of M1 with its mediating variables held, of M2, of both; or of M2 and of "
        "both with nothing between",
        choices=(COUNTS, *PARTS),
    )
    mediators: int = parameter(
        2, "units of M1 that M2 reads", symbol="m", minimum=1, maximum=HIDDEN
    )
    strength: float = parameter(
        0.01, "weight by which M2 reads each", symbol="w", above=0, maximum=10
    )
    activation: str = parameter("relu", "activation of both hidden layers", choices=ACTIVATIONS)
    cutoff: float = parameter(1e-6, "cutoff of the loss", symbol="eps", above=0, maximum=0.1)
    examples: int = parameter(
        25,
        "examples of each module; modules are sought on all pairs of them",
        minimum=15,
        maximum=100,
    )
    gradients: int = default(1_000_000)


def check(p):
    if p.part != COUNTS and p.mediators > SAMPLED_WIDTH:
        rule = f"be at most {SAMPLED_WIDTH} where a part is sampled"
        raise argument_error("mediators", rule, f"is {p.mediators}", "Try --mediators 1 2.")


def variants(p):
    rectified = p.part == COUNTS and p.activation == "relu"
    others = {"linear": "identity", "tanh": "tanh"} if rectified else {}
    return {name: {"activation": activation, "seeds": 3} for name, activation in others.items()}
