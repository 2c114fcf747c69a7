"""The regime that a training was in: lazy, rich, at the edge of stability, or undecided.

Four numbers are read at the end of training, each beside its null, the same of the linearised network in the same steps and
batches: how far the kernel has moved, the rate times the sharpness over two, how many gates have changed, and how unequally
the layers have grown.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import jax
import numpy as np

from foretrain.claims.interval import Interval, interval
from foretrain.explain.gates import changed_gates
from foretrain.explain.kernel.kernel_recursion import Kernel, edge_share

LAZY, RICH = 0.1, 0.4  # movement of the kernel below and above which a regime is named
EDGE = 0.97, 1.04


@dataclass(frozen=True)
class Regime:
    """Numbers at the end of training, over starts; of the network and of its linearised twin.

    Attributes:
        name: ``lazy``, ``rich``, ``edge`` or ``undecided``.
        movement: Change of the kernel relative to the kernel at the start; `twin_movement` at the twin's last weights.
        edge: Last rate times sharpness over two (1 + momentum), 1 being the edge of stability; `twin_edge` likewise.
        gates: Share of the gates, of units times training examples, that have changed; None of networks without any;
            `twin_gates` likewise, at the twin's last weights.
        balance: Largest difference between what layers have gained in squared weights, over the sum of what they have gained
            or lost: 0 where all have grown alike, as under the flow of a network with linear or rectified units. None
            of networks with one layer; `twin_balance` likewise.
    """

    name: str
    movement: Interval
    twin_movement: Interval | None
    edge: Interval
    twin_edge: Interval | None
    gates: Interval | None
    twin_gates: Interval | None
    balance: Interval | None
    twin_balance: Interval | None


def regime(kernels: Sequence[Kernel], ends: Sequence[Any], twins: Sequence[Any] | None) -> Regime:
    """The regime of a training.

    Args:
        kernels: One per start.
        ends: The network's weights at the end, one per start.
        twins: Those of the linearised network; None where it diverges.
    """
    training = kernels[0].training
    rate = float(training.learning_rates[-1])

    def read(ends, linearised):
        if ends is None:
            return None, None, None, None
        pairs = list(zip(kernels, ends, strict=True))
        balances = [_imbalance(kernel.start, end) for kernel, end in pairs]
        edges = [
            edge_share(training, kernel.start, end, linearised=linearised, learning_rate=rate)
            for kernel, end in pairs
        ]
        movements = [kernel.movement(kernel.values_at(end)) for kernel, end in pairs]
        gates = [_gate_changes(training, kernel.start, end) for kernel, end in pairs]
        known = [None if None in values else _mean(values) for values in (gates, balances)]
        return _mean(movements), _mean(edges), *known

    movement, edge, gates, balance = read(ends, False)
    twin_movement, twin_edge, twin_gates, twin_balance = read(twins, True)
    assert movement is not None
    assert edge is not None
    interval_ends = movement.low, movement.high
    low, high = (end if np.isfinite(end) else movement.measured for end in interval_ends)
    name = "undecided"
    if not training.in_batches and EDGE[0] <= edge.measured <= EDGE[1]:
        name = "edge"
    elif high < LAZY:
        name = "lazy"
    elif low > RICH:
        name = "rich"
    return Regime(
        name, movement, twin_movement, edge, twin_edge, gates, twin_gates, balance, twin_balance
    )


def _mean(values):
    values = np.array(values)
    finite = np.isfinite(values).all()
    return interval(values) if finite else Interval(np.inf, np.nan, np.nan, "none")


def _gate_changes(training, start, end):
    """The share of gates that have changed, None without any."""
    with jax.enable_x64(True):
        share = float(_gates(training)(start, end))
    return share if np.isfinite(share) else None


@lru_cache(maxsize=2)
def _gates(training):
    return jax.jit(lambda start, end: changed_gates(training.apply, start, end, training.x))


def _imbalance(start, end):
    pairs = zip(jax.tree.leaves(start), jax.tree.leaves(end), strict=True)
    layers = [(np.asarray(u), np.asarray(w)) for u, w in pairs if np.ndim(u) > 1]
    gains = np.array([float((w**2).sum() - (u**2).sum()) for u, w in layers])
    if len(gains) < 2 or not np.abs(gains).sum() > 0:
        return None
    return float((gains.max() - gains.min()) / np.abs(gains).sum())
