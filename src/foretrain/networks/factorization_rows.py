r"""The factorisation network with one component per row: the layout in which many runs train fast.

Factors have shape (component, n), the transposes of those in `foretrain.networks.factorization`.
Every product of a step then runs along contiguous rows: at n = 100 and 10 components a step costs a
third of what it costs the other way, vectorised over runs on one core. The numbers are the same.

The squared error has two forms of equal value. From Gram matrices, -grad_X = 2 A (B^T Y) - 2 X (Y^T
Y) never forms an n x n matrix; with many components the difference C - X Y^T itself is cheaper.
Cross-entropy always has the second form, with P - Q in place of 2 (C - X Y^T).
"""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from foretrain.networks.factorization import Factors, loss


class Goal(NamedTuple):
    """The target of the learner, prepared on the host by `prepare`.

    A and B are (target, n); `product` is C for the squared error and its softmax for cross-entropy, (n, n), or (0, 0) where
    the gradient comes from Gram matrices; `inverse_lengths` are 1 / (|a_i| |b_i|), (target,).
    """

    left: Any
    right: Any
    product: Any
    inverse_lengths: Any


def rows(factors: Factors) -> Factors:
    """Factors of shape (component, n) from those of shape (n, component), or the other way."""
    return Factors(factors.left.T, factors.right.T)


def prepare(kind: str, target: Factors, components: int) -> Goal:
    """The goal of a learner with that many components, in float64; `kind` is "mse" or "cross_entropy".

    The target's factors are (n, target). Gram matrices serve the squared error while 8 (k + r) < 6 n, in units of 2 n k
    operations.
    """
    product = np.zeros((0, 0))
    dimension, rank = target.left.shape
    if kind == "cross_entropy" or 8 * (components + rank) >= 6 * dimension:
        product = target.left @ target.right.T
    if kind == "cross_entropy":
        product = np.exp(product - product.max())
        product /= product.sum()
    lengths = np.linalg.norm(target.left, axis=0) * np.linalg.norm(target.right, axis=0)
    return Goal(target.left.T, target.right.T, product, 1 / lengths)


def gradient(kind: str, factors: Factors, goal: Goal) -> Factors:
    """Gradient of the loss `kind`, factors and result of shape (component, n)."""
    x, y = factors
    if goal.product.size == 0:
        signal = _along(y, goal.right, goal.left), _along(x, goal.left, goal.right)
        decay = _along(y, y, x), _along(x, x, y)
        return Factors(2 * (decay[0] - signal[0]), 2 * (decay[1] - signal[1]))
    own = x.T @ y
    if kind == "mse":
        excess = 2 * (own - goal.product)
    else:
        excess = jax.nn.softmax(own.ravel()).reshape(own.shape) - goal.product
    return Factors(jnp.einsum("jm,nm->jn", y, excess), x @ excess)


def split(kind: str, factors: Factors, goal: Goal) -> dict[str, Any]:
    """Terms of the gradient that trains the first factor, each of shape (component, n).

    ``signal`` is 2 (B^T Y) A for the squared error, (P - u) Y for cross-entropy, u the uniform distribution; -`gradient` is
    the signal less the ``decay``.
    """
    y = factors.right
    if kind == "mse":
        signal = 2 * _along(y, goal.right, goal.left)
    else:
        signal = jnp.einsum("jm,nm->jn", y, goal.product - 1 / goal.product.size)
    return {"signal": signal, "decay": gradient(kind, factors, goal).left + signal}


def decay_ratio(kind: str, factors: Factors, goal: Goal):
    """Length of the decay part of the gradient, over that of the squared error: 1 for the squared error itself.

    The decay of `split`, (Q - u) Y for cross-entropy, is compared with 2 X Y^T Y, for cross-entropy of small logits with
    that of centred matrices divided by 2 n^2. See docs/theory/s-curves.md.
    """
    x, y = factors
    if kind == "mse":
        expected = 2 * _along(y, y, x)
    else:
        own = x.T @ y
        expected = jnp.einsum("jm,nm->jn", y, (own - own.mean()) / own.size)
    return jnp.linalg.norm(split(kind, factors, goal)["decay"]) / jnp.linalg.norm(expected)


def goal_loss(kind: str, factors: Factors, goal: Goal):
    """The loss `kind` in the form that is accurate near zero."""
    return loss(kind, rows(factors), Factors(goal.left.T, goal.right.T))


def alignment(factors: Factors, goal: Goal):
    """A_ij = cos(x_j, a_i) cos(y_j, b_i), shape (target, component); zero rows count as zero.

    The overlaps are written as in `gradient`, so that a step that needs both forms them once.
    """
    overlaps = _overlaps(factors.left, goal.left) * _overlaps(factors.right, goal.right)
    scale = _inverse_norms(factors.left) * _inverse_norms(factors.right)
    return (overlaps * scale * goal.inverse_lengths).T


def _overlaps(own, other):
    return jnp.einsum("jn,in->ji", own, other)


def _along(own, other, directions):
    return _overlaps(own, other) @ directions


def _inverse_norms(vectors):
    squares = jnp.sum(vectors**2, axis=1, keepdims=True)
    return jnp.where(squares > 0, jax.lax.rsqrt(jnp.where(squares > 0, squares, 1.0)), 0.0)
