"""Programs for the tests of lanes: small, with a random start, and with every way to end."""

import jax
import jax.numpy as jnp
import numpy as np

from foretrain.dynamics.program import CONVERGED, RUNNING, STALLED, Completed
from foretrain.engine.lanes import Passenger
from foretrain.streams import key


def cubic(precision: str = "float32", stride: int = 5) -> Completed:
    """Shrinks a random matrix by products, sines and an SVD, so that the last bits depend on every operation.

    A `growth` makes it diverge, a `tolerance` lets it converge, and with a rate of 0 it stalls.
    """

    def init(inputs):
        random = key(inputs["root_seed"], inputs["seed"], "weights")
        weights = inputs["scale"] * jax.random.normal(random, (5, 4), jnp.dtype(precision))
        return {"weights": weights, "random": random}

    def step(inputs, state):
        weights = state["weights"]
        slope = jnp.sin(weights @ (weights.T @ weights))
        slope = slope + inputs["growth"] * weights
        return {"weights": weights - inputs["rate"] * slope, "random": state["random"]}

    def observe(inputs, state):
        singular = jnp.linalg.svd(state["weights"], compute_uv=False)
        return {"loss": (singular**4).sum(), "singular": singular}

    def done(inputs, state, observed):
        reached = observed["loss"] < inputs["tolerance"]
        still = inputs["rate"] == 0
        return jnp.where(reached, CONVERGED, jnp.where(still, STALLED, RUNNING)).astype(jnp.int8)

    return Completed(
        init,
        step,
        observe,
        done=done,
        finish=lambda inputs, state: {"weights": state["weights"]},
        observe_every=stride,
        precision=precision,
    )


def passenger(
    number: int, *, rate=0.05, scale=0.5, growth=0.0, tolerance=0.0, max_steps=50
) -> Passenger:
    """A run known by its number, which is its seed as well."""
    inputs = {"rate": rate, "scale": scale, "growth": growth, "tolerance": tolerance}
    inputs = {name: np.float64(value) for name, value in inputs.items()}
    inputs |= {"root_seed": 3, "seed": number, "max_steps": max_steps}
    return Passenger(f"{number:032x}", inputs)
