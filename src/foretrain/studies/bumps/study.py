"""Bumps: how often components grow towards a target and give it up, against everything that may matter."""

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np

from foretrain.networks.factorization_start import exchanged
from foretrain.quantities.alignment import alignment
from foretrain.quantities.bumps import bumps_per_component
from foretrain.study import Seed, declare, default, parameter
from foretrain.theory.factorization.factorization_flow import descent_curves
from foretrain.theory.factorization.first_target import first_targets, first_targets_of_signs
from foretrain.theory.published_rules import step as published_step
from foretrain.training import factorization
from foretrain.training.factorization import TRACKED

SOURCE = "Jermyn & Shlegeris (2022), comments on bumps, which ask for a quantitative study"
COST = "90 s"
REFERENCES = ("jermyn2022",)
SEEDS = 60
AXES = {
    "optimizer": ("sgd", "adam"),
    "rank": (2, 10, 100),
    "init_scale": (1.0, 0.1),
    "relative_rate": (0.25, 1.0, 4.0, 10.0),
}
PRESETS = {
    "paper": {
        "seeds": 100,
        "optimizer": ("sgd", "sgd_decay", "adam", "adamw"),
        "init_scale": (1.0, 0.3, 0.1),
        "relative_rate": (0.25, 1.0, 2.5, 5.0, 10.0),
        "steps": 2000,
    }
}

declare(
    "component",
    kind="int",
    predicted_bumps="Bumps of the flow from the start, -1 where none is computed.",
    first_target_of_signs="Target first aligned with under descent by signs, -1 if with none, or where none is computed.",
)


@dataclass(frozen=True)
class Parameters(factorization.Factorization):
    """Parameters of the bumps study: those of the S-curves, and the exchange of a start."""

    exchanged: bool = parameter(
        False,
        "the second component starts reflected so that its overlaps with the first two targets change places",
    )
    steps: int = default(1000)
    observe_every: int = default(2)
    loss_tolerance: float = default(1e-4)


check, time, program = factorization.check, factorization.time, factorization.program


def draw_start(p: Parameters, seed: Seed) -> tuple[Any, Any]:
    """Draw target and start of a run, NumPy factors of shape (n, component)."""
    target, start = factorization.draw(p, seed)
    return target, exchanged(target, start) if p.exchanged else start


def inputs(p: Parameters, seed: Seed) -> dict[str, Any]:
    return factorization.inputs_from(p, *draw_start(p, seed))


def variants(p: Parameters) -> dict[str, dict]:
    """Return the network of rank two from the exchanged start: the matched partner of rank two from the start as drawn."""
    return {"exchanged": {"rank": 2, "components": 0, "exchanged": True}}


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
    first = _followed(first_targets(start, target))
    return {"first_target": first, "predicted_bumps": _followed(bumps)}


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
