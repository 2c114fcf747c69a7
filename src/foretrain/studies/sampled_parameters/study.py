"""Sampled effective parameters: are estimates that the library trusts right, and are chains caught that do not come round?"""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from foretrain import study
from foretrain.study import declare, generator, parameter

from .bench import DEFAULT, DRAWN, PAPER, case

SOURCE = "docs/studies/sampled-parameters.md"
COST = "3 min"
REFERENCES = ("bushnaq2024degeneracy", "lau2023", "aoyagi2024")
SEEDS = 5
AXES = {"network": DEFAULT}
PRESETS = {
    "paper": {
        "gradients": 10_000_000,
        "network": (*DEFAULT, *PAPER),
        "eps": (0.01, 0.001),
    },
    "drawn": {"gradients": 1_000_000, "network": DRAWN, "eps": 0.003},
}
NUTS = {"sampler": "nuts", "chains": 8, "draws": 2500, "richardson": False, "controlled": False}
declare(
    parameters_sampled="N(eps) by sampling, the effective number of parameters.",
    parameters_error="Standard error that the library states of it.",
    parameters_known="N(eps) in closed form, by quadrature or by a determinant; by NUTS where none of these is there.",
    reference_error="Standard error of the known value, 0 but for NUTS.",
    virial_share="E[(w - w*) . grad U] as a mean along trajectories, over its stationary value.",
    between_groups="Difference of chains from w* and from outside, in standard errors.",
    draws_effective="Effective draws of the loss.",
)
declare(
    kind="bool",
    believed="1 where the library trusts its estimate.",
    trap="1 where chains cannot come round.",
)
declare(kind="int", gradients_taken="Gradients of all data that the estimate took.")


@dataclass(frozen=True)
class Parameters:
    """A network or landscape of the bench, the scale of its loss, and the work of a run."""

    network: str = parameter("5-3-5 r0", "name on the bench, or a deep linear network as 6-4-6 r1")
    eps: float = parameter(0.01, "noise scale of the loss", symbol="ε", above=0)
    gradients: int = parameter(
        400_000, "gradients of all data that sampling may take", minimum=1000
    )


def check(p):
    """The network is on the bench."""
    case(p.network)


@lru_cache(maxsize=64)
def known(network: str, eps: float) -> tuple[float, float]:
    """N and its standard error, by what the bench knows, else by the library's NUTS, which is BlackJAX's, from w*."""
    one = case(network)
    if one.known is not None:
        return one.known(eps)
    from foretrain.degeneracy.sampled.learning_coefficient import learning_coefficient

    found = learning_coefficient(around(network, 1 / (2 * eps)), **NUTS)
    return 2 * float(found.value[0, 0]), 2 * float(found.error[0, 0])


def around(network: str, beta: float, batch: int | None = None):
    """The posterior of a case, in double precision."""
    one = case(network)
    return study.posterior(one.losses, one.params, one.data, beta=beta, moving=one.mask)


def measure(p, seed):
    """One estimate, and what is known."""
    import jax

    from foretrain.degeneracy.sampled.effective_parameters import sampled_parameters
    from foretrain.degeneracy.sampled.learning_coefficient import learning_coefficient

    one, number = case(p.network), int(generator(seed, "chains").integers(2**31))
    with jax.enable_x64(True):
        value, error = known(p.network, p.eps)
        if one.batch:
            found = learning_coefficient(
                around(p.network, 1 / (2 * p.eps), one.batch),
                richardson=False,
                controlled=False,
                seed=number,
            )
            taken = 2 * found.value[0, 0], 2 * found.error[0, 0], not found.doubts()
            rest = found.virial[0, 0], 0.0, found.effective[0, 0]
        else:
            found = sampled_parameters(
                around(p.network, 1.0), [p.eps], gradients=int(p.gradients * one.share), seed=number
            )
            checks = found.checks[0]
            taken = found.value[0], found.error[0], bool(found.trusted[0])
            rest = checks.virial[0], checks.between, checks.effective
    names = "virial_share", "between_groups", "draws_effective"
    return {
        "parameters_sampled": taken[0],
        "parameters_error": taken[1],
        "believed": np.bool_(taken[2]),
        "parameters_known": value,
        "reference_error": error,
        "trap": np.bool_(one.trap),
        "gradients_taken": np.int64(found.gradients),
        **dict(zip(names, rest, strict=True)),
    }
