"""The regime that a training was in: lazy, rich, at the edge of stability, or undecided.

Three numbers are read at the end of training, each beside its null, the same of the linearised network in the same steps and
batches: how far the kernel has moved, the rate times the sharpness over two, and how many gates have changed.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np

from foretrain.claims.interval import Interval, interval
from foretrain.explain.corners import program
from foretrain.explain.gates import changed_gates
from foretrain.explain.kernel.kernel_recursion import Kernel, edge_share

LAZY, RICH = 0.1, 0.4  # movement of the kernel below and above which a regime is named
EDGE = 0.97, 1.04


@dataclass(frozen=True)
class Numbers:
    """Numbers at the end of training, over starts.

    Attributes:
        movement: Change of the kernel relative to the kernel at the start.
        edge: Last rate times sharpness over two (1 + momentum), 1 being the edge of stability.
        gates: Share of the gates, of units times training examples, that have changed; None of networks without any.
    """

    movement: Interval
    edge: Interval
    gates: Interval | None


@dataclass(frozen=True)
class Regime(Numbers):
    """Numbers of the network, and the regime that they name.

    Attributes:
        name: ``lazy``, ``rich``, ``edge`` or ``undecided``.
        twin: Numbers at the last weights of the linearised network; None where it diverges.
    """

    name: str
    twin: Numbers | None


def regime(kernels: Sequence[Kernel], ends: Sequence[Any], twins: Sequence[Any] | None) -> Regime:
    """The regime of a training.

    Args:
        kernels: One per start.
        ends: The network's weights at the end, one per start.
        twins: Those of the linearised network; None where it diverges.
    """
    run = _numbers(kernels, ends, linearised=False)
    low, high = np.nan_to_num([run.movement.low, run.movement.high], nan=run.movement.measured)
    name = "undecided"
    if not kernels[0].training.in_batches and EDGE[0] <= run.edge.measured <= EDGE[1]:
        name = "edge"
    elif high < LAZY:
        name = "lazy"
    elif low > RICH:
        name = "rich"
    twin = None if twins is None else _numbers(kernels, twins, linearised=True)
    return Regime(run.movement, run.edge, run.gates, name, twin)


def _numbers(kernels, ends, *, linearised):
    training, pairs = kernels[0].training, list(zip(kernels, ends, strict=True))
    rate = float(training.learning_rates[-1])
    edges = [
        edge_share(training, kernel.start, end, linearised=linearised, learning_rate=rate)
        for kernel, end in pairs
    ]
    movements = [kernel.movement(kernel.values_at(end)) for kernel, end in pairs]
    with jax.enable_x64(True):
        gates = [float(program(_gates, training)(kernel.start, end)) for kernel, end in pairs]
    changed = _mean(gates) if np.isfinite(gates).all() else None
    return Numbers(_mean(movements), _mean(edges), changed)


def _mean(values):
    finite = np.isfinite(values).all()
    return interval(np.array(values)) if finite else Interval(np.inf, np.nan, np.nan, "none")


def _gates(training, start, end):
    return changed_gates(training.apply, start, end, training.x)
