"""The largest curvature of a posterior, by Lanczos: what bounds the step of a sampler.

P(w) = beta H(w) + gamma, H the Hessian of the mean loss over the parameters that move. SGLD of step e is stable on a quadratic
iff e < 4 / P_max.
Lanczos's steps are NumPy's and only H v is compiled: a program of all steps takes twice as long to compile.
"""

from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any

import numpy as np
from scipy.linalg import eigh_tridiagonal

from foretrain.errors import argument_error

EXAMPLES = 512  # at most so many, in equal strides, stand for all data
CAPACITY = 20  # products of Lanczos


def lanczos(
    product: Callable[[np.ndarray], Any], start: np.ndarray, most: int, close: float = 0.0
) -> float:
    """The largest eigenvalue of a symmetric map that is known by its products.

    `product` maps v, shape (d,), of length one, to A v; `start` (d,) has some share of the wanted eigenvector. After `most`
    products, or at a residual of `close` over the value, the largest Ritz value is a lower bound, off by less than a per cent
    after some 20 products as a rule; inf where a product is not finite. Memory: `most` vectors.
    """
    value = 0.0
    for diagonal, beside in tridiagonal(product, start, min(most, len(start))):
        if beside[-1] == np.inf:
            return np.inf
        last = len(diagonal) == min(most, len(start)) or exhausted(diagonal, beside)
        if last or close:
            values, vectors = eigh_tridiagonal(diagonal, beside[:-1])
            value = float(values[-1])
            if beside[-1] * abs(vectors[-1, -1]) <= close * abs(value):
                break
    return value


def tridiagonal(
    product: Callable[[np.ndarray], Any], start: np.ndarray, most: int
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Lanczos's matrix of a symmetric map, product by product, kept orthogonal in full.

    Yields its diagonal and what stands beside it, one number more than the matrix holds; ends after `most` products, where the
    space is exhausted, or with inf where a product is not finite. Memory: `most` vectors.
    """
    basis, diagonal, beside = np.empty((most, len(start))), np.empty(most), np.empty(most)
    vector = start / np.linalg.norm(start)
    for at in range(most):
        basis[at] = vector
        image = np.asarray(product(vector), float)
        if not np.isfinite(image).all():
            diagonal[at] = beside[at] = np.inf
            yield diagonal[: at + 1], beside[: at + 1]
            return
        diagonal[at] = vector @ image
        for _ in range(2):
            image = image - basis[: at + 1].T @ (basis[: at + 1] @ image)
        beside[at] = np.linalg.norm(image)
        yield diagonal[: at + 1], beside[: at + 1]
        if exhausted(diagonal[: at + 1], beside[: at + 1]):
            return
        vector = image / beside[at]


def exhausted(diagonal: np.ndarray, beside: np.ndarray) -> bool:
    """True where nothing is left of the space of `tridiagonal` but rounding."""
    return bool(beside[-1] <= 1e-14 * abs(diagonal).max())


@lru_cache(maxsize=64)
def _product(losses):
    """Jitted S H(w) S v: (w, S, v, ...), each (d,)."""
    import jax
    from jax.flatten_util import ravel_pytree

    @jax.jit
    def run(place, scale, vector, params, data):
        unravel = ravel_pytree(params)[1]
        slope = jax.grad(lambda w: losses(unravel(w), data).mean())
        return scale * jax.jvp(slope, (place,), (scale * vector,))[1]

    return run


def hessian(posterior: Any) -> np.ndarray:
    """Return the Hessian of the mean loss at w*, shape (d, d), float64, negative eigenvalues set to 0.

    Of more than `EXAMPLES` examples some are taken, spread evenly. Cost: d products with the Hessian.
    """
    import jax

    data, params = _some(posterior)
    flat, run = posterior.flat, _product(posterior.losses)
    ones = np.ones_like(flat)
    rows = jax.jit(lambda each: jax.lax.map(lambda v: run(flat, ones, v, params, data), each))
    found = np.asarray(rows(np.eye(flat.size, dtype=flat.dtype)), np.float64)
    values, vectors = np.linalg.eigh((found + found.T) / 2)
    return (vectors * np.maximum(values, 0)) @ vectors.T


def _some(posterior):
    """At most `EXAMPLES` examples in equal strides, and the parameters, on the device."""
    import jax

    stride = -(-posterior.n // EXAMPLES)
    data = jax.tree.map(lambda leaf: np.asarray(leaf)[::stride], posterior.data)
    return jax.device_put((data, posterior.params))


def largest(posterior: Any, places: Any, scales: Any, products: int = 16) -> np.ndarray:
    """Largest eigenvalue of S H(w) S at every place, S a diagonal that is 0 where parameters do not move.

    Places w and scales S are (k, d); the result is (k,), inf where the loss is not finite. Of more than `EXAMPLES` examples
    some are taken, spread evenly. Cost: about two gradients for each of the `products`, at most `CAPACITY`.
    """
    data, params = _some(posterior)
    flat, run = posterior.flat, _product(posterior.losses)
    places, scales = (np.asarray(one, flat.dtype) for one in (places, scales))
    start = np.random.default_rng(0).standard_normal(flat.size)

    def at(place, scale):
        along = lambda v: run(place, scale, v.astype(flat.dtype), params, data)  # noqa: E731
        return lanczos(along, start * (scale != 0), min(products, CAPACITY))

    return np.array([at(*pair) for pair in zip(places, scales, strict=True)])


def bound(posterior: Any, pull: float, chosen: Any = None) -> np.ndarray:
    """P_max to begin with, for every part and beta: at w*, and where a random displacement costs what is typical.

    The displacement of w* is the longest on a grid that costs at most d/2 in beta L or in the localisation: at a singular w*
    the Hessian says nothing of what a chain will meet. `chosen` is P_max at w*, if known; shape (setting,), betas fastest.
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
