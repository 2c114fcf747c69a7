"""Runs that had not settled when training was cut off."""

import numpy as np

_PART = 10  # the last tenth of a run is what is looked at
_LEFT = 0.01
_SEEN = 1e-5  # of the first loss: less is rounding in single precision


def unsettled(loss: np.ndarray) -> np.ndarray:
    """True for each loss curve that was still falling at its end.

    A run has not settled if in the last tenth of its observations the loss fell by more than 1% of its whole fall so far,
    or fell faster than in the tenth before (it leaves a plateau), by more than 1e-5 of the first loss. A curve too short
    to be cut into three parts, or one that never fell, has not settled either, unless it began at its end.

    Args:
        loss: Shape (..., step); nan after a run has ended.

    Returns:
        Booleans of shape (...). A curve without a finite value counts as settled: it is no unfinished run.
    """
    flat = loss.reshape(-1, loss.shape[-1])
    return np.array([_falls_at_end(curve[np.isfinite(curve)]) for curve in flat], bool).reshape(
        loss.shape[:-1]
    )


def _falls_at_end(curve) -> bool:
    if curve.size == 0 or curve[0] == 0:
        return False
    whole = curve[0] - curve.min()
    if whole <= _SEEN * abs(curve[0]):
        return True
    part = max(1, curve.size // _PART)
    if curve.size < 2 * part + 1:
        return True
    last, before = curve[-1 - part] - curve[-1], curve[-1 - 2 * part] - curve[-1 - part]
    return bool(last > _LEFT * whole or (last > before and last > _SEEN * abs(curve[0])))
