"""Landscapes whose volume is known: what is free of them by exact formula, by volume and by sampling, at every scale."""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from foretrain import study as lab
from foretrain.study import RUNNING, Program, Run, declare, default, parameter
from foretrain.theory import landscapes

SOURCE = (
    "Bushnaq et al. (2024), Using degeneracy in the loss landscape, sections 2.2.2 and 5.1, Fig. 1"
)
COST = "1 min"
REFERENCES = ("bushnaq2024degeneracy", "watanabe2009")
SEEDS = 20
NAMES = ("square", "quartic", "crossover", "plane", "cross", "partial")
AXES = {"landscape": NAMES, "beta": (10.0, 100.0, 1000.0, 10000.0)}
PRESETS = {"paper": {"seeds": 30, "steps": 6000, "beta": (3.0, 10.0, 30.0, 100.0, 1e3, 1e4, 1e5)}}
WALKERS, THROWN = 64, 128  # walkers of a run, and points thrown into the box at every step
SCALES = np.geomspace(1e-5, 1, 26)
declare(
    "step",
    walkers_coefficient="beta times the mean loss of the walkers, over all steps after the first quarter.",
)
declare("scale", share_below="Share of points in the box with a loss below scale.")
declare(
    "between",
    volume_coefficient="Slope of the logarithm of the share below, from each scale to the next.",
)


@dataclass(frozen=True)
class Parameters(Run):
    """Walkers at an inverse temperature in the box [-1, 1]^d, and points thrown into it."""

    landscape: str = parameter(
        "cross",
        "w^2, w^4, c^2 w^2 + w^4, w1^2 in three parameters, w1^2 w2^2, or w1^2 w2^4",
        choices=NAMES,
        static=True,
    )
    beta: float = parameter(100.0, "inverse temperature of the loss", above=0)
    c: float = parameter(0.3, "root of the curvature of `crossover`", above=0, static=True)
    steps: int = default(1600)
    observe_every: int = default(100)


@lru_cache(maxsize=32)
def of(name: str, c: float) -> landscapes.Landscape:
    """The landscape of that name."""
    return {
        "square": lambda: landscapes.power(1),
        "quartic": lambda: landscapes.power(2),
        "crossover": lambda: landscapes.crossover(c),
        "plane": landscapes.plane,
        "cross": landscapes.product,
        "partial": lambda: landscapes.product(1, 2),
    }[name]()


def labels(p):
    """The scales, and the middle of each pair of neighbours."""
    return {"scale": SCALES, "between": np.sqrt(SCALES[1:] * SCALES[:-1])}


def program(p):
    """Metropolis steps of one coordinate, of lengths from .001 to 2: exact, and narrow arms are no hurdle."""
    import jax
    import jax.numpy as jnp

    landscape = of(p.landscape, p.c)
    shape = (WALKERS, landscape.dimension)
    edges = jnp.asarray(SCALES, p.precision)

    def init(inputs):
        key = lab.key(inputs["root_seed"], inputs["seed"], "walkers")
        return (
            key,
            jnp.zeros(shape, p.precision),
            jnp.zeros(()),
            jnp.zeros(()),
            jnp.zeros(edges.size),
        )

    def step(inputs, state):
        key, place, total, count, below = state
        key, which, size, change, chance, thrown = jax.random.split(key, 6)
        axis = jax.random.randint(which, (WALKERS, 1), 0, shape[1]) == jnp.arange(shape[1])
        length = jnp.exp(
            jax.random.uniform(size, (WALKERS, 1), minval=jnp.log(1e-3), maxval=jnp.log(2.0))
        )
        tried = place + axis * length * jax.random.normal(change, (WALKERS, 1))
        gain = inputs["beta"] * (landscape.loss(place) - landscape.loss(tried))
        taken = (jnp.abs(tried) <= 1).all(1) & (
            jnp.log(jax.random.uniform(chance, (WALKERS,))) < gain
        )
        place = jnp.where(taken[:, None], tried, place)
        points = jax.random.uniform(thrown, (THROWN, shape[1]), minval=-1.0)
        below = below + (landscape.loss(points)[:, None] < edges).mean(0)
        count = count + 1
        settled = count > inputs["max_steps"] / 4
        return key, place, total + settled * landscape.loss(place).mean(), count, below

    def observe(inputs, state):
        _, place, total, count, _ = state
        steps = count - jnp.floor(inputs["max_steps"] / 4)
        mean = jnp.where(steps > 0, total / jnp.maximum(steps, 1), landscape.loss(place).mean())
        return {"walkers_coefficient": inputs["beta"] * mean}

    return Program(
        init,
        step,
        observe,
        done=lambda inputs, state, observed: jnp.int8(RUNNING),
        finish=lambda inputs, state: {"share_below": state[4] / state[3]},
    )


def predict(p, step):
    """Both curves by exact formula; that over scale as the mean of the exact slope from each scale to the next."""
    landscape = of(p.landscape, p.c)
    node, weight = np.polynomial.legendre.leggauss(8)
    low, high = np.log(SCALES[:-1, None]), np.log(SCALES[1:, None])
    slopes = landscape.by_volume(np.exp((high + low) / 2 + node * (high - low) / 2))
    return {
        "walkers_coefficient": np.full(len(step), float(landscape.by_temperature(p.beta))),
        "volume_coefficient": slopes @ weight / 2,
    }
