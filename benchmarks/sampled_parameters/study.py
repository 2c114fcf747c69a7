"""Sampled effective parameters: are estimates that the library trusts right, and are chains caught that do not come round?"""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from foretrain import study
from foretrain.degeneracy.sampled.effective_parameters import sampled_parameters
from foretrain.study import declare, generator, parameter

from . import samplers
from .bench import DEFAULT, DRAWN, PAPER, case

SOURCE = "docs/analyze.md"
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
NUTS = {"sampler": "nuts", "chains": 8, "draws": 2500}
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
    """Return N and its standard error, by what the bench knows, else by BlackJAX's NUTS from w*."""
    known_here = case(network).known
    if known_here is not None:
        return known_here(eps)
    reference = samplers.estimate(around(network, 1 / (2 * eps)), **NUTS)
    return reference.value, reference.error


def around(network: str, beta: float):
    """Return the posterior of a case, in double precision."""
    own = case(network)
    return study.posterior(own.losses, own.params, own.data, beta=beta, moving=own.mask)


def measure(p, seed):
    """One estimate, and what is known."""
    import jax

    own, number = case(p.network), int(generator(seed, "chains").integers(2**31))
    with jax.enable_x64(True):
        value, error = known(p.network, p.eps)
        if own.batch:
            posterior = around(p.network, 1 / (2 * p.eps))
            values = samplers.estimate(posterior, "sgld", batch_size=own.batch, seed=number)
            taken = values.value, values.error, values.trusted
            rest = values.virial, 0.0, values.effective
        else:
            values = sampled_parameters(
                around(p.network, 1.0), [p.eps], gradients=int(p.gradients * own.share), seed=number
            )
            (checks,) = values.checks
            assert checks is not None  # a run has gradients enough to begin
            taken = values.value[0], values.error[0], bool(values.trusted[0])
            rest = checks.virial[0], checks.between, checks.effective
    names = "virial_share", "between_groups", "draws_effective"
    return {
        "parameters_sampled": taken[0],
        "parameters_error": taken[1],
        "believed": np.bool_(taken[2]),
        "parameters_known": value,
        "reference_error": error,
        "trap": np.bool_(own.trap),
        "gradients_taken": np.int64(values.gradients),
        **dict(zip(names, rest, strict=True)),
    }
