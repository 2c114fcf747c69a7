"""A posterior as the work of a run of a study: the parameters of its sampler, and what is stored of its draws."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from foretrain.degeneracy.sampled.effective_parameters import sampled_parameters
from foretrain.degeneracy.sampled.posterior import Posterior
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
declare(kind="bool", trusted="1 where no check of the chains speaks against the estimate.")
declare(kind="int", gradients_taken="Gradients of all data that the estimate took.")


@dataclass(frozen=True)
class Sampling:
    """Settings of the sampler of a posterior; the machine reads these fields."""

    chains: int = parameter(
        16, "chains, a quarter of them from the given parameters", minimum=8, maximum=10**4
    )
    gradients: int = parameter(
        400_000, "gradients of all data that all chains may take", minimum=1000, maximum=10**12
    )
    localisation: float = parameter(
        1.0, "precision of the Gaussian prior around the given parameters", symbol="γ", above=0
    )


def sampled(posterior: Any, p: Any, seed: Seed) -> dict[str, np.ndarray | np.generic]:
    """Sample the posterior that a study's ``posterior(p, seed)`` returned, with all gradients that it may take.

    Of the study's parameters p the fields of `Sampling` are read; the localisation where the posterior's `pull` is None.
    """
    if not isinstance(posterior, Posterior):
        got = f"returns {type(posterior).__name__}"
        raise ForetrainError(f"`posterior` must return a Posterior, but {got}.")
    if posterior.pull is None:
        posterior = replace(posterior, pull=getattr(p, "localisation", Sampling.localisation))
    values = sampled_parameters(
        posterior,
        gradients=getattr(p, "gradients", Sampling.gradients),
        chains=getattr(p, "chains", Sampling.chains),
        until_trusted=False,
        seed=int(generator(seed, "chains").integers(2**31)),
    )
    (checks,), (doubts,) = values.checks, values.doubts
    if checks is None:
        raise ForetrainError(f"The posterior is {'; '.join(doubts)}.")
    return {
        "learning_coefficient": values.value[0] / 2,
        "learning_coefficient_error": values.error[0] / 2,
        "effective_draws": np.float64(checks.effective),
        "rhat": np.float64(checks.rhat),
        "trusted": values.trusted[0],
        "gradients_taken": np.int64(values.gradients),
    }
