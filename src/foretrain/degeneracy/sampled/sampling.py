"""A posterior as the work of a run of a study: the parameters of its sampler, and what is stored of its draws."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from foretrain.degeneracy.sampled.learning_coefficient import learning_coefficient
from foretrain.degeneracy.sampled.posterior import Posterior
from foretrain.degeneracy.sampled.samplers import SAMPLERS
from foretrain.errors import ForetrainError
from foretrain.plans.parameters import parameter
from foretrain.streams import Seed, generator
from foretrain.vocabulary import declare

declare(
    learning_coefficient="lambda = beta E[L - L(w*)], sampled at the inverse temperature beta of the mean loss.",
    learning_coefficient_error="Standard error of the learning coefficient.",
    effective_draws="Independent draws that the chains are worth.",
    rhat="Rank-normalised split R-hat of the loss: 1 where chains agree.",
)
declare(
    kind="bool",
    trusted="1 where no check of chains, step and localisation speaks against the estimate.",
)
declare(kind="int", gradients="Gradients that the estimate took.")


@dataclass(frozen=True)
class Sampling:
    """Settings of the sampler of a posterior; the machine reads these fields."""

    chains: int = parameter(4, "chains, all from the given parameters", minimum=2, maximum=10**4)
    draws: int = parameter(1000, "draws of each chain after its warm-up", minimum=4, maximum=10**7)
    localisation: float = parameter(
        1.0, "precision of the Gaussian prior around the given parameters", symbol="γ", minimum=0
    )
    sampler: str = parameter("baoab", "see foretrain.degeneracy.sampled.samplers", choices=SAMPLERS)


_FIELDS = {
    "localisation": "pull"
}  # a field of `Sampling` to the argument of `learning_coefficient`


def sampled(given: Any, p: Any, seed: Seed) -> dict[str, np.ndarray | np.generic]:
    """Sample the posterior that a study's ``posterior(p, seed)`` gave.

    Args:
        given: A `Posterior` of one part and one inverse temperature, or a pair of it and further arguments of
            `foretrain.degeneracy.sampled.learning_coefficient.learning_coefficient`, which come before the fields of `p`.
        p: The study's parameters; the fields of `Sampling` among them are read.
        seed: Seed of the run.
    """
    posterior, options = given if isinstance(given, tuple) else (given, {})
    if not isinstance(posterior, Posterior) or not isinstance(options, Mapping):
        got = type(posterior).__name__
        raise ForetrainError(
            f"`posterior` must return a Posterior, or a pair of one and a dictionary, but returns {got}."
        )
    if len(posterior.beta) != 1 or len(posterior.parts) != 1:
        got = f"has {len(posterior.parts)} and {len(posterior.beta)}"
        raise ForetrainError(
            f"The posterior of a run must have one part and one inverse temperature, but {got}."
        )
    names = [field.name for field in fields(Sampling)]
    own = {_FIELDS.get(name, name): getattr(p, name) for name in names if hasattr(p, name)}
    number = int(generator(seed, "chains").integers(2**31))
    coefficient = learning_coefficient(posterior, seed=number, **{**own, **options})
    doubts = coefficient.doubts()
    # Without extrapolation the localisation is a part of the density that is sampled, and no bias.
    if not options.get("richardson", True):
        doubts = [doubt for doubt in doubts if "localisation" not in doubt]
    return {
        "learning_coefficient": coefficient.value[0, 0],
        "learning_coefficient_error": coefficient.error[0, 0],
        "effective_draws": coefficient.effective[0, 0],
        "rhat": coefficient.rhat[0, 0],
        "trusted": np.bool_(not doubts),
        "gradients": np.int64(coefficient.gradients),
    }
