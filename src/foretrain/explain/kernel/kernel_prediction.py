"""The prediction of the kernel at the start, which trains nothing, and how far it is to be trusted."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np

from foretrain.claims.interval import Interval, interval
from foretrain.explain.kernel.kernel_path import kernel_along
from foretrain.explain.kernel.kernel_recursion import Kernel, diverged
from foretrain.explain.own_network import start_of
from foretrain.explain.shares import largest_difference

# Of the loss at the start: by what the kernel along the way changes the curve. Of networks that were drawn and trained the
# curve missed by less than a tenth below the first, and by more above the second.
WILL_DO, WILL_NOT, NEAR = 0.04, 0.1, 0.1
_ASKED = 4  # starts of which the way is followed, and as many more where these leave open if the kernel will do


@dataclass(frozen=True, eq=False)
class KernelPrediction:
    """The kernel at the start, which trains nothing.

    Attributes:
        train, test: Losses in the user's own steps and batches, shape (start, time); `test` None without test examples.
        diverging: Number of starts from which the linearised network diverges.
        edge: As of `foretrain.explain.kernel.kernel_recursion.edge_share`, at the start and the largest rate.
        movement: Change of the kernel from the start to where the linearised network would end, relative to it; None where
            that diverges. Like the next two of four starts at most, or of eight.
        along: Training losses with the kernel along that way, see `foretrain.explain.kernel.kernel_path`; shape (start, time).
        correction: Largest difference of the two curves over log time, over the loss at the start.
        verdict: ``will do``, the curve misses by less than a tenth of the loss at the start; ``not to be trusted``, it misses
            by more; ``cannot be said`` or ``diverges``.
    """

    train: np.ndarray
    test: np.ndarray | None
    diverging: int
    edge: Interval
    movement: Interval | None
    along: np.ndarray | None
    correction: Interval | None
    verdict: str

    @property
    def narrow(self) -> bool:
        """True where more starts may tell that the kernel will do: the first ones' mean is below the threshold."""
        if self.along is None or self.correction is None or self.verdict != "cannot be said":
            return False
        return len(self.along) <= _ASKED and self.correction.measured < WILL_DO


def kernel_prediction(
    kernels: Sequence[Kernel],
    rows: np.ndarray,
    at: np.ndarray,
    linear: Any = None,
    before: KernelPrediction | None = None,
) -> tuple[KernelPrediction, Any]:
    """The prediction of the kernels of some starts, and where their linearised networks would end; None where one diverges.

    Args:
        kernels: One per start.
        rows: Minibatches of every start, (start, step, example).
        at: Steps at which losses are asked for.
        linear: Curves of the linearised networks in own steps and batches, where kernels of all examples do not fit.
        before: The prediction of the first of these starts.
    """
    starts = list(zip(kernels, rows, strict=True))
    if linear is None:
        ways = [kernel.predicted(seen, at) for kernel, seen in starts]
        train, test, weights = jax.tree.map(lambda *leaves: np.stack(leaves), *ways)
    else:
        train, test, weights = linear
    ends = [start_of(weights, k) for k in range(len(train))]
    edge = interval(np.array([kernel.edge for kernel in kernels]))
    if diverging := sum(map(diverged, train)):
        return KernelPrediction(train, test, diverging, edge, None, None, None, "diverges"), None
    ways = [] if before is None or before.along is None else [*before.along]
    more = starts[len(ways) :][:_ASKED] if before is None or before.narrow else []
    along = np.stack([*ways, *(kernel_along(k.training, k.start, seen, at) for k, seen in more)])
    few = kernels[: len(along)]
    moved = [k.movement(k.values_at(end)) for k, end in zip(few, ends, strict=False)]
    movement, correction = interval(np.array(moved)), largest_difference(along, train[: len(few)])
    words = verdict(correction)
    return KernelPrediction(train, test, 0, edge, movement, along, correction, words), ends


def verdict(correction: Interval) -> str:
    """The verdict of a correction: the kernel will do if its whole interval is below the threshold; one start has none."""
    if correction.measured > WILL_NOT:
        return "not to be trusted"
    high = max(correction.measured, np.nan_to_num(correction.high))
    return "will do" if high < WILL_DO else "cannot be said"
