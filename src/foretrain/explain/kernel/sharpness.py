"""The largest curvature of a loss: the top eigenvalue of its Hessian, by Lanczos' method."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jax.flatten_util import ravel_pytree

_VECTORS = 24


def sharpness(loss: Callable[[Any], Any], weights: Any) -> Any:
    """The largest eigenvalue of the Hessian of ``loss(weights)``, traceable; 24 products of Hessian and vector.

    The Krylov space is kept orthogonal in full, so that the estimate is a lower bound, and exact where there are no more than
    24 weights.
    """
    flat, shaped = ravel_pytree(weights)
    slope = jax.grad(lambda point: loss(shaped(point)))
    number = min(_VECTORS, flat.size)
    first = jax.random.normal(jax.random.key(0), flat.shape, flat.dtype)
    space = jnp.zeros((number + 1, flat.size), flat.dtype).at[0].set(first / jnp.linalg.norm(first))

    def widen(at, state):
        space, images = state
        image = jax.jvp(slope, (flat,), (space[at],))[1]
        left = image - space.T @ (space @ image)
        left = left - space.T @ (space @ left)
        length = jnp.linalg.norm(left)
        # What is left of an exhausted space is rounding, which is no direction.
        kept = length > 1e-10 * (jnp.linalg.norm(image) + 1e-300)
        left = jnp.where(kept, left / jnp.where(kept, length, 1.0), 0.0)
        return space.at[at + 1].set(left), images.at[at].set(image)

    images = jnp.zeros((number, flat.size), flat.dtype)
    space, images = jax.lax.fori_loop(0, number, widen, (space, images))
    small = space[:number] @ images.T
    # A vector that is zero adds an eigenvalue 0 that is not the Hessian's; it is below all others.
    absent = (space[:number] ** 2).sum(1) < 0.5
    small = (small + small.T) / 2 - jnp.diag(absent * (1.0 + jnp.abs(small).sum()))
    return jnp.linalg.eigvalsh(small)[-1]
