"""How far measured curves are from predicted ones."""

import numpy as np


def mean_deviation(measured: np.ndarray, predicted: np.ndarray) -> np.ndarray:
    """Mean absolute difference along a curve, over the measured curve's first value.

    Args:
        measured: Shape (..., step); a run that diverged holds a value that is not finite, or ends early.
        predicted: Shape (..., step).

    Returns:
        Shape (...); nan for a measured curve that is not whole and finite.
    """
    if measured.shape[-1] < predicted.shape[-1]:
        return np.full(np.broadcast_shapes(measured.shape[:-1], predicted.shape[:-1]), np.nan)
    whole = np.asarray(np.isfinite(measured).all(-1))
    gap = np.where(whole[..., None], measured, 0.0) - predicted
    return np.where(whole, np.abs(gap).mean(-1) / measured[..., 0], np.nan)
