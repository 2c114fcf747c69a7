"""Paths of a deep linear network under large steps: minima that steps can end on, and the split that is left at their edge.

M paths of L layers add up to a mode of strength s; path m carries the share p_m. On a minimum the largest curvature of
1/2 (s - sum_m p_m)^2 along balanced layers is L sum_m p_m^(2-2/L). Steps of size eta can stay where it is at most 2/eta.
Derived here; the effect is that of Kim & Lee (2026), arXiv 2606.05219, of which the abstract alone was read.
"""

import numpy as np
from scipy.optimize import brentq

SLIDES = 2000  # points of a slide along the minima


def sharpness(shares: np.ndarray, depth: int) -> np.ndarray:
    """Return the largest curvature of balanced paths, L sum_m p_m^(2-2/L).

    Args:
        shares: (..., M), shares of one mode, non-negative.
        depth: L, layers of a path, at least 2.
    """
    return depth * (np.asarray(shares) ** (2 - 2 / depth)).sum(-1)


def participation(shares: np.ndarray) -> np.ndarray:
    """Return the number of paths that carry a mode, (sum p)^2 / sum p^2, of shares (..., M): from 1 to M."""
    return shares.sum(-1) ** 2 / (shares**2).sum(-1)


def window(paths: int, depth: int) -> float:
    """Return the largest step over that which one path can bear with which equal paths are stable, M^(1-2/L)."""
    return paths ** (1 - 2 / depth)


def shares_of_flow(start: np.ndarray, strength: float, depth: int) -> np.ndarray:
    """Return the shares on which gradient flow ends from paths of equal layers.

    A layer of path m grows as da/dt = a^(L-1) e(t): a^(2-L) falls by the same amount in all paths, or ln a rises by it.

    Args:
        start: (M,), weight of each layer of each path, above 0.
        strength: s, above sum of start^L.
        depth: L, at least 2.
    """
    if depth == 2:
        return start**2 * strength / (start**2).sum()
    inverse, power = start ** (2.0 - depth), -depth / (depth - 2)
    most = inverse.min() * (1 - 1e-12)
    fallen = brentq(lambda x: ((inverse - x) ** power).sum() - strength, 0, most)
    return (inverse - fallen) ** power


def slide(shares: np.ndarray, depth: int, most: float) -> np.ndarray:
    """Return the shares that are left where paths slide down their minima until the sharpness is `most`.

    An oscillation across the minima moves weights down the slope of the sharpness within them: a layer of path m by
    -(2 (L-1) a^(2L-3) - k a^(L-1)), where k leaves sum_m a^L as it is. Followers keep their order, the leader gives.

    Args:
        shares: (M,), shares to begin with, above 0; they are returned where they are flat enough.
        depth: L, at least 2; at 2 all minima are alike, and nothing slides.
        most: Sharpness to reach; that of equal shares where it lies below.
    """
    strength = shares.sum()
    if depth == 2 or sharpness(shares, depth) <= most:
        return shares
    equal = np.full(shares.shape, strength / len(shares))
    if sharpness(equal, depth) >= most:
        return equal
    weights = shares ** (1 / depth)
    pace = (weights.max() - equal[0] ** (1 / depth)) / SLIDES
    while sharpness(weights**depth, depth) > most:
        before, across = weights, weights ** (depth - 1)
        slope = 2 * weights ** (2 * depth - 3)
        down = (slope @ across) / (across @ across) * across - slope
        weights = weights + pace * down / abs(down).max()
        weights *= (strength / (weights**depth).sum()) ** (1 / depth)
    high, low = (sharpness(x**depth, depth) for x in (before, weights))
    return (before + (high - most) / (high - low) * (weights - before)) ** depth
