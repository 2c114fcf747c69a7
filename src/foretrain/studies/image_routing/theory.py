"""Predictions for image routing, derived on its page: least squares, chance, and the time at which all routes learn as one."""

import functools
import math
from dataclasses import replace

import numpy as np

from foretrain.study import Seed, crossing_time
from foretrain.tasks.image_domains import least_squares

from .study import Parameters
from .training import domain_data, start, truncated_statistics

SMALLEST = 0.01  # an explicit method waits on its plateaus in proportion to 1 / init_scale


def predict(p: Parameters, step: np.ndarray, seed: Seed) -> dict[str, float]:
    """Predict the end of a linear network with squared error on trained routes, chance, and the time of learning as one."""
    linear = p.loss_function == "squared" and p.negative_slope == 1 and not p.biases
    # Least squares depends neither on training nor on the start or K, the start does not depend on K.
    single = replace(p, trained_outputs=1)
    alike = p.training == "statistics" and p.transform == "permutation"
    whole = replace(single, training="statistics", init_scale=1.0)
    loss, accuracy = _least_squares(whole, p.evaluation_samples) if linear else (math.nan,) * 2
    known = alike and SMALLEST <= p.init_scale <= 1
    return {
        "least_squares_loss": loss,
        "least_squares_accuracy": accuracy,
        "chance_accuracy": 1 / domain_data(p)[0].classes,
        "shared_half_time": half_time(single, seed) if known else math.nan,
    }


@functools.lru_cache(maxsize=4)
def _least_squares(p: Parameters, samples: int) -> tuple[float, float]:
    return least_squares(domain_data(p)[0], truncated_statistics(p), samples)


@functools.lru_cache(maxsize=256)
def half_time(p: Parameters, seed: Seed) -> float:
    """Return the time at which the mean of the network has learned half of its task from the start of this seed.

    Found by an explicit method; nan after a million steps. Cost: some 100 / `init_scale` steps of a network of three layers.
    """
    from scipy.integrate import RK45

    first, hidden, last = (np.asarray(layer, float) for layer in start(p, seed))
    mean = first.sum(0) / math.sqrt(p.domains), hidden, last.sum(0) / math.sqrt(p.domains)
    data = truncated_statistics(p)
    scales, targets = data.scales[0], data.targets[0]
    edges = np.cumsum([layer.size for layer in mean])[:-1]

    def parts(flat):
        layers = zip(np.split(flat, edges), [layer.shape for layer in mean], strict=True)
        encoder, hidden, decoder = (layer.reshape(shape) for layer, shape in layers)
        first = encoder * scales
        return first, hidden, decoder, targets - decoder @ hidden @ first / p.domains

    def velocity(_, flat):
        first, hidden, decoder, error = parts(flat)
        pull = decoder.T @ error / p.domains
        layers = (hidden.T @ pull) * scales, pull @ first.T, error @ (hidden @ first).T / p.domains
        return np.concatenate([layer.ravel() for layer in layers])

    def excess(flat):
        return 0.5 * (parts(flat)[-1] ** 2).sum()

    flat = np.concatenate([layer.ravel() for layer in mean])
    flow = RK45(velocity, 0.0, flat, np.inf, rtol=1e-6, atol=1e-9)
    times, losses = [0.0], [excess(flat)]
    while losses[-1] > losses[0] / 2 and len(times) < 10**6:
        flow.step()
        times.append(flow.t)
        losses.append(excess(flow.y))
    return float(crossing_time(np.array(times), -np.array(losses), -losses[0] / 2))
