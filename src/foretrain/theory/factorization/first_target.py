"""The target that each component of a factorisation first grows towards, from its start; and chance alignments in the end."""

import numpy as np
from scipy.special import betaincc

from foretrain.quantities.alignment import alignment


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


def first_targets_of_signs(
    start, target, learning_rate: float, aligned_at: float, steps: int
) -> np.ndarray:
    """The target with which each component first aligns under descent by signs, Adam without its memory.

    Every entry moves by `learning_rate` a step against the sign of its slope on |A B^T - X Y^T|^2. Arguments and result are
    as for `first_targets`; -1 where no alignment reaches `aligned_at` within so many steps.
    """
    (a, b), weights = map(np.asarray, target), np.stack(start)
    product, first = a @ b.T, np.full(weights.shape[2], -1)
    for _ in range(steps):
        x, y = weights
        aligned = alignment(x, y, a, b)
        new = (first < 0) & (aligned.max(axis=0) >= aligned_at)
        first[new] = aligned.argmax(axis=0)[new]
        if (first >= 0).all():
            break
        error = product - x @ y.T
        weights = weights + learning_rate * np.sign([error @ y, error.T @ x])
    return first


def random_mixture(rank: int, threshold: float) -> float:
    """Probability that a component of a Haar-random mixture of orthogonal targets is primarily one of them.

    The squared entries of a column are Beta(1/2, (r - 1)/2), of which at most one exceeds one half.

    There are r >= 2 targets; from the alignment (squared entry) `threshold` >= 1/2 on it is primarily one of them.
    """
    return float(rank * betaincc(0.5, (rank - 1) / 2, threshold))
