"""Samplers beside which the library's own is held: Langevin steps that nothing takes or refuses, and NUTS.

Of the density exp(-beta L(w) - gamma |w - w*|^2/2), chains from w*, with e the variance of the noise of a step:

- ``sgld``: w + (e/2) drift + e^(1/2) noise; also with minibatches.
- ``baoab``: Langevin dynamics with momentum in the order of Leimkuhler & Matthews, step h = (e/2)^(1/2): kick, half a drift,
  friction and noise, half a drift. Places have the right variance on every quadratic.
- ``sghmc``: the force is taken where the position has moved to; a tenth of the momentum is lost in a step.
- ``sgnht``: the same with a thermostat on the friction.
- ``nuts``: BlackJAX's, exact up to its mixing, its step fitted to an acceptance of 0.9 while it warms up.

A step of sgld is stable on a curvature P if e < 4/P. The step is a tenth of 4/P_max, P_max that at w*, where a random
displacement costs what is typical, and at the ends of chains after a short run.
"""

from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from foretrain.degeneracy.sampled import noise
from foretrain.degeneracy.sampled.chains import mean_of
from foretrain.degeneracy.sampled.posterior import Posterior

SAMPLERS = ("baoab", "sgld", "sghmc", "sgnht")  # and "nuts"
FRICTION = {"baoab": 0.1, "sghmc": 0.1, "sgnht": 0.02}  # times the step
PILOT, SHARE, ACCEPTED = 100, 0.1, 0.9
RHAT, EFFECTIVE, ERROR, ERRORS = 1.05, 100, 0.1, 3  # of an estimate that is trusted


class Estimate(NamedTuple):
    """N = 2 beta E[L - L*] of a posterior, its standard error, and what decides whether it is trusted.

    `virial` is E[(w - w*) . grad U] over the number d of parameters that move, 1 once chains have come round.
    """

    value: float
    error: float
    rhat: float
    effective: float
    virial: float
    virial_error: float
    dimension: int
    gradients: int

    @property
    def trusted(self) -> bool:
        """True where nothing speaks against the value; the bias of the step is not looked at."""
        size = max(abs(self.value), 1.0)
        far = abs(self.virial - 1)
        spread = far > ERRORS * self.virial_error
        return bool(
            np.isfinite(self.value)
            and self.rhat < RHAT
            and self.effective >= EFFECTIVE
            and self.error < ERROR * size
            and not (spread and far * self.dimension > max(ERROR * size, 2 * self.error))
            and -ERRORS * self.error < self.value
            and self.value < self.dimension * (1 + ERROR) + ERRORS * self.error
        )


def estimate(
    around: Posterior,
    sampler: str,
    *,
    chains: int = 4,
    draws: int = 1000,
    warm_up: int | None = None,
    stride: int = 1,
    batch_size: int | None = None,
    seed: int = 0,
) -> Estimate:
    """Return N by so many draws of each chain, `stride` steps from one to the next, after as many to warm up."""
    import jax

    warm_up = draws if warm_up is None else warm_up
    pull = 1.0 if around.pull is None else around.pull
    moving = around.moving.astype(around.flat.dtype)
    fixed = jax.device_put((around.params, around.data, moving))
    start, run = programs(around.losses, sampler, batch_size)
    dtype = around.flat.dtype.type
    numbers, number = (dtype(around.beta), dtype(pull)), 0

    def go(states, step, many, learn=False):
        nonlocal number
        number += 1
        words = noise.words(seed, chains, number)
        kept = run(states, words, dtype(step), many, stride, learn, room, *numbers, *fixed)
        return kept[0], *(np.asarray(values, float)[:, :many] for values in kept[1:])

    room = np.zeros(max(draws, warm_up, PILOT), dtype)
    step = 1e-3
    if sampler != "nuts":
        largest = max(
            steepest(around, pull, place) for place in (around.flat, typical(around, pull))
        )
        step = SHARE * 4 / largest
        ends = go(start(chains, dtype(step), *numbers, *fixed), step, PILOT)[0][0]
        finite = [steepest(around, pull, end) for end in np.asarray(ends) if np.isfinite(end).all()]
        step = SHARE * 4 / max(largest, *finite) if finite else step / 4
    states = start(chains, dtype(step), *numbers, *fixed)
    if warm_up:
        states, *_ = go(states, step, warm_up, learn=True)
    _, losses, virials = go(states, step, draws)
    mean = mean_of(2 * around.beta * (losses - around.start_loss))
    virial = mean_of(virials / moving.sum())
    return Estimate(
        mean.value, mean.error, mean.rhat, mean.effective, virial.value, virial.error,
        int(moving.sum()), chains * stride * (draws + warm_up),
    )  # fmt: skip


def typical(around: Posterior, pull: float) -> np.ndarray:
    """Return a place as far from w* along a random direction as costs d/2 in beta L at most."""
    direction = np.random.default_rng(1).standard_normal(around.flat.size) * around.moving
    loss = _curvature(around.losses)[0]
    for length in pull**-0.5 * 2.0 ** -np.arange(24):
        place = (around.flat + length * direction).astype(around.flat.dtype)
        excess = float(loss(place, around.params, around.data)) - around.start_loss
        if around.beta * excess <= around.moving.sum() / 2:
            return place
    return around.flat


def steepest(around: Posterior, pull: float, place: np.ndarray) -> float:
    """Return the largest curvature of the posterior at a place, by 40 products with the Hessian."""
    product = _curvature(around.losses)[1]
    vector = np.random.default_rng(0).standard_normal(around.flat.size) * around.moving
    value = 0.0
    for _ in range(40):
        vector = vector / max(np.linalg.norm(vector), 1e-300)
        image = np.asarray(product(place, vector.astype(place.dtype), around.params, around.data))
        value, vector = max(float(vector @ image), 0.0), image * around.moving
    return around.beta * value + pull


@lru_cache(maxsize=64)
def _curvature(losses):
    import jax
    from jax.flatten_util import ravel_pytree

    def mean(place, params, data):
        return losses(ravel_pytree(params)[1](place), data).mean()

    def product(place, vector, params, data):
        slope = jax.grad(lambda w: mean(w, params, data))
        return jax.jvp(slope, (place,), (vector,))[1]

    return jax.jit(mean), jax.jit(product)


def _sgld(state, new, e, slope, size):
    value, drift = slope(state[0])
    return (state[0] + e / 2 * drift + e**0.5 * new,), value, state[0], drift


def _baoab(state, new, e, slope, size):
    (w, momentum), h, left = state, (e / 2) ** 0.5, np.exp(-FRICTION["baoab"])
    value, drift = slope(w)
    momentum = momentum + h * drift
    ahead = w + h / 2 * momentum
    momentum = left * momentum + (1 - left**2) ** 0.5 * new
    return (ahead + h / 2 * momentum, momentum), value, w, drift


def _sghmc(state, new, e, slope, size):
    (w, momentum), h, lost = state, (e / 2) ** 0.5, FRICTION["sghmc"]
    ahead = w + h * momentum
    value, drift = slope(ahead)
    momentum = (1 - lost) * momentum + h * drift + (2 * lost) ** 0.5 * new
    return (ahead, momentum), value, ahead, drift


def _sgnht(state, new, e, slope, size):
    (w, momentum, friction), h, lost = state, (e / 2) ** 0.5, FRICTION["sgnht"]
    ahead = w + h * momentum
    value, drift = slope(ahead)
    momentum = (1 - friction * h) * momentum + h * drift + (2 * lost) ** 0.5 * new
    friction = friction + h * ((momentum**2).sum() / size - 1)
    return (ahead, momentum, friction), value, ahead, drift


# A step is made of (state, normal numbers, e, slope, number of parameters that move) and gives (state, loss, w, drift): w is
# where loss and drift were taken.
_STEPS = {"sgld": _sgld, "baoab": _baoab, "sghmc": _sghmc, "sgnht": _sgnht}


class _Fitted(NamedTuple):
    """A chain of NUTS, and what fits its step."""

    position: Any
    chain: Any
    fit: Any


@lru_cache(maxsize=64)
def programs(losses, sampler: str, batch_size: int | None):
    """Return functions that start chains and that draw; a state's first entry is its place."""
    import jax
    import jax.numpy as jnp
    from jax.flatten_util import ravel_pytree

    def density(beta, pull, params, data, moving):
        """w*, value and drift at a place on a fresh minibatch, and the logarithm of the density."""
        centre, unravel = ravel_pytree(params)

        def mean(w, examples):
            return losses(unravel(w), examples).mean()

        def slope(w, key):
            examples = data
            if batch_size is not None:
                n = len(jax.tree.leaves(data)[0])
                rows = jax.random.randint(key, (batch_size,), 0, n)
                examples = jax.tree.map(lambda leaf: leaf[rows], data)
            value, gradient = jax.value_and_grad(mean)(w, examples)
            return value, -moving * (beta * gradient + pull * (w - centre))

        def logarithm(v):  # by v = (w - w*) where w moves; what is held has a density of its own
            w = centre + moving * v
            return -beta * mean(w, data) - pull * (v**2).sum() / 2

        return centre, slope, logarithm, mean

    def nuts(state, key, logarithm, learn):
        import blackjax
        from blackjax.adaptation.step_size import dual_averaging_adaptation

        _, update, final = dual_averaging_adaptation(ACCEPTED)
        size = jnp.where(learn, jnp.exp(state.fit.log_step_size), final(state.fit))
        unit = jnp.ones_like(state.position)
        chain, info = blackjax.nuts.build_kernel()(key, state.chain, logarithm, size, unit, 8)
        fit = update(state.fit, info.acceptance_rate)
        fit = jax.tree.map(
            lambda new, old: jnp.where(learn, new, old).astype(old.dtype), fit, state.fit
        )
        return _Fitted(chain.position, chain, fit)

    def start(chains, step, beta, pull, params, data, moving):
        centre, _, logarithm, _ = density(beta, pull, params, data, moving)
        if sampler == "nuts":
            import blackjax
            from blackjax.adaptation.step_size import dual_averaging_adaptation

            chain = blackjax.nuts.init(jnp.zeros_like(centre), logarithm)
            fit = dual_averaging_adaptation(ACCEPTED)[0](step**0.5)
            fit = fit._replace(log_step_size_avg=fit.log_step_size)
            state = _Fitted(chain.position, chain, fit)
        else:
            state = (centre, jnp.zeros_like(centre), FRICTION.get(sampler, 0.0) / (step / 2) ** 0.5)
            state = state[: {"sgld": 1, "sgnht": 3}.get(sampler, 2)]
        return jax.tree.map(lambda leaf: jnp.repeat(jnp.asarray(leaf)[None], chains, 0), state)

    def run(states, words, step, draws, stride, learn, room, beta, pull, params, data, moving):
        centre, slope, logarithm, mean = density(beta, pull, params, data, moving)
        size = moving.sum()

        def chain(state, words):
            key = noise.keys(words)

            def move(carry, at):
                state = carry[0]
                own = jax.random.fold_in(key, at)
                if sampler == "nuts":
                    state = nuts(state, own, logarithm, learn)
                    w = centre + moving * state.position
                    value, drift = mean(w, data), moving * state.chain.logdensity_grad
                else:
                    batch, fresh = jax.random.split(own)
                    new = moving * jax.random.normal(fresh, centre.shape, centre.dtype)
                    state, value, w, drift = _STEPS[sampler](
                        state, new, step, lambda w: slope(w, batch), size
                    )
                return state, value, -((w - centre) * drift).sum()

            def draw(number, carry):
                state, kept = carry
                first = (state, jnp.zeros_like(step), jnp.zeros_like(step))
                state, *values = jax.lax.fori_loop(
                    0, stride, lambda at, carry: move(carry, number * stride + at), first
                )
                kept = tuple(
                    all_.at[number].set(value) for all_, value in zip(kept, values, strict=True)
                )
                return state, kept

            state, kept = jax.lax.fori_loop(0, draws, draw, (state, (room, room)))
            return state, *kept

        return jax.vmap(chain)(states, words)

    return jax.jit(start, static_argnums=0), jax.jit(run)
