"""The target that each component of a factorisation first grows towards, from its start; and chance alignments in the end."""

import numpy as np
from scipy.special import betaincc


def first_targets(start, target) -> np.ndarray:
    """The target on which each component's growing overlap is largest at the start.

    While the learner is small, x' = 2 A B^T y and y' = 2 B A^T x. For orthonormal targets alpha_i = a_i . x and
    beta_i = b_i . y obey alpha' = 2 beta, beta' = 2 alpha: alpha + beta grows as exp(2 t), and the target with the largest
    |alpha_i + beta_i| leads. For independent targets at n >> r^2 this holds up to their overlaps.

    `start` is the pair X, Y, shape (n, component) each, `target` the pair A, B, shape (n, target) each; the result integers of
    shape (component,).
    """
    (a, b), (x, y) = target, start
    return np.abs(np.asarray(a).T @ x + np.asarray(b).T @ y).argmax(axis=0)


def random_mixture(rank: int, threshold: float) -> float:
    """Probability that a component of a Haar-random mixture of orthogonal targets is primarily one of them.

    The squared entries of a column are Beta(1/2, (r - 1)/2), of which at most one exceeds one half.

    There are r >= 2 targets; from the alignment (squared entry) `threshold` >= 1/2 on it is primarily one of them.
    """
    return float(rank * betaincc(0.5, (rank - 1) / 2, threshold))
