"""Landscapes whose volume is known: what is free of them by exact formula, by volume and by sampling, at every scale."""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from foretrain import study
from foretrain.study import Sampling, declare, default, generator, parameter
from foretrain.theory import landscapes

SOURCE = (
    "Bushnaq et al. (2024), Using degeneracy in the loss landscape, sections 2.2.2 and 5.1, Fig. 1"
)
COST = "2 min"
REFERENCES = ("bushnaq2024degeneracy", "watanabe2009")
SEEDS = 10
REVISION = 2
NAMES = ("square", "quartic", "crossover", "plane", "cross", "partial")
AXES = {"landscape": NAMES, "beta": (10.0, 100.0, 1000.0, 10000.0)}
PRESETS = {"paper": {"seeds": 30, "beta": (3.0, 10.0, 30.0, 100.0, 1e3, 1e4, 1e5)}}
SCALES = np.geomspace(1e-5, 1, 26)
declare("scale", share_below="Fraction of points in the box with a loss below scale.")


@dataclass(frozen=True)
class Parameters(Sampling):
    """Points thrown into the box [-1, 1]^d, and chains in it at an inverse temperature."""

    landscape: str = parameter(
        "cross",
        "w^2, w^4, c^2 w^2 + w^4, w1^2 in three parameters, w1^2 w2^2, or w1^2 w2^4",
        choices=NAMES,
    )
    beta: float = parameter(100.0, "inverse temperature of the loss", above=0)
    c: float = parameter(0.3, "root of the curvature of `crossover`", above=0)
    points: int = parameter(400_000, "points thrown into the box", minimum=1000, maximum=10**8)
    gradients: int = default(4_000_000)


@lru_cache(maxsize=32)
def landscape_of(name: str, c: float) -> landscapes.Landscape:
    return {
        "square": lambda: landscapes.power(1),
        "quartic": lambda: landscapes.power(2),
        "crossover": lambda: landscapes.crossover(c),
        "plane": landscapes.plane,
        "cross": landscapes.product,
        "partial": lambda: landscapes.product(1, 2),
    }[name]()


def labels(p):
    return {"scale": SCALES}


def measure(p, seed):
    """Fraction of points with a loss below each scale, of points drawn uniformly from the box."""
    landscape, random = landscape_of(p.landscape, p.c), generator(seed, "points")
    losses = landscape.loss(random.uniform(-1, 1, (p.points, landscape.dimension)))
    return {"share_below": np.searchsorted(np.sort(losses), SCALES) / p.points}


def posterior(p, seed):
    """The density exp(-beta L) of the box, in coordinates z whose standard normal localisation is its uniform measure."""
    at = np.zeros(landscape_of(p.landscape, p.c).dimension)
    return study.posterior(losses(p.landscape, p.c), at, np.zeros(1), beta=p.beta)


@lru_cache(maxsize=32)
def losses(name: str, c: float):
    """The loss at w = erf(z/sqrt 2), of one example; one function object per landscape, so that it is compiled once."""
    import jax

    loss = landscape_of(name, c).loss
    return lambda z, data: loss(jax.scipy.special.erf(z / 2**0.5))[None] + 0 * data


def predict(p, step):
    """The learning coefficient at the inverse temperature, by its formula."""
    return {"learning_coefficient": float(landscape_of(p.landscape, p.c).by_temperature(p.beta))}
