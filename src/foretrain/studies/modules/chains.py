"""Hamiltonian paths at many networks' parameters at once, and twice their learning coefficients, with little scatter.

Around w* the density is exp(-beta L(w) - gamma |w - w*|²/2), and what is wanted is 2 beta E[L]. Chains live in coordinates
w = place + S z in which the density of a quadratic L is the standard normal one, S = V (beta h + gamma)^(-1/2) by eigenvalues
h and eigenvectors V of the Gauss-Newton matrix at `place`. That is w*, or another point of equal function nearby where w* is
singular and says nothing of how steep its surroundings are; the density does not depend on it, nor on S.

By parts, E[z_i dU/dz_i] = 1 for every coordinate and any energy U. So 2 beta L - sum_i a_i (z_i dU/dz_i - 1) has the mean of
2 beta L whatever a is; with a_i = beta h_i/(beta h_i + gamma) it does not scatter at all where L is quadratic: what scatters
is what singular and curved directions do. The mean is right once the chains have come round, as that of the plain loss is:
where w* lies on arms of equal weight, of which a chain visits one, neither is.
"""

import numpy as np

from foretrain import study as lab
from foretrain.study import CONVERGED, Program

LEAPS = 16  # of a path
WARM = 4  # one in so many paths, the first ones, fit the step and are not kept
ACCEPTED = 0.8


def coordinates(jacobian, moving, n, beta, pull, controlled):
    """Inputs of the program: S, shape (d, k), and a, (k,); only what is `moving` has coordinates, k is their number.

    Args:
        jacobian: Of all residuals by all parameters, (n x residuals, d).
        moving: Booleans, (d,).
        n: Examples.
        beta: Inverse temperature.
        pull: gamma.
        controlled: Whether a is as above, or 0.
    """
    own = np.flatnonzero(moving)
    slopes = jacobian[:, own]
    steep, vectors = np.linalg.eigh(2 * slopes.T @ slopes / n)
    steep = beta * np.maximum(steep, 0)
    made = np.zeros((len(moving), len(own)))
    made[own] = vectors / np.sqrt(steep + pull)
    share = controlled * steep / (steep + pull)
    return {"scales": made, "share": share, "beta": beta, "pull": pull}


def stacked(found):
    """Inputs of the program: those of each network, by name, padded with coordinates that move nothing."""
    most = max(one["share"].size for one in found)
    for one in found:
        more = most - one["share"].size
        one["scales"] = np.pad(one["scales"], ((0, 0), (0, more)))
        one["share"] = np.pad(one["share"], (0, more))
    return {name: np.stack([one[name] for one in found]) for name in found[0]}


def program(residuals, finished, told=()):
    """One path of every network is a step.

    Args:
        residuals: ``residuals(inputs, network, w)``: (n, any), whose squares are summed and averaged over examples.
        finished: ``finished(inputs, sampled)``: what is stored, of 2 beta E[L] of each network.
        told: Names of what `residuals` needs of a network, beside its target.
    """
    import jax
    import jax.numpy as jnp

    names = ("place", "centre", "scales", "share", "beta", "pull", "target", *told)

    def parts(inputs, one, z):
        w = one["place"] + one["scales"] @ z
        loss = (residuals(inputs, one, w) ** 2).sum(-1).mean()
        away = w - one["centre"]
        return one["beta"] * loss + 0.5 * one["pull"] * (away**2).sum(), loss

    def path(inputs, one, state, key, warm):
        z, energy, *_, size = state
        first, second, third = jax.random.split(key, 3)
        momentum = jax.random.normal(first, z.shape, z.dtype)
        # Steps of several lengths: narrow places are left by the short ones.
        e = size * 2 ** (-2 * jax.random.uniform(second))

        def leap(_, now):
            z, _, force, _, momentum = now
            momentum = momentum - 0.5 * e * force
            z = z + e * momentum
            (energy, loss), force = slope(inputs, one, z)
            return z, energy, force, loss, momentum - 0.5 * e * force

        tried = jax.lax.fori_loop(0, LEAPS, leap, (*state[:4], momentum))
        more = tried[1] - energy + 0.5 * ((tried[4] ** 2).sum() - (momentum**2).sum())
        chance = jnp.exp(jnp.minimum(0.0, -jnp.nan_to_num(more, nan=jnp.inf)))
        taken = jax.random.uniform(third) < chance
        kept = [jnp.where(taken, a, b) for a, b in zip(tried[:4], state[:4], strict=True)]
        size = jnp.where(warm, size * jnp.exp(0.1 * (chance - ACCEPTED)), size)
        return (*kept, size)

    def slope(inputs, one, z):
        return jax.value_and_grad(lambda z: parts(inputs, one, z), has_aux=True)(z)

    def networks(inputs):
        return {name: inputs[name] for name in names}

    def init(inputs):
        def begin(one):
            z = jnp.zeros_like(one["share"])
            (energy, loss), force = slope(inputs, one, z)
            return z, energy, force, loss, jnp.full((), 0.3, z.dtype)

        state = jax.vmap(begin)(networks(inputs))
        key = lab.key(inputs["root_seed"], inputs["seed"], "chain")
        return state, key, jnp.zeros_like(state[1]), jnp.zeros((), jnp.int32)

    def step(inputs, state):
        chain, key, total, count = state
        key, own = jax.random.split(key)
        count = count + 1
        warm = count <= inputs["max_steps"] // WARM
        each = networks(inputs)
        keys = jax.random.split(own, total.size)
        chain = jax.vmap(lambda one, s, k: path(inputs, one, s, k, warm))(each, chain, keys)
        z, _, force, loss, _ = chain
        control = (each["share"] * (z * force - 1)).sum(-1)
        return chain, key, total + jnp.where(warm, 0, 2 * each["beta"] * loss - control), count

    def finish(inputs, state):
        *_, total, count = state
        kept = count - inputs["max_steps"] // WARM
        return finished(inputs, total / jnp.maximum(kept, 1))

    return Program(
        init,
        step,
        observe=lambda inputs, state: {},
        done=lambda inputs, state, observed: jnp.asarray(CONVERGED, jnp.int8),
        finish=finish,
    )
