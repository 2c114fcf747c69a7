"""Exponent with which a quantity scales."""

import numpy as np


def power(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Least-squares slope of ln y along ln x.

    Args:
        x: Positive, shape (x,).
        y: Shape (x, seed).

    Returns:
        Shape (seed,); nan for a seed of which a value is unknown, infinite or not positive.
    """
    x = np.log(x) - np.log(x).mean()
    y = np.asarray(y, float)
    return x @ np.log(np.where((y > 0) & np.isfinite(y), y, np.nan)) / (x @ x)
