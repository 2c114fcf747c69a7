"""Gradient descent of a loss that is written down once, looked at after given numbers of updates."""

from functools import lru_cache

import numpy as np


def snapshots(loss, params, data, learning_rate, weight_decay, moments):
    """Yield the parameters, a pytree, at every moment (numbers of updates, ascending), arrays of NumPy in double precision.

    ``loss(params, data)`` is a module's function in JAX, compiled once; decay of all parameters is added to their gradient.
    """
    import jax

    for count in np.diff(moments, prepend=0):
        with jax.enable_x64(True):
            params = _descended(loss)(params, data, learning_rate, weight_decay, count)
        yield jax.tree.map(np.asarray, params)


@lru_cache(maxsize=8)
def _descended(loss):
    import jax

    def run(params, data, rate, decay, count):
        def step(_, params):
            slopes = jax.grad(loss)(params, data)
            return jax.tree.map(lambda w, g: w - rate * (g + decay * w), params, slopes)

        return jax.lax.fori_loop(0, count, step, params)

    return jax.jit(run)
