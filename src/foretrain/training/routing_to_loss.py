"""A routing network of hierarchical items, trained from a random orthogonal start to a loss and not for a number of steps."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from foretrain.dynamics.program import CONVERGED, RUNNING, STALLED, Program
from foretrain.networks.routing_start import Weights, random_start
from foretrain.plans.blocks import Training
from foretrain.plans.parameters import default, parameter
from foretrain.streams import Seed, generator
from foretrain.training.routing import Items, Routes, item_ends, items_task, mask
from foretrain.vocabulary import declare

declare(
    converged_loss="Training loss where the run ended.",
    converged_untrained_error="Mean over untrained routes and items of 1/2 |error|^2 where the run ended; nan without any.",
)
declare(
    "layer",
    weight_change="Change of a layer's weights since the start, relative to their size there.",
)


@dataclass(frozen=True)
class ToLoss(Items, Routes, Training):
    """Parameters of a network that is trained to a loss."""

    loss_tolerance: float = default(
        1e-4, "a run has converged when its loss is at most this", minimum=None, above=0
    )
    patience: int = parameter(
        8000,
        "a run is stuck when its loss falls by less than 1% in so many steps",
        minimum=1,
        maximum=10**9,
    )

    @property
    def rate(self) -> float:
        """Return the step of descent at the run's own scale."""
        return self.learning_rate


def start(p: Any, seed: Seed) -> Weights:
    """Return the weights at scale 1: one seed has one start, for every mask and scale."""
    data = items_task(p.level_weights)
    sizes = data.inputs.shape[1], data.targets.shape[1]
    return random_start(generator(seed, "weights"), p.domains, p.hidden_width, *sizes)


def zero_error(p: Any) -> float:
    """Return the error of answering zero, <|y|^2>/2, in units of which errors are judged."""
    return items_task(p.level_weights).output_power / 2


def inputs(p: Any, seed: Seed) -> dict[str, Any]:
    """Return data, trained pairs, the step and the start of one run."""
    data = items_task(p.level_weights)
    return {
        "task_inputs": data.inputs,
        "task_targets": data.targets,
        "trained_pairs": mask(p, seed).astype(float),
        "rate": np.float64(p.rate),
        **{f"start_{name}": p.init_scale * w for name, w in start(p, seed)._asdict().items()},
    }


def program(p: Any) -> Program:
    """Return the program of a routing network trained to a loss, seen by its errors alone while it learns.

    A run ends as converged at `loss_tolerance`, and as stalled when a stretch of `patience` steps brought the loss down
    by less than 1%.
    """
    import jax
    import jax.numpy as jnp

    from foretrain.dynamics.direction import gradient_gap
    from foretrain.networks import routing as network

    def first(inputs):
        return Weights(*(inputs[f"start_{name}"] for name in Weights._fields))

    def errors(weights, inputs):
        return network.pair_errors(weights, inputs["task_inputs"], inputs["task_targets"])

    def loss(weights, inputs):
        return network.mean_over(inputs["trained_pairs"], errors(weights, inputs))

    def init(inputs):
        weights = first(inputs)
        value, slope = jax.value_and_grad(loss)(weights, inputs)
        data = inputs["task_inputs"], inputs["task_targets"], inputs["trained_pairs"]
        reference = network.negative_gradient(weights, *data)
        gap = gradient_gap(jax.tree.map(jnp.negative, slope), reference)
        return weights, (value, jnp.zeros((), jnp.int32), jnp.zeros((), jnp.int8)), gap

    def step(inputs, state):
        weights, (mark, taken, stuck), gap = state
        value, slope = jax.value_and_grad(loss)(weights, inputs)
        weights = jax.tree.map(lambda w, g: w - inputs["rate"] * g, weights, slope)
        due = taken >= inputs["patience"]
        stuck = jnp.where(due & (value > 0.99 * mark), jnp.int8(1), stuck)
        return weights, (jnp.where(due, value, mark), jnp.where(due, 0, taken + 1), stuck), gap

    def observe(inputs, state):
        error, trained = errors(state[0], inputs), inputs["trained_pairs"]
        return {
            "loss": network.mean_over(trained, error),
            "untrained_error": network.mean_over(1 - trained, error),
        }

    def done(inputs, state, observed):
        outcome = jnp.where(state[1][2] > 0, STALLED, RUNNING)
        reached = observed["loss"] <= inputs["loss_tolerance"]
        return jnp.where(reached, CONVERGED, outcome).astype(jnp.int8)

    def finish(inputs, state):
        weights, _, gap = state
        trained, last = inputs["trained_pairs"], observe(inputs, state)
        some = (1 - trained).sum() > 0
        size = lambda a: jnp.sqrt((a**2).sum())  # noqa: E731
        change = [size(w - w0) / size(w0) for w, w0 in zip(weights, first(inputs), strict=True)]
        return {
            "converged_loss": last["loss"],
            "converged_untrained_error": jnp.where(some, last["untrained_error"], jnp.nan),
            "pair_error": errors(weights, inputs),
            "trained_pairs": trained,
            "weight_change": jnp.stack(change),
            "gradient_gap": gap,
            **item_ends(weights),
        }

    return Program(init, step, observe, done, finish)
