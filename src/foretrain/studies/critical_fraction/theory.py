"""Predictions of a run before it is trained."""

from functools import cache

import numpy as np

from foretrain.study import Seed, generator
from foretrain.theory.grokking import effective_loss, grokking_time, parallelograms
from foretrain.training.embedding import inputs, operation
from foretrain.training.embedding_start import operation_of

DRAWS = 10_000
ADAM_STEPS = 5000  # after which Adam on the effective loss counts as one that never gets there


@cache
def critical_sizes(name: str, symbols: int) -> np.ndarray:
    """Samples in random order after which the representation is unique, int (draw,)."""
    task = operation_of(name, symbols)
    return parallelograms.critical_sizes(task, DRAWS, generator(Seed(0, 0), "critical"))


def predict(p, step, seed):
    """Probability of a unique representation; normalised flow of the effective loss from the run's start; Adam on it."""
    task, rate = operation(p), p.embedding_learning_rate
    if not task.commutative or not rate or p.symbols < 3:
        return {}
    start = inputs(p, seed)
    training, place = start["training"] > 0, start["embedding"]
    wanted = p.rqi_threshold, p.parallelogram_tolerance
    path = effective_loss.exact_flow(parallelograms.normalised(place), rate * step, task, training)
    adam = grokking_time.adam_descent(place, rate, ADAM_STEPS, task, training)
    return {
        "unique_probability": (critical_sizes(p.operation, p.symbols) <= p.training_size).mean(),
        "theory_step": effective_loss.grokking_time(start["lambda_3"], rate),
        "flow_step": grokking_time.flow_time(place, task, training, *wanted) / rate,
        "adam_step": grokking_time.first_step(adam, task, *wanted),
        "flow_embedding": path,
        "rqi": parallelograms.rqi(path, task, p.parallelogram_tolerance),
    }
