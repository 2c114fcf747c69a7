"""Stability of training at a learning rate."""

import numpy as np


def is_stable(losses, *, end: float = 0.01, rise: float = 0.1) -> bool:
    """Return whether no run diverged, and the median run ends low and rises little on the way.

    A learning rate above the stable range need not diverge: the loss of Adam comes down and jumps
    up again, or stays high. A condition on the end alone would let the first pass.

    Args:
        losses: Shape (run, time), in units of the loss of a network that has learned nothing. A run
            that ended early is nan from there on; one that rises to its end has diverged.
        end: Largest median of the runs' last losses.
        rise: Largest median of the runs' largest rises above what they had reached before.
    """
    losses = np.asarray(losses, dtype=float)
    ends = [row[np.isfinite(row)][-1:] for row in losses]
    if not all(last.size and last[0] < row[0] for last, row in zip(ends, losses, strict=True)):
        return False
    rises = np.nanmax(losses - np.fmin.accumulate(losses, axis=1), axis=1)
    return bool(np.median(ends) <= end and np.median(rises) <= rise)
