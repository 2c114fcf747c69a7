"""Hamiltonian trajectories of many chains side by side, in units of curvature if so asked; Metropolis takes or refuses each.

Of the density exp(-beta L(w* + r u) - |u|^2/2), r = gamma^(-1/2) the width of the prior. In coordinates q with u = S q momenta
p are of unit variance; S is
(1 + beta H)^(-1/2) in the directions of curvature that are given and 1 in all others. Steps vary from trajectory to
trajectory, from 1.2 to .12 of what is fitted: without the short ones chains rarely leave or enter the narrow ends of valleys,
and estimates around singular points are too low by half of their error.

Reversal of a trajectory exchanges (q, p) and (q', -p') and leaves its acceptance a as it is: at stationarity the mean of
a (q' . p' + q . p) is 0, of any leaf of the parameters alone where S = 1. Chains that spread from where they began have more.
"""

from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from foretrain.degeneracy.sampled import noise
from foretrain.degeneracy.sampled.posterior import Losses
from foretrain.lazy import flatten_util, jax, jnp

WANTED = 0.8  # acceptance to which steps are fitted
BLOCK = 64  # draws of one call, and products with the Hessian side by side
SMALL = 64  # parameters up to which shapes do not tell how many directions are known
MODES = 1024  # directions of curvature at most, where not all are known


class Draws(NamedTuple):
    """Numbers kept of every draw, shape (chain, draw), the last (chain, draw, leaf).

    Attributes:
        loss, square: Mean loss and |u|^2, means over the steps of the trajectory, each taken or refused by itself: a
            trajectory of any number of steps leaves the density as it is, so that with acceptances a_k the mean over k of
            a_k f_k + (1 - a_k) f_0 has the mean of f.
        beyond: Distance of the loss from the quadratic of the curvature that is given, at the end.
        accepted: Acceptance of the trajectory.
        drift: By leaf, acceptance times the sum of q . p at both ends over the length; its mean is 0 at stationarity.
    """

    loss: Any
    square: Any
    beyond: Any
    accepted: Any
    drift: Any


def curvature(posterior, data, mask, width: float, affordable: int):
    """Directions (d, k) and eigenvalues (k,) of the Hessian of the mean loss by u at w*, and True where they are all.

    All of them where `affordable` products allow, else the largest by two steps of subspace iteration. Of up to `SMALL`
    parameters k is always d, so that one program serves with curvature and without.
    """
    d, moving = len(mask), np.flatnonzero(mask)
    product = _products(posterior.losses)

    def times(vectors):
        blocks = [vectors[:, at : at + BLOCK] for at in range(0, vectors.shape[1], BLOCK)]
        padded = [np.pad(block, ((0, 0), (0, BLOCK - block.shape[1]))) for block in blocks]
        products = [np.asarray(product(block.astype(mask.dtype), *data), float) for block in padded]
        return np.concatenate(products, 1)[:, : vectors.shape[1]] * mask[:, None]

    whole = len(moving) <= min(affordable, 2 * MODES)
    count = len(moving) if whole else min(affordable // 3, MODES, len(moving))
    vectors, values = np.zeros((d, count)), np.zeros(count)
    if whole:
        matrix = times(np.eye(d)[:, moving])[moving]
        values, vectors[moving] = np.linalg.eigh((matrix + matrix.T) / 2)
    elif count:
        random = np.random.default_rng(0)
        basis = np.linalg.qr(random.standard_normal((d, count)) * mask[:, None])[0]
        for _ in range(2):
            basis = np.linalg.qr(times(basis))[0]
        values, turn = np.linalg.eigh(basis.T @ times(basis))
        vectors = basis @ turn
    values = width**2 * np.where(values > 1e-12 * values.max(initial=0), values, 0)
    if d <= SMALL:
        vectors, values = np.pad(vectors, ((0, 0), (0, d - count))), np.pad(values, (0, d - count))
    return (vectors.astype(mask.dtype), values), whole


@lru_cache(maxsize=64)
def _products(losses: Losses):
    """Jitted H V at w*, of V (d, k)."""

    def run(vectors, params, data):
        centre, unravel = flatten_util.ravel_pytree(params)
        slope = jax.grad(lambda w: losses(unravel(w), data).mean())
        return jax.vmap(lambda v: jax.jvp(slope, (centre,), (v,))[1], 1, 1)(vectors)

    return jax.jit(run)


@lru_cache(maxsize=64)
def program(losses: Losses, leaves: int):
    """Jitted draws of all chains: Hamiltonian trajectories in units of curvature, their steps fitted at some rate."""

    def chain(
        u, log_step, words, beta, steps, draws, rate, width, metric, mask, leaf, params, data
    ):
        centre, unravel = flatten_util.ravel_pytree(params)
        both = jax.value_and_grad(lambda u: losses(unravel(centre + width * u), data).mean())
        vectors, curvatures = metric
        unit = (1 + beta * curvatures) ** -0.5
        stretched = lambda v, by: v + vectors @ ((by - 1) * (vectors.T @ v))  # noqa: E731
        key = noise.keys(words)

        def taken(first, last):
            gain = beta * (first[0] - last[0]) + (first[1:] - last[1:]).sum() / 2
            return jnp.where(jnp.isfinite(gain), jnp.exp(jnp.minimum(gain, 0)), 0)

        def draw(number, carry):
            u, log_step, kept = carry
            pushed, jittered, decided = jax.random.split(jax.random.fold_in(key, number), 3)
            share = 1.2 * jnp.exp(-2.3 * jax.random.uniform(jittered, (), u.dtype) ** 2)
            h = jnp.exp(log_step) * share
            momentum = mask * jax.random.normal(pushed, u.shape, u.dtype)
            begin = stretched(u, 1 / unit)

            def leap(at, state):  # the first has no length: loss and force of the start
                place, momentum, first, _, push, sums = state
                long = jnp.where(at == 0, 0, h)
                momentum = momentum + long / 2 * push
                place = place + long * momentum
                there = stretched(place, unit)
                loss, slope = both(there)
                push = -stretched(mask * (beta * slope + there), unit)
                momentum = momentum + long / 2 * push
                here = jnp.stack([loss, there @ there, momentum @ momentum])
                first = jnp.where(at == 0, here, first)
                likely = taken(first, here)
                mixed = jnp.where(likely > 0, likely * here, 0) + (1 - likely) * first
                return place, momentum, first, here, push, sums + jnp.where(at == 0, 0, mixed)

            none = jnp.zeros(3, u.dtype)
            state = begin, momentum, none, none, jnp.zeros_like(u), none
            state = jax.lax.fori_loop(0, steps + 1, leap, state)
            place, after, first, last, _, sums = state
            there, likely = stretched(place, unit), taken(first, last)
            turned = jax.ops.segment_sum(place * after + begin * momentum, leaf, leaves)
            drift = jnp.where(likely > 0, likely * turned, 0) / (steps * h)
            yes = jax.random.uniform(decided, (), u.dtype) < likely
            u, loss = jnp.where(yes, there, u), jnp.where(yes, last, first)[0]
            quadratic = (curvatures * (vectors.T @ u) ** 2).sum() / 2
            means = sums / steps
            new_draw = Draws(means[0], means[1], jnp.abs(loss - quadratic), likely, drift)
            kept = jax.tree.map(lambda all_, new: all_.at[number].set(new), kept, new_draw)
            return u, log_step + rate * (likely - WANTED), kept

        number = jnp.zeros(BLOCK, u.dtype)
        kept = Draws(number, number, number, number, jnp.zeros((BLOCK, leaves), u.dtype))
        return jax.lax.fori_loop(0, draws, draw, (u, log_step, kept))

    return jax.jit(jax.vmap(chain, in_axes=(0, 0, 0, 0, *[None] * 9)))


def refitted(log_step, draws):
    """Return logarithms of steps, fitted anew by the acceptance of the chains' draws."""
    return log_step + np.clip(draws.accepted.mean(1) - WANTED, -0.7, 0.2)


def beyond(draws, start_loss) -> float:
    """Return the share of the mean loss that the quadratic in units of which chains move does not explain."""
    return float(draws.beyond.mean() / max(abs(draws.loss.mean() - start_loss), 1e-300))
