"""Spectral descent of deep linear paths: every singular value of every layer grows by the same amount a step.

M paths of L layers add up to modes of strengths s. Where layers are aligned the gradient of each is (s - p) a^(L-1) per mode,
of which spectral descent takes the sign: a(t) = a_0 + t, t being the step times the learning rate. Derived in
``docs/studies/muon-race.md``; that smaller modes converge first, and the conserved difference of roots of Gram matrices,
are results of Rhee, Simon & Karkada (2026), arXiv 2606.30509, of which the abstract alone was read.
"""

from typing import Any

import numpy as np


def learning_time(strengths: Any, fraction: Any, paths: int, depth: int) -> Any:
    """Return when modes are learned to a fraction from a start at zero, (fraction s / M)^(1/L): smaller ones first.

    Args:
        strengths: (..., mode), s of each mode, above 0.
        fraction: Part of s, between 0 and 1; broadcasts with strengths.
        paths: M.
        depth: L.

    Returns:
        (..., mode), in steps times the learning rate; a start at a_0 is ahead by a_0.
    """
    return (fraction * strengths / paths) ** (1 / depth)


def strength(time: np.ndarray, strengths: np.ndarray, paths: int, depth: int) -> np.ndarray:
    """Return what aligned paths from zero pass on of each mode, min(M t^L, s), shape (time, mode)."""
    return np.minimum(paths * np.asarray(time)[:, None] ** depth, strengths)


def negative(layers: np.ndarray) -> np.ndarray:
    """Return whether the product of a path's layers has a negative determinant; at depth two it loses a direction.

    From a start far smaller than a step the first step makes two layers orthogonal matrices Q_1 and Q_2 times the rate, the
    second adds each other's transpose: W_1 = W_2^T = Q_1 + Q_2^T is singular if -1 is an eigenvalue of Q_2 Q_1, as it is for a
    determinant of -1. W_1 = W_2^T, and with it the rank, stays. At odd depth the first step makes all paths positive.

    Args:
        layers: (..., L, n, n), the start, for a target of positive determinant; the answer has shape (...).
    """
    return np.linalg.det(layers).prod(-1) < 0
