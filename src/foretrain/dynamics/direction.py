"""Direction in which weights move: the check that a program follows the gradient that it should."""

from typing import Any

import jax
import jax.numpy as jnp


def gradient_gap(velocity: Any, reference: Any) -> Any:
    """Distance between two directions in which weights may move, over the length of the second; pytrees of JAX arrays.

    Between that of a program and that of the trained routes alone, found another way, it is zero but for rounding: a route
    trained though it should not be, or left out, shows as its share of the gradient.
    """
    length = lambda tree: jnp.sqrt(sum((a**2).sum() for a in jax.tree.leaves(tree)))  # noqa: E731
    return length(jax.tree.map(jnp.subtract, velocity, reference)) / length(reference)
