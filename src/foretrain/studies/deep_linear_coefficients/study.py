"""Deep linear networks: sampled learning coefficients against their closed form, and where sampling falls short."""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from foretrain import study
from foretrain.study import Sampling, argument_error, declare, default, parameter
from foretrain.theory.aoyagi import deep_linear

SOURCE = "Aoyagi (2024), Theorem 1"
COST = "8 min"
REFERENCES = ("aoyagi2024", "lau2023", "bushnaq2024degeneracy")
SEEDS = 5
# Widths from inputs to outputs, and the rank of what is realised.
NETWORKS = (
    "5-3-5 r0", "5-4-5 r0", "4-3-8 r0", "3-8-4 r0", "2-2-2 r0", "3-3-3 r0", "4-4-4 r0", "5-5-5 r0", "6-2-6 r0", "8-3-4 r0",
    "4-1-3 r0", "6-1-6 r0", "2-1-2 r0", "7-5-6 r0", "2-2-2 r1", "3-3-3 r1", "4-4-4 r1", "4-4-4 r2", "5-3-5 r1", "5-3-5 r2",
    "6-4-5 r2", "8-6-4 r3", "3-8-3 r1", "3-3-3-3 r0", "4-4-4-4 r0", "5-3-4-5 r0", "2-3-4-5 r0", "3-3-3-3 r1",
    "4-4-4-4 r1", "4-4-4-4 r2", "6-3-3-6 r1", "8-4-4-8 r2", "5-2-6-4 r1", "4-2-2-4 r2",
)  # fmt: skip
AXES = {"network": NETWORKS, "beta": (1000.0, 100.0)}
REVISION = 2
PRESETS = {
    "paper": {
        "seeds": 20,
        "gradients": 5_000_000,
        "langevin_steps": 20_000,
        "beta": (1e3, 100.0, 1e4, 1e5),
    }
}
WIDEST, DEPTH = 8, 3
declare(
    limit="Learning coefficient, by the closed form.",
    langevin_coefficient="Learning coefficient by Langevin steps that nothing takes or refuses; nan where they diverge.",
)
declare(kind="int", multiplicity="Multiplicity of it, by the closed form.")


@dataclass(frozen=True)
class Parameters(Sampling):
    """The loss |W_L ... W_1 - its value at a map of that rank|^2 under a Gaussian prior around balanced weights."""

    network: str = parameter("5-3-5 r0", "widths, inputs first, and rank of the map, as 5-3-5 r0")
    beta: float = parameter(1000.0, "inverse temperature of the loss", above=0)
    gradients: int = default(1_000_000)
    langevin_steps: int = parameter(
        4000, "Langevin steps without correction, of each of eight chains", minimum=4, maximum=10**7
    )


def parsed(network: str) -> tuple[list[int], int]:
    """Widths and rank."""
    try:
        text, rank = network.split(" r")
        widths = [int(width) for width in text.split("-")]
        sizes = widths, int(rank)
    except ValueError:
        raise argument_error("network", "be like 5-3-5 r0", f"is {network!r}") from None
    if not 3 <= len(widths) <= DEPTH + 1 or max(widths) > WIDEST or min(widths) < 1:
        rule = f"have 3 or {DEPTH + 1} widths from 1 to {WIDEST}"
        raise argument_error("network", rule, f"is {network!r}")
    return sizes


def check(p):
    deep_linear(*parsed(p.network))


def posterior(p, seed):
    """The posterior around the map's balanced factors; layers that are not there are the identity and do not move.

    The prior is part of the density, at every beta.
    """
    widths, rank = parsed(p.network)
    moves, centre = np.zeros((2, DEPTH, WIDEST, WIDEST))
    for layer, (below, above) in enumerate(pairwise(widths)):
        moves[layer, :above, :below] = 1
        centre[layer, range(rank), range(rank)] = 1
    centre[len(widths) - 1 :] = np.eye(WIDEST)
    target = (centre[2] @ centre[1] @ centre[0])[None]
    return study.posterior(losses, centre, target, beta=p.beta, moving=moves)


def losses(weights, target):
    """Squared distance of the map from the target, of the one example that there is, shape (1,)."""
    return ((weights[2] @ weights[1] @ weights[0] - target) ** 2).sum((1, 2))


def predict(p, step):
    """The closed form, to first order in 1/ln(beta)."""
    limit, m = deep_linear(*parsed(p.network))
    return {"learning_coefficient": limit, "limit": limit, "multiplicity": m}
