"""Langevin chains without correction: every step is taken, and none is refused."""

from functools import lru_cache

import numpy as np

from foretrain.arithmetic import arithmetic
from foretrain.study import key

from .study import losses, posterior

CHAINS, LOOKED_AT, PILOT, SHARE = 8, 4, 100, 0.1  # share of the largest stable step
LENGTHS = 2.0 ** -np.arange(24)  # of random displacements, in deviations of the prior


def measure(p, seed):
    """Return beta times the mean loss over Langevin steps of a tenth of the largest stable step; nan if they diverge."""
    with arithmetic("float64"):
        return {"langevin_coefficient": coefficient(posterior(p, seed), p, seed)}


def coefficient(around, p, seed):
    """Return the coefficient by chains that start at w*, a quarter as many steps before those that count.

    A step of size e is stable on a curvature P if e < 4/P. The largest P is the largest of that at w*, that where a random
    displacement costs d/2 or less, and that at the ends of half of the chains after a short run.
    """
    steep, loss, walk = programs()
    scale, fixed = p.localisation**-0.5, (around.data, around.moving.reshape(around.params.shape))
    numbers = p.beta, p.localisation
    random = np.random.default_rng(1).standard_normal(around.params.shape) * fixed[1]
    near = around.params + scale * LENGTHS[:, None, None, None] * random
    costs = p.beta * np.array([loss(place, around.data) for place in near])
    typical = near[np.argmax(costs <= around.moving.sum() / 2)]
    places = np.repeat(around.params[None], CHAINS, 0)
    largest = max(float(steep(place, *numbers, *fixed)) for place in (around.params, typical))
    root = (seed.root, seed.number)
    for name, steps in (
        ("pilot", PILOT),
        ("warm up", p.langevin_steps // 4),
        ("", p.langevin_steps),
    ):
        step = 4 * SHARE / largest
        random = key(*root, f"langevin {name}")
        places = np.where(np.isfinite(places).all((1, 2, 3), keepdims=True), places, around.params)
        places, mean = walk(places, random, around.params, *numbers, step, steps, *fixed)
        if name == "pilot":
            ends = [float(steep(place, *numbers, *fixed)) for place in places[:LOOKED_AT]]
            largest = max(largest, *(end for end in ends if np.isfinite(end)))
    mean = np.asarray(mean)
    return p.beta * mean[np.isfinite(mean)].mean() if np.isfinite(mean).any() else np.nan


@lru_cache(maxsize=1)
def programs():
    """Return jitted functions: the largest curvature of the posterior at a place, the loss there, and Langevin steps."""
    import jax
    import jax.numpy as jnp

    def loss(place, target):
        return losses(place, target).mean()

    def steep(place, beta, localisation, target, moving):
        slope = jax.grad(loss)

        def larger(_, vector):
            image = moving * jax.jvp(lambda w: slope(w, target), (place,), (vector,))[1]
            return image / (jnp.linalg.norm(image) + 1e-300)

        start = moving * jax.random.normal(jax.random.key(0), moving.shape)
        vector = jax.lax.fori_loop(0, 50, larger, start)
        image = jax.jvp(lambda w: slope(w, target), (place,), (vector,))[1]
        return beta * jnp.maximum((vector * image).sum(), 0) + localisation

    def chain(place, random, centre, beta, localisation, step, steps, target, moving):
        def move(at, carry):
            place, total = carry
            value, slope = jax.value_and_grad(loss)(place, target)
            drift = -moving * (beta * slope + localisation * (place - centre))
            fresh = moving * jax.random.normal(jax.random.fold_in(random, at), place.shape)
            return place + step / 2 * drift + step**0.5 * fresh, total + value

        place, total = jax.lax.fori_loop(0, steps, move, (place, 0.0))
        return place, total / steps

    def walk(places, random, *rest):
        keys = jax.random.split(random, len(places))
        return jax.vmap(lambda place, own: chain(place, own, *rest))(places, keys)

    return jax.jit(steep), jax.jit(loss), jax.jit(walk)
