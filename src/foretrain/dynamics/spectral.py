"""Steps along the polar factor of a gradient: spectral descent, and Muon, which comes near to it by five iterations.

Jordan et al. (2024), https://kellerjordan.github.io/posts/muon, from which the coefficients and the momentum are.
"""

import jax
import jax.numpy as jnp
from jax import lax

# Of Muon's iteration of singular values, x -> a x + b x^3 + c x^5.
COEFFICIENTS = 3.4445, -4.775, 2.0315
ITERATIONS, MOMENTUM = 5, 0.95
# A small value grows by 3.4 in each; then follows quadratic convergence from .7 .. 1.2 to rounding.
_GROWTH, _POLISH = 16, 7


def orthogonalised(matrices: jax.Array, steps: int = ITERATIONS) -> jax.Array:
    """Return matrices (..., n, n) with singular values brought near 1 by Muon's iteration; zero stays zero."""
    size = jnp.sqrt((matrices**2).sum((-2, -1), keepdims=True))
    a, b, c = COEFFICIENTS

    def iterate(_, x):
        gram = x @ x.mT
        return a * x + (b * gram + c * gram @ gram) @ x

    return lax.fori_loop(0, steps, iterate, matrices / jnp.where(size > 0, size, 1))


def polar(matrices: jax.Array) -> jax.Array:
    """Return the polar factors U V^T of matrices U S V^T, shape (..., n, n), without a decomposition.

    Singular values below 1e-8 of the root of their sum of squares are smaller than 1 in it, and those of zero stay zero.
    """

    def iterate(_, x):
        return 1.5 * x - 0.5 * (x @ x.mT) @ x

    return lax.fori_loop(0, _POLISH, iterate, orthogonalised(matrices, _GROWTH))


def muon(gradient: jax.Array, memory: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Return the direction of Muon's step, with Nesterov's momentum, and its memory after it; both of the gradient's shape."""
    memory = MOMENTUM * memory + gradient
    return orthogonalised(MOMENTUM * memory + gradient), memory
