"""Chains of draws from a tempered posterior: many settings times many chains in one jitted program.

Chains live in coordinates u with w = w* + S u, S a diagonal: 0 where parameters are held, 1 where they move, or what
preconditions. In them the density is exp(-beta L(w* + S u) - gamma |S u|^2/2). With e the variance of the noise of a step:

- ``sgld``: u + (e/2) drift + e^(1/2) noise, BlackJAX's overdamped Langevin diffusion, whose own `step_size` is e/2.
- ``baoab``: Langevin dynamics with momentum in the order of Leimkuhler & Matthews, step h = (e/2)^(1/2): kick, half a drift,
  friction and noise, half a drift. Places have the right variance on every quadratic, whatever the step: its bias is of
  what is not quadratic alone.
- ``sghmc``: BlackJAX's diffusion with friction, step h = (e/2)^(1/2). Momentum is kept from step to step, the force is taken
  where the position has moved to (BlackJAX's own kernel takes it where it was, which is stable for h < friction/P only). A
  tenth of the momentum is lost in a step: slow directions are some ten times as fast as with sgld.
- ``sgnht``: the same with a thermostat on the friction, which also takes up noise of minibatches. It reads momenta after the
  noise, so that variances are too small by half of what friction takes in a step, a hundredth here.
- ``mala`` and ``nuts``: BlackJAX's, on all data, exact up to their mixing: the references. Their step is fitted to an
  acceptance of 0.6 and 0.9 by dual averaging while `Lanes.learn` is 1.

Friction takes a tenth of the momentum in a step of baoab and sghmc. A program is compiled once for a loss, a sampler, and the
shapes of data and lanes, whatever the number of draws up to its capacity.
"""

from collections.abc import Callable
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from foretrain.degeneracy.sampled import noise
from foretrain.degeneracy.sampled.posterior import Losses, Posterior

SAMPLERS = ("sgld", "baoab", "sghmc", "sgnht", "mala", "nuts")
EXACT = ("mala", "nuts")
DAMPING = {"baoab": 0.1, "sghmc": 0.1, "sgnht": 0.02}  # friction times step
ACCEPTED = {"mala": 0.6, "nuts": 0.9}


class Lanes(NamedTuple):
    """Settings of every lane; a lane is one chain of one setting.

    Attributes:
        beta, gamma, step: Inverse temperature, pull of the localisation, and e; shape (lane,).
        scale: S, shape (lane, d).
        learn: 1 while the step of an exact sampler is fitted, starting from `step`; else 0. Shape (lane,).
        control: B of the control variate, see `Draw`, shape (lane, d, d); (lane, 0, 0) for none.
    """

    beta: Any
    gamma: Any
    step: Any
    scale: Any
    learn: Any
    control: Any


class Draw(NamedTuple):
    """Numbers that are kept of every draw, shape (lane, draw); g is the gradient of U = beta L + gamma |w - w*|^2/2 by u.

    Attributes:
        loss: Mean loss, on the draw's own minibatch where there is one.
        virial: u . g over the coordinates that move; at stationarity its mean is their number, by parts.
        control: u . B g - tr B, whose mean is 0 at stationarity for any B; 0 where there is no B.
    """

    loss: Any
    virial: Any
    control: Any


def lanes_of(
    beta, pull, step, scale, chains: int, dtype, learn: float = 0.0, control: Any = None
) -> Lanes:
    """Lanes of settings, (setting, ...) each or one number for all, chains fastest."""
    columns = (np.broadcast_to(one, np.shape(beta)) for one in (beta, pull, step, learn))
    beta, pull, step, learning = (np.repeat(one, chains).astype(dtype) for one in columns)
    control = np.zeros((len(scale), 0, 0)) if control is None else control
    scale, control = (np.repeat(one, chains, axis=0).astype(dtype) for one in (scale, control))
    return Lanes(beta, pull, step, scale, learning, control)


def keys_of(seed: int, chains: int, settings: int, number: int = 0) -> np.ndarray:
    """Words of a key for every lane, chains fastest: chain c of every setting has the same one, so that they are paired.

    `chains` are those of each setting; `number` is another one for each call that goes on with the same lanes.
    """
    return np.tile(noise.words(seed, chains, number), (settings, 1))


def start(posterior: Posterior, sampler: str, lanes: Lanes):
    """States of all lanes at w*, momenta 0."""
    import jax

    zero = np.zeros_like(lanes.scale)
    if sampler in EXACT:
        return _exact_start(posterior.losses, sampler)(lanes, posterior.params, posterior.data)
    friction = DAMPING.get(sampler, 0) / (lanes.step / 2) ** 0.5
    made = {"sgld": (zero,), "sgnht": (zero, zero, friction)}.get(sampler, (zero, zero))
    return jax.device_put(made)


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
    capacity: int | None = None,
):
    """So many draws of every lane, `steps` steps apart.

    Args:
        states: From `start` or from here.
        keys: From `keys_of`, other ones for each call.
        steps: Between draws.
        emit: ``emit(params, data)``: a pytree of arrays kept of every draw, all data whatever the minibatch; nothing by
            default. The same function object shares what was compiled.
        together: Lanes side by side; else one after the other, in less memory.
        capacity: Draws that the program has room for, static: calls of other numbers up to it share one program.

    Returns:
        States; a `Draw`; what `emit` gave, with the axes (lane, draw) before its own.
    """
    import jax

    capacity = capacity or draws
    run = program(posterior.losses, sampler, posterior.batch_size, capacity, steps, emit, together)
    states, *kept = run(states, keys, lanes, posterior.params, posterior.data, draws)
    draw, kept = kept if draws == capacity else jax.tree.map(lambda one: one[:, :draws], kept)
    return states, draw, kept


def position(state: Any):
    """U of a state of any kernel."""
    chain = state.chain if isinstance(state, _Fitted) else state
    return chain.position if hasattr(chain, "position") else chain[0]


def places(posterior: Posterior, lanes: Lanes, states: Any) -> np.ndarray:
    """W of every lane, flat, shape (lane, d)."""
    return posterior.flat + lanes.scale * np.asarray(position(states))


def _density(lane: Lanes, losses: Losses, batch_size: int | None, params, data) -> "_Density":
    """Centre and, of (u, key), value and gradient: mean loss on a fresh minibatch, drift of u."""
    import jax
    import jax.numpy as jnp
    from jax.flatten_util import ravel_pytree

    centre, unravel = ravel_pytree(params)
    # What is held is pulled, too, so that u is of no density that has no end.
    pull = lane.gamma * jnp.where(lane.scale == 0, 1, lane.scale**2)

    def mean_loss(w, examples):
        return losses(unravel(w), examples).mean()

    def slope(u, key):
        examples = data
        if batch_size is not None:
            n = len(jax.tree.leaves(data)[0])
            chosen = jax.random.bits(key, (batch_size,), "uint32") % np.uint32(n)
            examples = jax.tree.map(
                lambda leaf: leaf.at[chosen].get(mode="promise_in_bounds"), data
            )
        value, gradient = jax.value_and_grad(mean_loss)(centre + lane.scale * u, examples)
        return value, -lane.beta * lane.scale * gradient - pull * u

    def log_density(u):
        value = mean_loss(centre + lane.scale * u, data)
        return -lane.beta * value - 0.5 * (pull * u**2).sum()

    def value_of(state):
        return -(state.logdensity + 0.5 * (pull * state.position**2).sum()) / lane.beta

    return _Density(centre, unravel, slope, log_density, value_of)


@lru_cache(maxsize=64)
def _exact_start(losses: Losses, sampler: str):
    import blackjax
    import jax
    import jax.numpy as jnp
    from blackjax.adaptation.step_size import dual_averaging_adaptation

    def one(lane, params, data):
        found = _density(lane, losses, None, params, data)
        begin = lane.step / 2 if sampler == "mala" else lane.step**0.5
        fit = dual_averaging_adaptation(ACCEPTED[sampler])[0](begin)
        fit = fit._replace(log_step_size_avg=fit.log_step_size)
        init = getattr(blackjax, sampler).init
        chain = init(jnp.zeros_like(found.centre), found.log_density)
        return jax.tree.map(jnp.asarray, _Fitted(chain, fit))

    return jax.jit(lambda lanes, *rest: jax.vmap(lambda lane: one(lane, *rest))(lanes))


@lru_cache(maxsize=64)
def program(
    losses: Losses,
    sampler: str,
    batch_size: int | None,
    capacity: int,
    steps: int,
    emit: Callable[[Any, Any], Any] | None = None,
    together: bool = True,
):
    """Jitted `advance`, its number of draws an argument."""
    import jax
    import jax.numpy as jnp

    def one_run(state, words, lane, params, data, draws):
        found = _density(lane, losses, batch_size, params, data)
        move, key = _STEPS[sampler](found, lane), noise.keys(words)

        def moved(carry, key):
            # The loss of sgld is that of the place before the step, whose gradient was needed: what is emitted is its.
            state = carry[0]
            after, value, place, drift = move(state, key)
            return (after, value, position(state) if place is None else place, drift), None

        def draw(state, number):
            own = jax.random.fold_in(key, number)
            if steps == 1:
                (state, value, place, drift), _ = moved((state,), own)
            else:
                u = position(state)
                carry = (state, jnp.zeros_like(found.centre[0]), u, u)
                carry, _ = jax.lax.scan(moved, carry, jax.random.split(own, steps))
                state, value, place, drift = carry
            virial = -jnp.where(lane.scale == 0, 0, place * drift).sum()
            control = jnp.zeros_like(virial)
            if lane.control.size:
                control = -place @ (lane.control @ drift) - jnp.trace(lane.control)
            kept = Draw(value, virial, control)
            if emit is None:
                return state, (kept, None)
            return state, (kept, emit(found.unravel(found.centre + lane.scale * place), data))

        shapes = (
            Draw(*[found.centre[0]] * 3),
            None if emit is None else jax.eval_shape(emit, params, data),
        )
        kept = jax.tree.map(lambda one: jnp.zeros((capacity, *one.shape), one.dtype), shapes)

        def at(number, carry):
            state, kept = carry
            state, new = draw(state, number)
            return state, jax.tree.map(lambda all_, one: all_.at[number].set(one), kept, new)

        state, (value, kept) = jax.lax.fori_loop(0, draws, at, (state, kept))
        return state, value, kept

    def run(states, words, lanes, *rest):
        one = lambda a: one_run(*a, *rest)  # noqa: E731
        return (jax.vmap(one) if together else lambda a: jax.lax.map(one, a))(
            (states, words, lanes)
        )

    return jax.jit(run)


class _Density(NamedTuple):
    """The density of one lane as kernels need it: w*, and functions of u, or of the state of an exact kernel."""

    centre: Any
    unravel: Callable[..., Any]
    slope: Callable[..., Any]
    log_density: Callable[..., Any]
    value_of: Callable[..., Any]


# A step is made of (density, lane) and gives ``move(state, key) -> (state, loss, u, drift)``: u is where loss and drift were
# taken, None for the place before.


def _sgld_step(density, lane):
    import jax
    from blackjax.sgmcmc.diffusions import overdamped_langevin

    diffuse = overdamped_langevin()

    def move(state, key):
        batch, fresh = jax.random.split(key)
        value, drift = density.slope(state[0], batch)
        return (diffuse(fresh, state[0], drift, lane.step / 2),), value, None, drift

    return move


def _baoab_step(density, lane):
    import jax
    import jax.numpy as jnp

    h, left = (lane.step / 2) ** 0.5, np.exp(-DAMPING["baoab"])

    def move(state, key):
        batch, fresh = jax.random.split(key)
        u, momentum = state
        value, drift = density.slope(u, batch)
        momentum = momentum + h * drift
        u = u + h / 2 * momentum
        new = jax.random.normal(fresh, u.shape, u.dtype)
        momentum = left * momentum + jnp.sqrt(1 - left**2) * new
        return (u + h / 2 * momentum, momentum), value, None, drift

    return move


def _momentum_step(name):
    def step(density, lane):
        import jax
        from blackjax.sgmcmc import diffusions

        h = (lane.step / 2) ** 0.5
        make = diffusions.sgnht if name == "sgnht" else diffusions.sghmc
        diffuse: Any = make(DAMPING[name] / h)

        def move(state, key):
            batch, fresh = jax.random.split(key)
            position, momentum, *friction = state
            ahead = position + h * momentum
            value, drift = density.slope(ahead, batch)
            return diffuse(fresh, position, momentum, *friction, drift, h), value, ahead, drift

        return move

    return step


class _Fitted(NamedTuple):
    """A chain of an exact sampler, and what fits its step."""

    chain: Any
    fit: Any


def _exact_step(name):
    def step(density, lane):
        import blackjax
        import jax
        import jax.numpy as jnp
        from blackjax.adaptation.step_size import dual_averaging_adaptation

        kernel: Any = getattr(blackjax, name).build_kernel()
        _, update, final = dual_averaging_adaptation(ACCEPTED[name])
        rest = () if name == "mala" else (jnp.ones_like(density.centre), 8)

        def move(state, key):
            learning = lane.learn > 0
            size = jnp.where(learning, jnp.exp(state.fit.log_step_size), final(state.fit))
            chain, told = kernel(key, state.chain, density.log_density, size, *rest)
            fitted = update(state.fit, told.acceptance_rate)
            pick = lambda new, old: jnp.where(learning, new, old).astype(old.dtype)  # noqa: E731
            fit = jax.tree.map(pick, fitted, state.fit)
            state, drift = _Fitted(chain, fit), chain.logdensity_grad
            return state, density.value_of(chain), chain.position, drift

        return move

    return step


_STEPS = {
    "sgld": _sgld_step,
    "baoab": _baoab_step,
    "sghmc": _momentum_step("sghmc"),
    "sgnht": _momentum_step("sgnht"),
    "mala": _exact_step("mala"),
    "nuts": _exact_step("nuts"),
}
