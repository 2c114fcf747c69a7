"""A small toy model in double precision, walks of it and of other networks, and their gradients by finite differences."""

from functools import cache

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from foretrain.plans.study import traced
from foretrain.streams import Seed
from foretrain.training import embedding as toy
from foretrain.training import image_perceptron, transformer

SEED = Seed(0, 1)
SMALL = toy.Toy(hidden_width=12, target_dim=5, precision="float64")


ROOMS = {
    toy.Toy: toy,
    transformer.Modular: transformer,
    image_perceptron.ImagePerceptron: image_perceptron,
}


def room(p):
    return next(room for kind, room in ROOMS.items() if isinstance(p, kind))


def inputs_of(p, seed=SEED, **changed):
    """Inputs of a run as its program gets them."""
    own = {"root_seed": np.uint32(seed.root), "seed": np.uint32(seed.number)}
    shared = getattr(room(p), "shared", lambda p: {})(p)
    values = {**traced(p), **shared, **room(p).inputs(p, seed), **own, **changed}
    return {name: jnp.asarray(value) for name, value in values.items()}


@cache
def compiled(p, wide):
    """The walk of so many steps, what is observed, and what is stored once, each compiled once."""
    program = room(p).program(p)

    def walk(steps, inputs):
        return jax.lax.fori_loop(
            0, steps, lambda _, s: program.step(inputs, s), program.init(inputs)
        )

    return jax.jit(walk), jax.jit(program.observe), program.finish and jax.jit(program.finish)


def trained(p, steps, inputs):
    return compiled(p, toy.WIDE)[0](steps, inputs)


def observed(p, inputs, state):
    return compiled(p, toy.WIDE)[1](inputs, state)


def finals(p, inputs, state):
    return compiled(p, toy.WIDE)[2](inputs, state)


def check_first_gradient(p, inputs, loss):
    """Hold that the first step of AdamW takes the gradient of ``loss(state)`` that finite differences give."""
    state, moved = trained(p, 0, inputs), trained(p, 1, inputs)
    random, size = np.random.default_rng(0), 1e-6
    for field in ("embedding", "decoder"):
        weights, memory = getattr(state, field), getattr(moved, f"{field}_memory")
        # After one step Adam's first moment is a tenth of the gradient.
        slope = jax.tree.map(lambda m: 10 * np.asarray(m), memory[0].mu)
        way = jax.tree.map(lambda w: random.standard_normal(w.shape), weights)
        there, back = (
            loss(state._replace(**{field: jax.tree.map(lambda w, v, k=k: w + k * v, weights, way)}))
            for k in (size, -size)
        )
        pairs = zip(jax.tree.leaves(slope), jax.tree.leaves(way), strict=True)
        along = sum((s * v).sum() for s, v in pairs)
        assert (there - back) / (2 * size) == pytest.approx(along, rel=1e-5)
