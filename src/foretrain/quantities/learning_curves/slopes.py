"""Slopes of straight lines through what is known of curves."""

import numpy as np


def slopes(x: np.ndarray, curves: np.ndarray) -> np.ndarray:
    """Least-squares slope of each column of `curves`, shape (x, seed), against x, over the rows in which it is known."""
    finite = np.isfinite(curves)
    count = np.maximum(finite.sum(0), 1)
    centred = np.where(finite, x[:, None] - (x[:, None] * finite).sum(0) / count, 0.0)
    with np.errstate(invalid="ignore", divide="ignore"):
        return (centred * np.where(finite, curves, 0.0)).sum(0) / (centred**2).sum(0)
