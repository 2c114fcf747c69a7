"""Draws of a posterior, and how expectations respond to the weights of examples in the loss, without further sampling.

In exp(-beta L - gamma |w - w*|^2/2) add h times L_S = (1/n) sum_i s_i l_i to L = (1/n) sum_i l_i. An observable then moves by

    d E[phi] / d h = -beta Cov(phi, L_S),

its susceptibility to the subset or weighting s; with phi = l_j and s one example that is the influence of i on j. Covariances
are taken about the mean over all chains, errors from how chains differ: chains must be long beside their memory.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from foretrain.degeneracy import curvature, samplers
from foretrain.degeneracy.learning_coefficient import SHARE, checked_step, default_sampler
from foretrain.degeneracy.posterior import Posterior
from foretrain.errors import TooLarge, argument_error, finite_array, integer, one_of, real

LOSSES = "losses"


@dataclass(frozen=True)
class Draws:
    """Draws of one inverse temperature, of the chains that stayed finite.

    Attributes:
        beta: Inverse temperature of the mean loss.
        values: Name to array (chain, draw, ...): `losses` (chain, draw, n) of every example, and the observables.
    """

    beta: float
    values: Mapping[str, np.ndarray]


@dataclass(frozen=True)
class Response:
    """A susceptibility or an influence.

    Attributes:
        value: Of every weighting (rows) and entry of the observable (further axes).
        error: Standard errors from the spread over chains, same shape; nan for one chain.
    """

    value: np.ndarray
    error: np.ndarray


def draw(
    posterior: Posterior,
    *,
    sampler: str | None = None,
    chains: int = 4,
    draws: int = 1000,
    warm_up: int | None = None,
    steps: int = 1,
    step: float | None = None,
    pull: float = 1.0,
    observables: Mapping[str, Callable[[Any], Any]] | None = None,
    memory: float = 2e9,
    seed: int = 0,
) -> Draws:
    """Draw chains from w* and keep the losses of all examples, and observables, of every draw.

    Args:
        posterior: Of one beta and one part.
        sampler: As of `foretrain.degeneracy.learning_coefficient.learning_coefficient`.
        chains: Number of chains.
        draws: Of each chain.
        warm_up: Draws before those; as many again by default.
        steps: Of the sampler between draws.
        step: e; by default a tenth of 4/P_max at w* or at a place of typical loss. A `Coefficient` of the same posterior
            says whether it is short enough.
        pull: gamma.
        observables: Name to ``f(params)``, an array.
        memory: Bytes that the draws may take.
        seed: Of all draws.

    Raises:
        ArgumentError: The posterior has several beta or parts, no chain stays finite, or an argument is out of range.
        TooLarge: The draws need more than `memory`.
    """
    import jax

    sampler = default_sampler(posterior, sampler)
    chains, draws = integer("chains", chains, minimum=1), integer("draws", draws, minimum=1)
    warm_up = draws if warm_up is None else integer("warm_up", warm_up, minimum=0)
    pull, steps = real("pull", pull, minimum=0), integer("steps", steps, minimum=1)
    if len(posterior.beta) != 1 or len(posterior.parts) != 1:
        got = f"has {len(posterior.beta)} and {len(posterior.parts)}"
        raise argument_error("posterior", "have one beta and one part", got)
    emit = _emitted(posterior.losses, tuple((observables or {}).items()))
    shapes = jax.eval_shape(emit, posterior.params, posterior.data).values()
    _refuse_large(
        "Draws", 4 * chains * max(draws, warm_up) * sum(math.prod(s.shape) for s in shapes), memory
    )
    steepest = curvature.at_start(posterior, pull)
    if step is None:
        e = SHARE * 4 / curvature.bound(posterior, pull, steepest)[0]
    else:
        e = checked_step(step, 4 / steepest[0])
    (mask,) = posterior.parts.values()
    states = None
    for number, count, learn in ((0, warm_up, 1.0), (1, draws, 0.0)):
        lanes = samplers.lanes_of(
            posterior.beta, pull, e, mask[None], chains, posterior.flat.dtype, learn
        )
        states = samplers.start(posterior, sampler, lanes) if states is None else states
        keys = samplers.keys_of(seed, chains, 1, number + 2**20)
        capacity = max(draws, warm_up)
        states, _, kept = samplers.advance(
            posterior, sampler, lanes, states, keys, count, steps, emit, capacity=capacity
        )
    finite = np.isfinite(samplers.places(posterior, lanes, states)).all(1)
    if not finite.any():
        raise argument_error("step", "keep a chain finite", f"{e:.4g} keeps none")
    values = {name: np.asarray(one)[finite] for name, one in kept.items()}
    return Draws(float(posterior.beta[0]), values)


def susceptibility(draws: Draws, weights: Any, observable: str, *, memory: float = 2e9) -> Response:
    """-beta Cov(observable, L_S) for every row s of `weights`.

    Args:
        draws: Of `draw`.
        weights: s, shape (weighting, n); a mask of a subset, or anything else.
        observable: Name of what was kept; `losses` for those of every example.
        memory: Bytes that the result may take.

    Returns:
        Shape (weighting, *observable).

    Raises:
        ArgumentError: Weights are not as long as there are examples, or the observable was not kept.
        TooLarge: The result does not fit.
    """
    weights = finite_array("weights", weights, ndim=2)
    losses = draws.values[LOSSES].astype(np.float64)
    chains, length, examples = losses.shape
    if weights.shape[1] != examples:
        rule = f"have {examples} columns, one for each example"
        raise argument_error("weights", rule, f"has {weights.shape[1]}")
    values = draws.values[one_of("observable", observable, tuple(draws.values))]
    shape = values.shape[2:]
    _refuse_large("Responses", 8 * chains * len(weights) * math.prod(shape), memory)
    values = values.reshape(chains, length, -1).astype(np.float64)
    weighted = losses @ weights.T
    centred = weighted - weighted.mean((0, 1)), values - values.mean((0, 1))
    products = np.einsum("cts,cto->cso", *centred, optimize=True)
    each = (-draws.beta / examples / length * products).reshape(chains, len(weights), *shape)
    if chains == 1:
        return Response(each[0], np.full(each[0].shape, np.nan))
    return Response(each.mean(0), each.std(0, ddof=1) / np.sqrt(chains))


def influence(draws: Draws, examples: Any = None, *, memory: float = 2e9) -> Response:
    """Response of the expected loss of every example to the weight of others in the mean loss: -(beta/n) Cov(l_i, l_j).

    Args:
        draws: Of `draw`.
        examples: Which i, indices; all by default.
        memory: As in `susceptibility`: a matrix for each chain.

    Returns:
        Shape (i, n); over all i symmetric, and never above 0 on its diagonal: more weight lowers one's own loss.
    """
    every = np.arange(draws.values[LOSSES].shape[-1])
    chosen = every if examples is None else np.asarray(examples)
    if chosen.ndim != 1 or not np.isin(chosen, every).all():
        rule = f"be indices from 0 to {every[-1]}"
        raise argument_error("examples", rule, "is something else")
    return susceptibility(draws, (chosen[:, None] == every).astype(float), LOSSES, memory=memory)


def _refuse_large(what: str, size: float, memory: float) -> None:
    if size > memory:
        raise TooLarge(f"{what} need {size / 1e9:.3g} GB, but {memory / 1e9:.3g} GB are allowed.")


@lru_cache(maxsize=32)
def _emitted(losses, observables):
    """One function object for the same things to keep, so that programs are compiled once."""

    def emit(params, data):
        return {LOSSES: losses(params, data)} | {name: f(params) for name, f in observables}

    return emit
