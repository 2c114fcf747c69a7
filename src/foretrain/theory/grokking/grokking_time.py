"""Times at which the representation of a given start is learned, predicted before a run is trained.

The prediction of the paper is the grokking time 1 / lambda_3 of the training set alone, `grokking_time` in
`foretrain.theory.grokking.effective_loss`. The predictions here also know the start, and the second one the optimizer. See
docs/theory/grokking.md.
"""

import numpy as np

from foretrain.errors import argument_error, finite_array, integer, real
from foretrain.tasks.groups import Operation
from foretrain.theory import published_rules
from foretrain.theory.grokking import parallelograms
from foretrain.theory.grokking.effective_loss import hessian, linear_flow

_TIMES = 400  # at which a flow is looked at, between .01 and 20 of its slowest time


def flow_time(start, operation: Operation, training, threshold: float, tolerance: float = 0.1):
    """Time from which on the flow of the effective loss has an RQI above a threshold, its start at unit variance.

    The start is (symbol, dimension), `training` one training set, bool (sample,), `tolerance` delta of the parallelograms. In
    continuous time, to 2%; infinity where the flow does not get there.
    """
    threshold = real("threshold", threshold)
    start = parallelograms.normalised(_checked(operation, training, start))
    rates = np.linalg.eigvalsh(hessian(operation, training, (start**2).sum()))
    free = int(parallelograms.degrees_of_freedom(operation, training))
    if free == len(rates):
        return np.inf
    times = np.append(0, np.geomspace(0.01, 20, _TIMES) / rates[free])
    below = (
        parallelograms.rqi(linear_flow(start, times, operation, training), operation, tolerance)
        <= threshold
    )
    if not below.any():
        return 0.0
    return np.append(times, np.inf)[np.flatnonzero(below)[-1] + 1]


def adam_descent(
    start, learning_rate: float, steps: int, operation: Operation, training
) -> np.ndarray:
    """Embeddings under Adam on the effective loss, (step, symbol, dimension), the start first.

    The loss is l_0 / Z_0 with Z_0 of embeddings less their mean: neither origin nor unit matters to it, and Adam moves each
    symbol by about the rate in a step. So the time is a distance over the rate, and nothing is left to be normalised.
    """
    learning_rate = real("learning_rate", learning_rate, above=0)
    steps, place = integer("steps", steps, minimum=0), _checked(operation, training, start)
    matrix = parallelograms.gram(operation, training)
    path, memory = [place], (np.zeros_like(place), np.zeros_like(place))
    for count in range(1, steps + 1):
        centred = place - place.mean(0)
        force, size = matrix @ centred, (centred**2).sum()
        slope = 2 / size * (force - (centred * force).sum() / size * centred)
        place, memory = published_rules.step("adam", place, slope, memory, count, learning_rate)
        path.append(place)
    return np.array(path)


def first_step(path, operation: Operation, threshold: float, tolerance: float = 0.1) -> float:
    """First step of a path (step, symbol, dimension) with an RQI above a threshold; infinity where there is none."""
    reached = parallelograms.rqi(path, operation, tolerance) > threshold
    return float(reached.argmax()) if reached.any() else np.inf


def _checked(operation, training, start):
    """The start as floats (symbol, dimension), if it and one training set can be used."""
    training = parallelograms.checked_training(operation, training)
    if training.ndim != 1:
        raise argument_error("training", "be one training set", f"has shape {training.shape}")
    start = finite_array("start", start, ndim=2).astype(float)
    if len(start) != operation.symbols or not start.size:
        rule = f"have shape ({operation.symbols} symbols, dimensions)"
        raise argument_error("start", rule, f"has shape {start.shape}")
    if (np.ptp(start, axis=0) == 0).any():
        raise argument_error("start", "tell symbols apart in every dimension", "does not in one")
    return start
