"""Singular values of masks: random masks with an outlier and a bulk, circulant bands in closed form.

Those of the trained pairs T set the early dynamics of the masked rank-one model (docs/theory/masked-rank-one.md). Random masks
are square with independent entries, 1 with probability p. `size` is n >= 1, `density` p, above 0, at most 1; all in float64.
"""

import math

import numpy as np

from foretrain.errors import argument_error, integer, real

# Mean and standard deviation of the Tracy-Widom law of real matrices (beta = 1).
_TRACY_WIDOM_MEAN, _TRACY_WIDOM_SCATTER = -1.2065335745820, 1.2679805


def bernoulli_outlier(size: int, density: float) -> float:
    """Largest singular value of a random 0/1 matrix, np + 1 - p for large n.

    The mean matrix has the one singular value np, which noise of variance p(1 - p) lifts by n p(1 - p)/(np) (Benaych-Georges
    & Nadakuditi 2012). It leaves the bulk where np > 1 - p. Single draws scatter around the limit by about sqrt(p(1 - p)).

    Example:
        >>> bernoulli_outlier(100, 0.5), bernoulli_edge(100, 0.5)
        (50.5, 10.0)
    """
    size, density = _checked(size, density)
    return size * density + 1 - density


def bernoulli_edge(size: int, density: float) -> float:
    """Upper edge of all other singular values for large n, 2 sqrt(n p (1 - p)); see above."""
    size, density = _checked(size, density)
    return 2 * math.sqrt(size * density * (1 - density))


def bernoulli_second_value(size: int, density: float) -> float:
    """Mean of the second singular value at finite n: the edge with its Tracy-Widom correction and two smaller ones.

    The noise of an (n - 1) x (n - 1) matrix, one dimension being the outlier's, is centred and scaled as by Johnstone
    (2001); the excess kurtosis k of the entries moves its edge by k sqrt(p (1 - p)/n). Next to `bernoulli_second_scatter` the
    error is below a tenth for n of 50 or more and p of .3 to .7; at p = .1, where k is 5, it is .4 at n = 100, .1 at 200.
    """
    size, density = _checked(size, density, minimum=2)
    variance = density * (1 - density)
    if variance == 0:
        return 0.0
    root, spread = _johnstone(max(size - 1, 2))
    top = root**2 + _TRACY_WIDOM_MEAN * spread
    shift = bernoulli_kurtosis(density) * math.sqrt(variance / size)
    return math.sqrt(variance * max(top, 0.0)) + shift


def bernoulli_kurtosis(density: float) -> float:
    """Excess kurtosis of one entry, of a density below 1."""
    return 1 / (density * (1 - density)) - 6


def bernoulli_second_scatter(size: int, density: float) -> float:
    """Standard deviation of the second singular value of single draws: that of the Tracy-Widom law, in Johnstone's scale."""
    size, density = _checked(size, density, minimum=2)
    root, spread = _johnstone(size)
    return math.sqrt(density * (1 - density)) * _TRACY_WIDOM_SCATTER * spread / (2 * root)


def _johnstone(size: int) -> tuple[float, float]:
    """Root of the centre, and scale, of the largest eigenvalue of n x n white noise times its transpose."""
    root = math.sqrt(size - 1) + math.sqrt(size)
    return root, root * (1 / math.sqrt(size - 1) + 1 / math.sqrt(size)) ** (1 / 3)


def bulk_density(singular_value, size: int, density: float) -> np.ndarray:
    """Density of the bulk of singular values: the square Marchenko-Pastur law, a quarter circle.

    4 sqrt(e^2 - x^2)/(pi e^2) on [0, e], e the edge, and 0 elsewhere, for any shape of `singular_value` x; p is below 1.
    """
    edge = _positive_edge(size, density)
    x = np.asarray(singular_value, np.float64)
    return np.where(x >= 0, 4 * np.sqrt(np.maximum(edge**2 - x**2, 0)) / (np.pi * edge**2), 0.0)


def bulk_count(singular_value, size: int, density: float) -> np.ndarray:
    """Mean number of values below a singular value among the n - 1 that are not the outlier, to order one in n.

    (n - 1) times the integral of `bulk_density` with the edge e of n - 1 dimensions, one being the outlier's. At y = x/e real
    entries add 1/4 - arcsin(y)/pi, and their excess kurtosis k adds k sin(4 arcsin(y))/(2 pi). `singular_value` is at least 0.
    """
    y = np.clip(np.asarray(singular_value, np.float64) / _positive_edge(size - 1, density), 0, 1)
    turn = np.arcsin(y)
    order_one = 0.25 - turn / np.pi + bernoulli_kurtosis(density) * np.sin(4 * turn) / (2 * np.pi)
    return np.asarray((size - 1) * 2 / np.pi * (y * np.sqrt(1 - y**2) + turn) + order_one)


def circulant_singular_values(size: int, width: int) -> np.ndarray:
    """All singular values of a circulant band: w and |sin(pi w k/n)/sin(pi k/n)|, k = 1..n-1.

    The width w is 1 to n. A circulant matrix is diagonal in the Fourier basis. s_2 = sin(pi w/n)/sin(pi/n), twice (k = 1 and n
    - 1); bands of width w and n - w differ in s_1 only. Shape (n,), float64, not increasing.

    Example:
        >>> circulant_singular_values(6, 2).round(3)
        array([2.   , 1.732, 1.732, 1.   , 1.   , 0.   ])
    """
    size = integer("size", size, minimum=1)
    width = integer("width", width, minimum=1, maximum=size)
    k = np.arange(1, size)
    # Reduced by symmetry, so that values that vanish exactly do so: sin(pi m/n) with m = w k mod n.
    turn = np.minimum(width * k % size, -width * k % size)
    values = np.sin(np.pi * turn / size) / np.sin(np.pi * np.minimum(k, size - k) / size)
    return np.concatenate([[float(width)], np.sort(values)[::-1]])


def _checked(size, density, minimum=1):
    return integer("size", size, minimum=minimum), real("density", density, above=0, maximum=1)


def _positive_edge(size, density):
    edge = bernoulli_edge(size, density)
    if edge == 0:
        raise argument_error("density", "be less than 1", "is 1", "A full mask has no bulk.")
    return edge
