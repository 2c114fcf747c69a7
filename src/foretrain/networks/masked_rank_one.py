"""The masked rank-one model as a network: one number per domain, one shared scale, to be jitted and vectorised.

L = |E|_F^2 / 2 with E = (s u v^T - J) o T, the simple case of the note on shared representations. Its theory in NumPy is
`foretrain.theory.factorization.masked_rank_one`; see docs/theory/masked-rank-one.md. Everything here is JAX, one run, in
the dtype of its arguments.
"""

from typing import Any, NamedTuple

import jax.numpy as jnp


class Position(NamedTuple):
    """Position of a run.

    u (input_domain,), v (output_domain,), s, and the integral S of s over time, on which nothing depends.
    """

    left: Any
    right: Any
    scale: Any
    progress: Any


def velocity(position: Position, trained_pairs) -> Position:
    """Gradient flow: du/dt = -s E v, dv/dt = -s E^T u, ds/dt = -u^T E v, and dS/dt = s."""
    left, right, scale, _ = position
    error = _product_error(position) * trained_pairs
    return Position(-scale * error @ right, -scale * left @ error, -left @ error @ right, scale)


def loss(position: Position, trained_pairs):
    """L = |(s u v^T - J) o T|_F^2 / 2, a sum over trained pairs."""
    return jnp.sum((_product_error(position) * trained_pairs) ** 2) / 2


def untrained_error(position: Position, trained_pairs):
    """Mean over untrained pairs of (s u_i v_j - 1)^2 / 2; 0 if there is none."""
    untrained = 1 - trained_pairs
    total = jnp.sum((_product_error(position) * untrained) ** 2) / 2
    return total / jnp.maximum(jnp.sum(untrained), 1)


def conserved(position: Position):
    """|u|^2 - s^2 and |v|^2 - s^2, shape (2,): the same at all times of the flow."""
    left, right, scale, _ = position
    return jnp.stack([jnp.sum(left**2), jnp.sum(right**2)]) - scale**2


def misalignment(position: Position, best_left, best_right):
    """Relative distance of u v^T, at its best scale, from best_left best_right^T, both of unit length.

    From the parts of u and v across them, so that small values are exact.
    """
    first, second = (
        _squared_sine(*pair) for pair in ((position.left, best_left), (position.right, best_right))
    )
    return jnp.sqrt(first + second - first * second)


def _squared_sine(weights, best):
    across = weights - (weights @ best) * best
    return jnp.sum(across**2) / jnp.sum(weights**2)


def _product_error(position):
    return position.scale * jnp.outer(position.left, position.right) - 1
