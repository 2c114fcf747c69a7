"""Networks trained to judge a prediction: the same graph and examples, plain gradient descent, automatic differentiation.

The prediction knows the statistics alone and integrates a flow; what is trained here knows the examples alone and takes
steps, from other draws of the same law. Nothing but the law is shared.
"""

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from foretrain.claims.interval import interval
from foretrain.errors import ForetrainError, argument_error
from foretrain.lazy import jax, jnp
from foretrain.networks.gated import example_loss, initial_weights
from foretrain.predict.prediction import Ensemble, Judged, Prediction, Trained, first_below
from foretrain.streams import Seed, generator
from foretrain.tasks.gated_data import GatedData

# Learning rate times the largest curvature: descent of a growing mode is late by half of the rate times its growth,
# which is at most half of that curvature: 0.5%.
_RATE, _LARGEST_RATE = 0.02, 0.2
_MOST = 100_000
_CHUNK = 500
# Agreement, fixed beforehand: of times relative to the time, of losses relative to the loss at the start.
_TIME, _LOSS = 0.1, 0.01


def train_beside(
    prediction: Prediction,
    data: GatedData,
    seeds: int,
    learning_rate: float | None = None,
    tell: Callable[[str], None] | None = None,
) -> Prediction:
    """Return the prediction with networks trained on the examples, and its numbers judged by theirs.

    Args:
        prediction: Prediction of the exact flow.
        data: Examples.
        seeds: Number of networks.
        learning_rate: By default 0.02 over the largest curvature, or what reaches the end in 100,000 steps.
        tell: Receives a line on the cost before training.

    Raises:
        ArgumentError: The learning rate is 2 over the largest curvature, or more.
        ForetrainError: Descent diverges all the same.

    Cost: seeds x steps passes over all examples and back.
    """
    drawn, reduced = prediction.drawn, prediction.reduced
    assert drawn is not None
    assert reduced is not None
    if learning_rate is not None and learning_rate * prediction.curvature >= 2:
        rule = f"be below {2 / prediction.curvature:.3g}, 2 over the largest curvature"
        raise argument_error("learning_rate", rule, f"is {learning_rate:g}")
    until = max(prediction.horizon, float(prediction.times[-1]))
    rate = learning_rate
    if rate is None:
        sharpest = prediction.curvature if prediction.curvature > 0 else 1 / until
        rate = min(max(_RATE, until * sharpest / _MOST), _LARGEST_RATE) / sharpest
    steps = min(math.ceil(until / rate), _MOST)
    if tell is not None:
        numbers = sum(math.prod(shape) for shape in data.graph.shape.values())
        work = 3.0 * seeds * steps * data.samples * numbers
        tell(
            f"Training {seeds} networks for {steps} steps of {rate:.3g}: {work:.2g} multiplications."
        )
    starts = [
        initial_weights(
            data.graph,
            generator(Seed(0, seed), "weights"),
            law=prediction.law,
            init_scale=prediction.init_scale,
        )
        for seed in range(seeds)
    ]
    losses = descend(data, starts, rate, steps)
    if not np.isfinite(losses).all():
        raise ForetrainError(
            f"Descent at learning rate {rate:.3g} diverged. Try one below {1 / prediction.curvature:.3g}."
        )
    times = rate * np.arange(steps + 1)
    networks = Ensemble(tuple((times, row) for row in losses))
    judged = _judge(prediction, drawn, networks, float(times[-1]))
    return replace(prediction, trained=Trained(networks, rate, steps, judged))


def descend(
    data: GatedData, starts: list[dict[str, np.ndarray]], learning_rate: float, steps: int
) -> np.ndarray:
    """Return the loss before every step of descent and after the last, in float64: shape (network, steps + 1)."""
    with jax.enable_x64(True):
        arrays = [
            {k: jnp.asarray(v, float) for k, v in group.items()}
            for group in (data.inputs, data.targets, data.gates)
        ]

        def mean_loss(weights):
            return jnp.mean(example_loss(data.graph, weights, *arrays))

        def step(weights, _):
            value, gradient = jax.value_and_grad(mean_loss)(weights)
            return {k: w - learning_rate * gradient[k] for k, w in weights.items()}, value

        run = jax.jit(jax.vmap(lambda weights: jax.lax.scan(step, weights, None, length=_CHUNK)))
        weights = {name: jnp.stack([start[name] for start in starts]) for name in starts[0]}
        rows = []
        for _ in range(steps // _CHUNK + 1):
            weights, values = run(weights)
            rows.append(np.asarray(values))
        return np.concatenate(rows, axis=1)[:, : steps + 1]


def _judge(
    prediction: Prediction, drawn: Ensemble, networks: Ensemble, end: float
) -> tuple[Judged, ...]:
    reduced = prediction.reduced
    assert reduced is not None
    allowed = _LOSS * prediction.initial_loss
    judged = []
    for number, level in enumerate(prediction.drop_levels(), 1):
        at = first_below(reduced.history[0], reduced.history[1], level)
        name = f"time of drop {number}, to loss {level:.3g}"
        judged.append(_judged(name, drawn.time_to(level), networks.time_to(level), at, None))
    shown = prediction.times
    if shown[-1] > 0:
        span = shown[-1] - shown[0]
        expected, seen = (
            np.trapezoid(ensemble.at(shown), shown) / span for ensemble in (drawn, networks)
        )
        there = float(np.trapezoid(reduced.loss, shown) / span)
        judged.append(_judged("mean loss over the curve", expected, seen, there, allowed))
    expected, seen = (ensemble.at(np.array([end]))[:, 0] for ensemble in (drawn, networks))
    there = float(np.interp(end, reduced.history[0], reduced.history[1]))
    return (*judged, _judged(f"loss at time {end:.4g}", expected, seen, there, allowed))


def _judged(name, predicted, trained, reduced: float, allowed: float | None) -> Judged:
    """Compare networks with as many groups of draws; by default a tenth of the predicted time is allowed."""
    predicted = predicted.reshape(-1, len(trained)).mean(axis=0)
    allowed = _TIME * float(np.mean(predicted)) if allowed is None else allowed
    off, low, high, verdict = _verdict(trained, predicted, allowed)
    # The reduction is one curve: what varies beside it is training alone.
    reduced_verdict = _verdict(trained, np.full(trained.shape, reduced), allowed)[3]
    expected, seen = float(np.mean(predicted)), float(np.mean(trained))
    return Judged(
        name, expected, float(reduced), seen, off, low, high, allowed, verdict, reduced_verdict
    )


def _verdict(
    trained: np.ndarray, predicted: np.ndarray, allowed: float
) -> tuple[float, float, float, str]:
    if not (np.isfinite(trained).all() and np.isfinite(predicted).all()):  # some never get there
        together = np.isinf(trained).all() and np.isinf(predicted).all()
        return math.nan, math.nan, math.nan, "agrees" if together else "differs"
    difference = interval(trained - predicted)
    if -allowed <= difference.low and difference.high <= allowed:
        verdict = "agrees"
    elif difference.low > allowed or difference.high < -allowed:
        verdict = "differs"
    else:
        verdict = "open"
    return difference.measured, difference.low, difference.high, verdict
