"""Gradient descent of a loss that is written down once, looked at after given numbers of updates."""

from functools import lru_cache

import numpy as np


def snapshots(loss, params, data, rate, decay, moments):
    """Yield the parameters at every moment, arrays of NumPy in double precision.

    Args:
        loss: ``loss(params, data)``, a module's function in JAX, compiled once.
        params: At the start, a pytree.
        data: Whatever else the loss needs.
        rate: Learning rate.
        decay: Decay of all parameters, added to their gradient.
        moments: Numbers of updates, ascending.
    """
    import jax

    for count in np.diff(moments, prepend=0):
        with jax.enable_x64(True):
            params = _descended(loss)(params, data, (rate, decay), count)
        yield jax.tree.map(np.asarray, params)


@lru_cache(maxsize=8)
def _descended(loss):
    import jax
    import optax

    def run(params, data, numbers, count):
        rule = optax.chain(optax.add_decayed_weights(numbers[1]), optax.sgd(numbers[0]))

        def step(_, carry):
            params, state = carry
            change, state = rule.update(jax.grad(loss)(params, data), state, params)
            return optax.apply_updates(params, change), state

        return jax.lax.fori_loop(0, count, step, (params, rule.init(params)))[0]

    return jax.jit(run)
