"""Distance of measured values from a distribution."""

from collections.abc import Callable

import numpy as np


def distance(values: np.ndarray, law: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
    """Kolmogorov distance of each row of values, shape (row, value), from a distribution function, shape (row,)."""
    ordered = np.sort(values, axis=1)
    steps = np.arange(ordered.shape[1] + 1) / ordered.shape[1]
    above, below = law(ordered) - steps[1:], law(ordered) - steps[:-1]
    return np.maximum(np.abs(above).max(1), np.abs(below).max(1))
