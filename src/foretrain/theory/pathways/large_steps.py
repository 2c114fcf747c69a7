"""Paths of a deep linear network under large steps: minima that steps can end on, and the split that is left at their edge.

M paths of L layers add up to a mode of strength 1; path m carries the share p_m. On a minimum the largest curvature of
1/2 (1 - sum_m p_m)^2 along balanced layers is L sum_m p_m^(2-2/L). Steps of size eta can stay where it is at most 2/eta.
Below, `depth` is L, at least 2, and `relative_step` is f = eta L / 2, the step over the largest that one path can bear.
Derived here; the effect is that of Kim & Lee (2026), arXiv 2606.05219, of which the abstract alone was read.
"""

from functools import cache
from typing import Any

import numpy as np
from scipy.optimize import brentq

SLIDES = 500  # points of a slide along the minima
TURNS = 2000  # steps over which an oscillation is averaged, after as many


def sharpness(shares: np.ndarray, depth: int) -> Any:
    """Return the largest curvature of balanced paths, L sum_m p_m^(2-2/L), of non-negative shares (..., M) of one mode."""
    return depth * (shares ** (2 - 2 / depth)).sum(-1)


def participation(shares: np.ndarray) -> Any:
    """Return the number of paths that carry a mode, (sum p)^2 / sum p^2, of shares (..., M): from 1 to M."""
    return shares.sum(-1) ** 2 / (shares**2).sum(-1)


def window(paths: int, depth: int) -> float:
    """Return the largest step over that which one path can bear with which equal paths are stable, M^(1-2/L)."""
    return paths ** (1 - 2 / depth)


def least_participation(relative_step: Any, paths: int, depth: int) -> Any:
    """Return the fewest paths, (sum p)^2 / sum p^2, that carry a mode on a minimum that a step can end on.

    No layers of matrices are flatter than balanced ones of the same shares. Of shares with one sum and one sharpness those of
    one leader and equal followers have the largest sum of squares: x^(2-2/L) + (M-1) ((1-x)/(M-1))^(2-2/L) = 1/f, f here at
    10,000 values of x. It is 1 up to f = 1, and M beyond the window.
    """
    leader = np.linspace(1, 1 / paths, 10_000)[:, None]
    shares = np.hstack([leader, np.repeat((1 - leader) / (paths - 1), paths - 1, axis=1)])
    return np.interp(relative_step, depth / sharpness(shares, depth), participation(shares))


@cache
def pull(paths: int, relative_step: float, depth: int) -> float:
    """Return the mean of step times error while equal paths oscillate about a mode; nan where that has no bound."""
    weight, total = 1.01 * paths ** (-1 / depth), 0.0
    for turn in range(2 * TURNS):
        change = 2 * relative_step / depth * (1 - paths * weight**depth)
        weight += change * weight ** (depth - 1)
        total += change * (turn >= TURNS)
        if abs(weight) > 200:
            return np.nan
    return total / TURNS


def return_steps(shares: np.ndarray, relative_step: float, depth: int) -> float:
    """Return the steps until enough paths carry a mode again for a stable minimum; infinity where there is none.

    While k paths oscillate, a^(2-L) of a path that carries nothing falls by (L-2) `pull` in a step, until it joins them. The
    shares (M,) are those before the step is raised, above 0. Where fewer paths diverge it is nan.
    """
    if relative_step >= window(len(shares), depth):
        return np.inf
    inverse = np.sort(shares ** ((2 - depth) / depth))
    waits = (
        (inverse[k] - inverse[k - 1]) / ((depth - 2) * pull(k, relative_step, depth))
        for k in range(1, len(shares))
        if relative_step >= window(k, depth)
    )
    return float(sum(waits))


def shares_of_flow(start: np.ndarray, depth: int) -> np.ndarray:
    """Return the shares on which gradient flow ends from paths of equal layers.

    A layer of path m grows as da/dt = a^(L-1) e(t): a^(2-L) falls by the same amount in all paths, or ln a rises by it. The
    weights of a layer of each path are `start` (M,), above 0, and paths start below 1 together.
    """
    if depth == 2:
        return start**2 / (start**2).sum()
    inverse, power = start ** (2.0 - depth), -depth / (depth - 2)
    most = inverse.min() * (1 - 1e-12)
    fallen: Any = brentq(lambda x: ((inverse - x) ** power).sum() - 1, 0, most)
    return (inverse - fallen) ** power


def slide(shares: np.ndarray, depth: int, most: float) -> np.ndarray:
    """Return the shares that are left where paths slide down their minima until the sharpness is `most`.

    An oscillation across the minima moves weights down the slope of the sharpness within them: a layer of path m by
    -(2 (L-1) a^(2L-3) - k a^(L-1)), where k leaves sum_m a^L as it is. Followers keep their order, the leader gives.
    The `shares` (M,) to begin with, above 0, are returned where they are flat enough, where `most` is nan, and at depth two,
    where all minima are alike; equal shares are where `most` lies below their sharpness.
    """
    if depth == 2 or not sharpness(shares, depth) > most:
        return shares
    equal = np.full_like(shares, shares.mean())
    if sharpness(equal, depth) >= most:
        return equal
    before = weights = shares ** (1 / depth)
    pace = (weights.max() - equal[0] ** (1 / depth)) / SLIDES
    while sharpness(weights**depth, depth) > most:
        before, across = weights, weights ** (depth - 1)
        slope = 2 * weights ** (2 * depth - 3)
        down = (slope @ across) / (across @ across) * across - slope
        weights = weights + pace * down / abs(down).max()
        weights *= (shares.sum() / (weights**depth).sum()) ** (1 / depth)
    high, low = (sharpness(x**depth, depth) for x in (before, weights))
    return (before + (high - most) / (high - low) * (weights - before)) ** depth
