r"""Descent of a factorisation from its own start, at any rank: exact Riccati flows composed with that of the imbalance.

For L = |C - X Y^T|^2 with decay lambda, Q = (Y; X), F = [[0, C^T], [C, 0]] and the imbalance D = X^T X - Y^T Y,

$$ Q' = (2 F - \lambda) Q - Q Q^T Q + (-Y D; X D), \qquad D' = -2 \lambda D. $$

Without D this is solved in closed form at every time: with G = e^{(2F - \lambda) t} Q_0,

$$ Q = G \, T, \qquad T T^T = \Big( 1 + 2 \int_0^t G^T G \Big)^{-1}, $$

which is `foretrain.theory.gated.deep_linear.balanced_flow`. Starts with independent entries of variance sigma^2/n are
unbalanced only by sigma^2 sqrt(2/n) beside sigma^2, so that the product follows it to that order. Which component goes where
needs T itself: it is the inverse root of T T^T over intervals so short that G^T G keeps its eigenvectors, and D, which
alone tells X from Y, acts by X e^{D t/2}, Y e^{-D t/2} before and after each of them.

Steps of length eta are not a flow: the modes grow by 1 + eta (2 s - lambda) in a step and not by e^{eta (2 s - lambda)}. Each
mode is therefore slowed by the factor log(1 + eta (2 s - lambda))/(eta (2 s - lambda)), and its end is left at s - lambda/2.
See docs/theory/s-curves.md.
"""

from typing import NamedTuple

import numpy as np
from scipy.special import exprel


def decayed_loss(target: np.ndarray, components: int, weight_decay: float) -> float:
    """Squared error at which descent with weight decay ends.

    Decay penalises the sum of the singular values of Z: each of the k largest of C ends at max(s - lambda/2, 0), which
    leaves min(s, lambda/2)^2; the others leave s^2.
    """
    strengths = np.linalg.svd(target, compute_uv=False)
    left = strengths.copy()
    left[:components] = np.minimum(strengths[:components], weight_decay / 2)
    return float(np.sum(left**2))


class DescentCurves(NamedTuple):
    """A predicted run.

    Attributes:
        loss: |C - X Y^T|^2, shape (step,).
        alignments: cos(x_j, a_i) cos(y_j, b_i), shape (step, target, component), of the components followed.
        modes: Strength u_i^T X Y^T v_i of the singular modes of C, largest first, shape (step, target).
        inside, outside: Squared length of X and Y together in the span of the target, and outside of it, shape (step,).
    """

    loss: np.ndarray
    alignments: np.ndarray
    modes: np.ndarray
    inside: np.ndarray
    outside: np.ndarray


def descent_curves(
    start,
    learning_rate: float,
    step: np.ndarray,
    target,
    weight_decay: float = 0.0,
    *,
    followed: int = 0,
    until: float = 1e-12,
) -> DescentCurves:
    """Loss, alignments and modes after these numbers of steps of descent, predicted from the start.

    Args:
        start: The pair X, Y, shape (n, component) each.
        step: Ascending numbers of steps from 0, shape (step,). The error is the cube of their distance.
        target: The pair A, B, shape (n, target) each; C = A B^T.
        followed: Of how many components the alignments are given, the first.
        until: Share of |C|^2 at which nothing is left to predict: the course stays as it is from there on.

    Cost: per step an eigendecomposition of (component, component) and products of that with (target + component) rows.
    """
    (a, b), (x, y) = target, start
    # A and X span all that is ever visited, and so do B and Y.
    a, x = _coordinates(a, x)
    b, y = _coordinates(b, y)
    size = max(len(a), len(b))
    a, x, b, y = (np.pad(matrix, ((0, size - len(matrix)), (0, 0))) for matrix in (a, x, b, y))
    left, values, right = np.linalg.svd(a @ b.T)
    a, x, b, y = left.T @ a, left.T @ x, right @ b, right @ y
    growth = learning_rate * (2 * values - weight_decay)
    flat = np.abs(growth) < 1e-9
    slower = np.where(flat, 1.0, np.log1p(growth) / np.where(flat, 1.0, growth))[:, None]
    scale = np.sqrt(slower)
    rates, decays = 2 * slower * values[:, None], slower * weight_decay
    x, y = scale * x, scale * y
    tilt, axes = np.linalg.eigh(x.T @ x - y.T @ y)
    whole, count = float(np.sum(values**2)), min(a.shape[1], len(values))
    rows: list[tuple] = []
    for index, now in enumerate(step):
        if index:
            length = learning_rate * float(now - step[index - 1])
            # The imbalance itself decays; half of its turn before the interval, half after it.
            turn = tilt * np.exp(-2 * weight_decay * learning_rate * step[index - 1]) * length / 2
            turned = axes * np.exp(turn) @ axes.T, axes * np.exp(-turn) @ axes.T
            x, y = x @ turned[0], y @ turned[1]
            x, y = _riccati(x, y, rates, decays, length)
            x, y = x @ turned[0], y @ turned[1]
        left, right = x / scale, y / scale
        product = left @ right.T
        loss = np.sum((np.diag(values) - product) ** 2)
        aligned = _aligned(a, left, followed) * _aligned(b, right, followed)
        squares = (left**2 + right**2).sum(1)
        parts = squares[:count].sum(), squares[count:].sum()
        rows.append((loss, aligned, np.diag(product)[:count], *parts))
        if loss < until * whole:
            break
    missing = len(step) - len(rows)
    columns = (np.array(column) for column in zip(*rows, strict=True))
    return DescentCurves(
        *(np.concatenate([column, np.repeat(column[-1:], missing, 0)]) for column in columns)
    )


def _riccati(x, y, rates, decays, length):
    """X and Y after that time of the flow without imbalance, in the basis in which C is diagonal; rates of shape (mode, 1)."""
    grown, died = (x + y) / np.sqrt(2), (y - x) / np.sqrt(2)
    weight = np.eye(x.shape[1])
    for rate, part in ((rates - decays, grown), (-rates - decays, died)):
        integral = length * exprel(2 * rate * length)  # of e^(2 rate t), from 0 to that length
        weight += 2 * (part * integral).T @ part
    squares, vectors = np.linalg.eigh(weight)
    root = vectors / np.sqrt(squares) @ vectors.T
    grown = np.exp((rates - decays) * length) * (grown @ root)
    died = np.exp((-rates - decays) * length) * (died @ root)
    return (grown - died) / np.sqrt(2), (grown + died) / np.sqrt(2)


def _coordinates(target, own):
    """Return both in an orthonormal basis of their joint span, or unchanged if they span everything."""
    both = np.concatenate([target, own], 1).astype(float)
    if both.shape[1] >= len(both):
        return np.asarray(target, float), np.asarray(own, float)
    both = np.asarray(np.linalg.qr(both, mode="r"))
    return both[:, : target.shape[1]], both[:, target.shape[1] :]


def _aligned(target, own, followed):
    own = own[:, :followed]
    lengths = np.linalg.norm(own, axis=0)
    cosines = target.T @ (own / np.where(lengths > 0, lengths, 1.0))
    return cosines / np.linalg.norm(target, axis=0)[:, None]
