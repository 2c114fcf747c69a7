"""The 95% interval of the mean of values that lie in a known range, whatever their law: also where a rare run carries it.

Where the largest possible value is known, the samples with that value beside them bound the mean: with weights uniform on the
simplex, the 97.5% quantile of the weighted mean of the samples and the upper end is an upper limit of the true mean, and
likewise from below. Of values that are 0 or 1 that is Clopper and Pearson's limit.

That a weighted mean exceeds a level t has a chance that Varsi's recursion sums without cancellation: with a_i = z_i - t,
positive x_h and negative -y_k, P(h, k) = (y_k P(h-1, k) + x_h P(h, k-1)) / (y_k + x_h), P(h, 0) = 1, P(0, k) = 0.

Gaffke (2005), Math. Methods Statist. 14. Learned-Miller & Thomas (2019), A new confidence interval for the mean of a bounded
random variable. Varsi (1973), The multidimensional content of the frustum of the simplex, Pacific J. Math. 46.
"""

from typing import Any

import numpy as np

_ACCURACY = 1e-12  # of an end, in lengths of the range


def mean_limits(
    values: np.ndarray, within: tuple[float, float], tail: float = 0.025
) -> tuple[float, float]:
    """Return the ends of an interval of the mean of the law of which values, shape (n,), are samples, all `within` a range.

    The mean lies beyond either end as often as `tail` says at most. Cost: milliseconds for 20 samples, a second for 400.
    """
    low, high = within
    return _limit(np.append(values, low), tail), _limit(np.append(values, high), 1 - tail)


def _limit(points: np.ndarray, probability: float) -> float:
    """Return the quantile of the mean of points with weights that are uniform on the simplex."""
    from scipy.optimize import brentq

    low, high = float(points.min()), float(points.max())
    if low == high:
        return low

    def beyond(level: float) -> float:
        return exceeding(points, level) - 1 + probability

    root: Any = brentq(beyond, low, high, xtol=_ACCURACY * (high - low))
    return float(root)


def exceeding(points: np.ndarray, level: float) -> float:
    """Return the chance that the mean of points, shape (n,), with weights uniform on the simplex lies above a level."""
    gaps = points - level
    above, below = gaps[gaps > 0], -gaps[gaps < 0]
    if not below.size:
        return float(above.size > 0)
    chance = np.zeros(above.size + 1)  # P(h, d - h) for every h along the diagonals d of the table
    chance[0] = 1
    place = np.arange(1, above.size + 1)
    for diagonal in range(1, above.size + below.size + 1):
        k = diagonal - place
        inside = (k >= 1) & (k <= below.size)
        y = below[np.clip(k, 1, below.size) - 1]
        mixed = (y * chance[:-1] + above * chance[1:]) / (y + above)
        edge = np.where(k == 0, 1.0, chance[1:])
        chance[1:] = np.where(inside, mixed, edge)
        chance[0] = 0  # P(0, k) for k > 0
    return float(chance[-1])
