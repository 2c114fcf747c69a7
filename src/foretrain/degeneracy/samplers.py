"""Chains of draws from a tempered posterior: many settings times many chains in one jitted program.

Chains live in coordinates u with w = w* + S u, S a diagonal: 0 where parameters are held, 1 where they move, or what
preconditions. In them the density is exp(-beta L(w* + S u) - gamma |S u|^2/2). With e the variance of the noise of a step:

- ``sgld``: u + (e/2) drift + e^(1/2) noise, BlackJAX's overdamped Langevin diffusion, whose own `step_size` is e/2.
- ``sghmc``: BlackJAX's diffusion with friction, step h = (e/2)^(1/2). Momentum is kept from step to step, the force is taken
  where the position has moved to (BlackJAX's own kernel takes it where it was, which is stable for h < friction/P only). A
  tenth of the momentum is lost in a step: slow directions are some ten times as fast as with sgld.
- ``sgnht``: the same with a thermostat on the friction, which also takes up noise of minibatches. It reads momenta after the
  noise, so that variances are too small by half of what friction takes in a step, a hundredth here.
- ``mala`` and ``nuts``: BlackJAX's, on all data, exact up to their mixing: the references.

A program is compiled once for a loss, a sampler, and the shapes of data and lanes.
"""

from collections.abc import Callable
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from foretrain.degeneracy.posterior import Losses, Posterior

SAMPLERS = ("sgld", "sghmc", "sgnht", "mala", "nuts")
EXACT = ("mala", "nuts")
DAMPING = {"sghmc": 0.1, "sgnht": 0.02}  # friction times step


class Lanes(NamedTuple):
    """Settings of every lane; a lane is one chain of one setting.

    Attributes:
        beta, gamma, step: Inverse temperature, pull of the localisation, and e; shape (lane,).
        scale: S, shape (lane, d).
    """

    beta: Any
    gamma: Any
    step: Any
    scale: Any


def keys_of(seed: int, chains: int, settings: int):
    """A key for every lane, chains fastest: chain c of every setting has the same one, so that settings are paired."""
    import jax

    keys = jax.random.split(jax.random.key(seed), chains)
    return jax.numpy.tile(keys, settings)


def later(keys: Any, number: int):
    """Other keys of the same lanes, for their next call."""
    import jax

    return jax.vmap(lambda key: jax.random.fold_in(key, number))(keys)


def start(posterior: Posterior, sampler: str, lanes: Lanes, keys):
    """States of all lanes at w*."""
    init, _ = programs(posterior.losses, sampler, posterior.batch_size, 1, 1)
    return init(keys, lanes, posterior.params, posterior.data)


def advance(
    posterior: Posterior,
    sampler: str,
    lanes: Lanes,
    states: Any,
    keys: Any,
    draws: int,
    steps: int = 1,
    emit: Callable[[Any, Any], Any] | None = None,
    together: bool = True,
):
    """So many draws of every lane, `steps` steps apart.

    Args:
        posterior: What to draw from.
        sampler: One of `SAMPLERS`.
        lanes: Settings.
        states: From `start` or from here.
        keys: One for each lane, other ones for each call.
        draws: Static; another number is another program.
        steps: Between draws.
        emit: ``emit(params, data)``: a pytree of arrays kept of every draw, all data whatever the minibatch; nothing by
            default. The same function object shares what was compiled.
        together: Lanes side by side; else one after the other, in less memory.

    Returns:
        States; mean loss of each draw, shape (lane, draw), on its own minibatch where there is one; what `emit` gave, with
        the axes (lane, draw) before its own.
    """
    _, run = programs(posterior.losses, sampler, posterior.batch_size, draws, steps, emit, together)
    return run(states, keys, lanes, posterior.params, posterior.data)


def places(posterior: Posterior, lanes: Lanes, states: Any):
    """W of every lane, flat, shape (lane, d)."""
    from jax.flatten_util import ravel_pytree

    position = states.position if hasattr(states, "position") else states[0]
    return ravel_pytree(posterior.params)[0] + lanes.scale * position


@lru_cache(maxsize=64)
def programs(
    losses: Losses,
    sampler: str,
    batch_size: int | None,
    draws: int,
    steps: int,
    emit: Callable[[Any, Any], Any] | None = None,
    together: bool = True,
):
    """Jitted `start` and `advance`."""
    import jax
    import jax.numpy as jnp
    from jax.flatten_util import ravel_pytree

    def density(lane, params, data):
        """Centre and, of (u, key), value and gradient: mean loss on a fresh minibatch, drift of u."""
        centre, unravel = ravel_pytree(params)
        # What is held is pulled, too, so that u is of no density that has no end.
        pull = lane.gamma * jnp.where(lane.scale == 0, 1, lane.scale**2)

        def mean_loss(w, examples):
            return losses(unravel(w), examples).mean()

        def slope(u, key):
            examples = data
            if batch_size is not None:
                n = len(jax.tree.leaves(data)[0])
                chosen = jax.random.randint(key, (batch_size,), 0, n)
                examples = jax.tree.map(lambda leaf: leaf[chosen], data)
            value, gradient = jax.value_and_grad(mean_loss)(centre + lane.scale * u, examples)
            return value, -lane.beta * lane.scale * gradient - pull * u

        def log_density(u):
            value = mean_loss(centre + lane.scale * u, data)
            return -lane.beta * value - 0.5 * (pull * u**2).sum()

        def value_of(state):
            return -(state.logdensity + 0.5 * (pull * state.position**2).sum()) / lane.beta

        def kept_of(u):
            return None if emit is None else emit(unravel(centre + lane.scale * u), data)

        return _Density(centre, slope, log_density, value_of, kept_of)

    def one_start(key, lane, params, data):
        found = density(lane, params, data)
        zero = jnp.zeros_like(found.centre)
        return _KERNELS[sampler].init(key, zero, found.log_density, lane.step)

    def one_run(state, key, lane, params, data):
        found = density(lane, params, data)
        move = _KERNELS[sampler].step(found, lane.step)

        def draw(state, key):
            if steps > 1:
                keys = jax.random.split(key, steps)
                state = jax.lax.scan(lambda s, k: (move(s, k)[0], None), state, keys[1:])[0]
                key = keys[0]
            # The loss of sgld is that of the place before the step, whose gradient was needed: what is emitted is its.
            before = state.position if hasattr(state, "position") else state[0]
            state, value, place = move(state, key)
            return state, (value, found.kept_of(before if place is None else place))

        state, (value, kept) = jax.lax.scan(draw, state, jax.random.split(key, draws))
        return state, value, kept

    def over(one, arguments, rest):
        if together:
            return jax.vmap(lambda *a: one(*a, *rest))(*arguments)
        return jax.lax.map(lambda a: one(*a, *rest), arguments)

    init = jax.jit(lambda keys, lanes, *rest: over(one_start, (keys, lanes), rest))
    run = jax.jit(lambda states, keys, lanes, *rest: over(one_run, (states, keys, lanes), rest))
    return init, run


class _Density(NamedTuple):
    """What a kernel needs of a lane: w*, and functions of u, or of the state of a kernel that is exact."""

    centre: Any
    slope: Callable[..., Any]
    log_density: Callable[..., Any]
    value_of: Callable[..., Any]
    kept_of: Callable[..., Any]


class _Kernel(NamedTuple):
    """``init(key, u, log_density, e)`` and ``step(density, e)``.

    The latter gives ``move(state, key) -> (state, loss, u)``: u is where the loss was taken, None for the place before.
    """

    init: Callable[..., Any]
    step: Callable[..., Any]


def _sgld_step(density, step):
    import jax
    from blackjax.sgmcmc.diffusions import overdamped_langevin

    diffuse = overdamped_langevin()

    def move(state, key):
        batch, noise = jax.random.split(key)
        value, drift = density.slope(state[0], batch)
        return (diffuse(noise, state[0], drift, step / 2),), value, None

    return move


def _momentum_step(name):
    def step(density, e):
        import jax
        from blackjax.sgmcmc import diffusions

        h = (e / 2) ** 0.5
        make = diffusions.sgnht if name == "sgnht" else diffusions.sghmc
        diffuse: Any = make(DAMPING[name] / h)

        def move(state, key):
            batch, noise = jax.random.split(key)
            position, momentum, *friction = state
            ahead = position + h * momentum
            value, drift = density.slope(ahead, batch)
            return diffuse(noise, position, momentum, *friction, drift, h), value, ahead

        return move

    return step


def _momentum_init(name):
    def init(key, u, log_density, e):
        import jax

        momentum = jax.random.normal(key, u.shape, u.dtype)
        return (u, momentum, DAMPING[name] / (e / 2) ** 0.5) if name == "sgnht" else (u, momentum)

    return init


def _mala_init(key, u, log_density, e):
    import blackjax

    return blackjax.mala.init(u, log_density)


def _mala_step(density, e):
    import blackjax

    kernel = blackjax.mala.build_kernel()

    def move(state, key):
        state, _ = kernel(key, state, density.log_density, e / 2)
        return state, density.value_of(state), state.position

    return move


def _nuts_init(key, u, log_density, e):
    import blackjax

    return blackjax.nuts.init(u, log_density)


def _nuts_step(density, e):
    import blackjax
    import jax.numpy as jnp

    kernel = blackjax.nuts.build_kernel()

    def move(state, key):
        mass = jnp.ones_like(state.position)
        state, _ = kernel(key, state, density.log_density, e**0.5, mass, 8)
        return state, density.value_of(state), state.position

    return move


_KERNELS = {
    "sgld": _Kernel(lambda key, u, log_density, e: (u,), _sgld_step),
    "sghmc": _Kernel(_momentum_init("sghmc"), _momentum_step("sghmc")),
    "sgnht": _Kernel(_momentum_init("sgnht"), _momentum_step("sgnht")),
    "mala": _Kernel(_mala_init, _mala_step),
    "nuts": _Kernel(_nuts_init, _nuts_step),
}


def repeated(values: Any, chains: int, dtype: Any):
    """Values of settings, (setting, ...), as those of lanes, (setting × chain, ...), chains fastest."""
    import jax.numpy as jnp

    return jnp.asarray(np.repeat(np.asarray(values), chains, axis=0), dtype)
