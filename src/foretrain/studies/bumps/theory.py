"""First target of each component and its bumps, predicted from the start alone; and the alignments along a whole run."""

from dataclasses import replace
from functools import lru_cache

import numpy as np

from foretrain.quantities.alignment import alignment
from foretrain.quantities.bumps import bumps_per_component
from foretrain.theory.factorization.factorization_flow import descent_curves
from foretrain.theory.factorization.first_target import first_targets, first_targets_of_signs
from foretrain.theory.published_rules import step as published_step
from foretrain.training import factorization
from foretrain.training.factorization import TRACKED

from .study import draw_start


def predict(p, step, seed):
    """Predict first target and bumps of the first ten components, -1 where there are fewer, shape (ten components,).

    Bumps are those of the flow from the start at the reference rate; -1 for all at full rank, where hardly any occur.
    """
    # Optimizer and rate matter to descent by signs alone, and many cells share one start.
    known = _predicted(replace(p, optimizer="sgd", relative_rate=1.0), seed)
    if p.rank != 2 or not p.optimizer.startswith("adam"):
        return known
    target, start = draw_start(p, seed)
    rate = factorization.learning_rate(p)
    signs = first_targets_of_signs(start, target, rate, p.aligned_at, p.steps)
    return known | {"first_target_of_signs": _followed(signs)}


@lru_cache(maxsize=10_000)
def _predicted(p, seed):
    target, start = draw_start(p, seed)
    low = p.rank < p.dimension
    bumps = bumps_per_component(flow(p, seed), prominence=p.prominence) if low else []
    return {
        "first_target": _followed(first_targets(start, target)),
        "predicted_bumps": _followed(bumps),
    }


def flow(p, seed):
    """Return alignments along the flow from a run's start, shape (stored step, target, component followed)."""
    rate = factorization.learning_rate(p)
    step = np.arange(0, p.steps + 1, p.observe_every)
    until = max(p.loss_tolerance, 1e-12)
    target, start = draw_start(p, seed)
    return descent_curves(start, rate, step, target, followed=TRACKED, until=until).alignments


def record(p, seed):
    """Return alignments along a run of squared error without decay, in double precision, shaped as those of `flow`."""
    (a, b), start = draw_start(p, seed)
    product, rate = a @ b.T, factorization.learning_rate(p)
    weights = np.stack(start)
    memory, alignments = (np.zeros_like(weights), np.zeros_like(weights)), []
    for count in range(p.steps + 1):
        x, y = weights
        error = product - x @ y.T
        if count % p.observe_every == 0:
            alignments.append(alignment(x[:, :TRACKED], y[:, :TRACKED], a, b))
            if np.sum(error**2) <= p.loss_tolerance * np.sum(product**2):
                break
        slope = np.stack([-2 * error @ y, -2 * error.T @ x])
        weights, memory = published_step(p.optimizer, weights, slope, memory, count + 1, rate)
    return np.array(alignments)


def _followed(values):
    values = np.asarray(values, int)[:TRACKED]
    return np.pad(values, (0, TRACKED - values.size), constant_values=-1)
