"""The largest curvature of a posterior, by Lanczos: what bounds the step of a sampler.

P(w) = beta H(w) + gamma, H the Hessian of the mean loss over the parameters that move. SGLD of step e is stable on a quadratic
iff e < 4 / P_max.
"""

from functools import lru_cache
from typing import Any

import numpy as np
from scipy.linalg import eigvalsh_tridiagonal

from foretrain.errors import argument_error

EXAMPLES = 512  # at most so many, in equal strides, stand for all data
CAPACITY = 20  # products of Lanczos


def lanczos(product, start, count, capacity: int = CAPACITY):
    """Tridiagonal form of a symmetric map after so many products, orthogonalised fully; in JAX, so it can be vmapped.

    Args:
        product: v -> A v, shape (d,).
        start: Shape (d,); with some share of the wanted eigenvector.
        count: Products, at most `capacity` and d; may be traced, so that one program serves any number.
        capacity: Vectors that there is room for.

    Returns:
        Its diagonal, and what is beside it, both (capacity,) of which the first `count` mean something; the last of the latter
        belongs to no product. The largest eigenvalue is a lower bound of the map's, off by less than a per cent after some 20
        products as a rule.
    """
    import jax
    import jax.numpy as jnp

    def step(index, carry):
        basis, vector, diagonal, beside = carry
        basis = basis.at[index].set(vector)
        image = product(vector)
        along = vector @ image
        for _ in range(2):
            image = image - basis.T @ (basis @ image)
        length = jnp.sqrt(image @ image)
        # Where nothing is left the space is exhausted: go on with nothing.
        tiny = length <= 100 * jnp.finfo(image.dtype).eps * (jnp.abs(along) + 1e-30)
        following = jnp.where(tiny, 0, image / jnp.where(tiny, 1, length))
        diagonal = diagonal.at[index].set(along)
        return basis, following, diagonal, beside.at[index].set(jnp.where(tiny, 0, length))

    nothing = jnp.zeros(capacity, start.dtype)
    basis = jnp.zeros((capacity, start.shape[0]), start.dtype)
    first = start / jnp.sqrt(start @ start)
    return jax.lax.fori_loop(0, count, step, (basis, first, nothing, nothing))[2:]


def largest_ritz(diagonal, beside) -> float:
    """Largest eigenvalue of a tridiagonal form, (k,) and (k,); inf where it is not finite."""
    diagonal, beside = np.asarray(diagonal, float), np.asarray(beside, float)
    if not (np.isfinite(diagonal).all() and np.isfinite(beside).all()):
        return np.inf
    return float(np.max(np.asarray(eigvalsh_tridiagonal(diagonal, beside[:-1]))))


@lru_cache(maxsize=64)
def _program(losses):
    """Jitted tridiagonal forms at many points, one after the other: (places (k, d), scales (k, d), ...) -> 2 × (k, i)."""
    import jax
    from jax.flatten_util import ravel_pytree

    @jax.jit
    def run(places, scales, start, count, params, data):
        unravel = ravel_pytree(params)[1]
        slope = jax.grad(lambda w: losses(unravel(w), data).mean())

        def one(entry):
            place, scale = entry
            product = lambda v: scale * jax.jvp(slope, (place,), (scale * v,))[1]  # noqa: E731
            return lanczos(product, start * (scale != 0), count)

        return jax.lax.map(one, (places, scales))

    return run


def largest(posterior: Any, places: Any, scales: Any, products: int = 16) -> np.ndarray:
    """Largest eigenvalue of S H(w) S at every place, S a diagonal that is 0 where parameters do not move.

    Args:
        posterior: Whose loss it is.
        places: w, flat, shape (k, d).
        scales: S, shape (k, d).
        products: Of Lanczos, at most `CAPACITY`; a number for all places shares their program.

    Returns:
        Shape (k,); inf where the loss is not finite. Of more than `EXAMPLES` examples they are spread evenly. Cost: about two
        gradients on them for each product.
    """
    import jax

    stride = -(-posterior.n // EXAMPLES)
    data = jax.tree.map(lambda leaf: np.asarray(leaf)[::stride], posterior.data)
    flat = posterior.flat
    places, scales = (np.asarray(one, flat.dtype) for one in (places, scales))
    start = np.random.default_rng(0).standard_normal(flat.size).astype(flat.dtype)
    count = min(products, CAPACITY, flat.size)
    run = _program(posterior.losses)
    diagonals, besides = map(np.asarray, run(places, scales, start, count, posterior.params, data))
    pairs = zip(diagonals[:, :count], besides[:, :count], strict=True)
    return np.array([largest_ritz(*pair) for pair in pairs])


def bound(posterior: Any, pull: float, chosen: Any = None) -> np.ndarray:
    """P_max to begin with, for every part and beta: at w*, and where a random displacement costs what is typical.

    The displacement of w* is the longest on a grid of lengths that costs at most d/2 in beta L or in the localisation: at a
    singular w* the Hessian may vanish, and says nothing of what a chain will meet.

    Args:
        posterior: The posterior.
        pull: gamma.
        chosen: P_max at w*, shape (setting,), if it is known already.

    Returns:
        Shape (setting,), settings being parts × betas, betas fastest.
    """
    masks = np.stack(list(posterior.parts.values()))
    scale = np.repeat(masks, len(posterior.beta), axis=0)
    beta = np.tile(posterior.beta, len(masks))
    there = at_start(posterior, pull) if chosen is None else chosen
    lengths = 2.0 ** -np.arange(0, 24)
    lengths = lengths / np.sqrt(pull) if pull > 0 else 1e3 * lengths
    direction = np.random.default_rng(1).standard_normal(posterior.dimension)
    costs, centre, found = _costs(posterior.losses), posterior.flat, []
    for b, s in zip(beta, scale, strict=True):
        tried = (centre + lengths[:, None] * direction * s).astype(centre.dtype)
        excess = b * (
            np.asarray(costs(tried, posterior.params, posterior.data)) - posterior.start_loss
        )
        fits = np.isfinite(excess) & (excess <= s.sum() / 2)
        found.append(tried[int(np.argmax(fits))] if fits.any() else centre)
    typical = beta * largest(posterior, np.stack(found), scale) + pull
    return np.maximum(there, np.where(np.isfinite(typical), typical, 0))


def at_start(posterior: Any, pull: float) -> np.ndarray:
    """P_max at w*, for every part and beta, shape (setting,), betas fastest; above it a step of 4/P_max is refused."""
    masks = np.stack(list(posterior.parts.values()))
    found = largest(posterior, np.tile(posterior.flat, (len(masks), 1)), masks)
    if not np.isfinite(found).all():
        rule = "have finite second derivatives at the parameters given"
        raise argument_error("losses", rule, "has not")
    return (np.maximum(found, 0)[:, None] * posterior.beta + pull).ravel()


@lru_cache(maxsize=64)
def _costs(losses):
    """Jitted mean losses at many places, one after the other."""
    import jax
    from jax.flatten_util import ravel_pytree

    def run(places, params, data):
        unravel = ravel_pytree(params)[1]
        return jax.lax.map(lambda w: losses(unravel(w), data).mean(), places)

    return jax.jit(run)
