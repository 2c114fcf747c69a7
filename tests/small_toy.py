"""A small toy model in double precision, and its inputs as its program gets them."""

import jax.numpy as jnp
import numpy as np

from foretrain.plans.study import traced
from foretrain.streams import Seed
from foretrain.training import embedding as toy

SEED = Seed(0, 1)
SMALL = toy.Toy(hidden_width=12, target_dim=5, precision="float64")


def given(p, seed=SEED, **changed):
    """Inputs of a run as its program gets them."""
    own = {"root_seed": np.uint32(seed.root), "seed": np.uint32(seed.number)}
    values = {**traced(p), **toy.shared(p), **toy.inputs(p, seed), **own, **changed}
    return {name: jnp.asarray(value) for name, value in values.items()}
