"""A study for tests of the engine: a tiny network whose runs last, diverge, raise or kill their process as told.

Which faults happen is said by parameters, so that they are part of a run, except for that of the disk, which is full after as
many syncs as the environment variable ``TOY_FULL_AFTER`` says.
"""

import errno
import math
import os
import signal
from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
import optax

from foretrain import streams
from foretrain.dynamics.program import CONVERGED, RUNNING, STALLED, Program
from foretrain.plans.parameters import parameter
from foretrain.vocabulary import declare

SEEDS = 4
INPUTS, SAMPLES = 3, 5

declare("step unit", toy_row="First row of the first layer.")
declare("unit feature", toy_weights="First layer at the end.")


@dataclass(frozen=True)
class Parameters:
    """Parameters of the toy; a seed number of -1 is no seed."""

    steps: int = parameter(100_000, "most steps", minimum=0)
    observe_every: int = parameter(10, "stride", minimum=1, static=True)
    width: int = parameter(7, "hidden units", minimum=1, static=True)
    precision: str = parameter("float32", "precision", choices=("float32", "float64"), static=True)
    orthogonal: bool = parameter(False, "whether weights start orthogonal", static=True)
    shortest: int = parameter(20, "fewest steps of a run", minimum=1)
    longest: int = parameter(2000, "most steps of a run", minimum=1)
    learning_rate: float = parameter(0.01, "learning rate")
    weight_decay: float = parameter(0.001, "weight decay")
    diverges: int = parameter(-1, "seed that overflows half way")
    raises: int = parameter(-1, "seed whose inputs raise")
    kills: int = parameter(-1, "seed whose inputs kill the process")


def length(parameters, seed):
    """Steps after which a run is done, log-uniform."""
    low, high = math.log(parameters.shortest), math.log(parameters.longest)
    return int(np.exp(streams.generator(seed, "length").uniform(low, high)))


def inputs(parameters, seed):
    """Data of one run."""
    if seed.number == parameters.raises:
        raise ValueError("the toy raises\nas it was told")
    if seed.number == parameters.kills:
        os.kill(os.getpid(), signal.SIGKILL)
    print("toys talk")  # must not end up among a worker's answers
    draw = streams.generator(seed, "data")
    steps, never = length(parameters, seed), np.iinfo(np.int32).max
    return {
        "x": draw.standard_normal((SAMPLES, INPUTS)),
        "y": draw.standard_normal(SAMPLES),
        "length": steps,
        "overflows_at": steps // 2 if seed.number == parameters.diverges else never,
    }


def estimate(parameters):
    """Steps of a typical run."""
    return math.sqrt(parameters.shortest * parameters.longest)


def program(parameters):
    """Two layers trained by AdamW with noise on the input, so that the state holds a key and counters as well."""
    width, dtype = parameters.width, parameters.precision

    def init(inputs):
        key = streams.key(inputs["root_seed"], inputs["seed"], "weights")
        first, second, noise = jax.random.split(key, 3)
        if parameters.orthogonal:
            weights = {
                "first": jax.random.orthogonal(first, width, (4,), dtype)[0, :, :INPUTS],
                "second": jax.random.orthogonal(second, width, (4,), dtype)[0, 0],
            }
        else:
            drawn = streams.normals(first, [(width, INPUTS), (width,)], dtype)
            weights = dict(zip(("first", "second"), drawn, strict=True))
        return weights, optimizer(inputs).init(weights), noise, jnp.zeros((), jnp.int32)

    def optimizer(inputs):
        return optax.adamw(inputs["learning_rate"], weight_decay=inputs["weight_decay"])

    def loss(weights, x, y):
        return jnp.mean((jnp.tanh(x @ weights["first"].T) @ weights["second"] - y) ** 2)

    def step(inputs, state):
        weights, moments, key, count = state
        key, draw = jax.random.split(key)
        x = inputs["x"] + 0.01 * jax.random.normal(draw, inputs["x"].shape, dtype)
        gradient = jax.grad(loss)(weights, x, inputs["y"])
        updates, moments = optimizer(inputs).update(gradient, moments, weights)
        weights = optax.apply_updates(weights, updates)
        count = count + 1
        factor = jnp.where(count >= inputs["overflows_at"], jnp.inf, 1).astype(dtype)
        return jax.tree.map(lambda w: w * factor, weights), moments, key, count

    def observe(inputs, state):
        value = loss(state[0], inputs["x"], inputs["y"])
        return {"loss": value, "toy_row": state[0]["first"][:, 0]}

    def done(inputs, state, observed):
        how = jnp.where(inputs["length"] % 2 == 0, CONVERGED, STALLED)
        return jnp.where(state[3] >= inputs["length"], how, RUNNING).astype(jnp.int8)

    def finish(inputs, state):
        return {"toy_weights": state[0]["first"]}

    return Program(init, step, observe, done, finish)


def _fill_disk(after):
    sync, left = os.fsync, [after]

    def full(descriptor):
        left[0] -= 1
        if left[0] < 0:
            raise OSError(errno.ENOSPC, "No space left on device")
        sync(descriptor)

    os.fsync = full


if "TOY_FULL_AFTER" in os.environ:
    _fill_disk(int(os.environ["TOY_FULL_AFTER"]))
