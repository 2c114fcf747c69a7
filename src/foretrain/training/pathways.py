"""Networks of parallel pathways: start, training, and the candidate gating that trained ReLU units take."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from foretrain.dynamics.program import Program
from foretrain.graph import Graph
from foretrain.networks.gated import initial_weights
from foretrain.plans.blocks import Training
from foretrain.plans.grid import Grid
from foretrain.plans.parameters import choice, default, parameter, size
from foretrain.quantities.allowed import POSITIVE
from foretrain.quantities.cell import Cell
from foretrain.quantities.gates import lead_of_fastest
from foretrain.streams import Seed, generator

SOLVED = 1e-12  # least squares in float64 reach zero to rounding; gatings that cannot solve a task leave far more


@dataclass(frozen=True)
class Pathways(Training):
    """Parameters of networks of pathways, and of the ReLU networks beside them."""

    network: str = choice("linear pathways with gates, or a ReLU network", ("gated", "relu"))
    hidden_width: int = size(128, "N_h, units of the ReLU network and of every pathway", 10**5)
    init_scale: float = parameter(
        2e-4, "standard deviation of the initial weights of both layers", symbol="σ_0", above=0
    )
    steps: int = default(4000)


def random_weights(graph: Graph, p: Pathways, seed: Seed) -> dict[str, np.ndarray]:
    """Independent normal initial weights of one run, edge name to array; paired over scales."""
    random = generator(seed, "weights")
    return initial_weights(graph, random, law="normal", init_scale=p.init_scale)


def descent(
    graph: Graph,
    task: Callable,
    observe: Callable,
    finish: Callable,
    *,
    relu: bool,
    flow: bool = False,
) -> Program:
    """Descent of the mean of 1/2 |error|^2, or its flow with the same step, from the weights in ``start_<edge>``.

    ``task(inputs)`` gives inputs, targets and gates by name, in the program's dtype, ``observe(answer, y)`` what is stored
    beside the loss, ``finish(weights)`` what is stored at the end. A ReLU network (`relu`) has no gates, and `graph` is the
    one pathway whose units it rectifies; with `flow` a step is one of the flow's solver.
    """
    import jax
    import jax.numpy as jnp

    from foretrain.dynamics.adaptive import fixed_step
    from foretrain.networks import gated, perceptron

    def answered(weights, inputs):
        x, y, gates = task(inputs)
        if relu:
            return perceptron.forward(weights, x), y
        return gated.forward(graph, weights, {"x": x}, gates)["y"], y

    def loss(weights, inputs):
        answer, y = answered(weights, inputs)
        return 0.5 * ((y - answer) ** 2).mean()

    def init(inputs):
        return {name: inputs[f"start_{name}"] for name in graph.shape}

    def step(inputs, weights):
        rate = inputs["learning_rate"]
        velocity = lambda w, data: jax.tree.map(jnp.negative, jax.grad(loss)(w, data))  # noqa: E731
        if flow:
            return fixed_step(velocity, weights, inputs, rate)
        return jax.tree.map(lambda w, v: w + rate * v, weights, velocity(weights, inputs))

    def observed(inputs, weights):
        return {"loss": loss(weights, inputs), **observe(*answered(weights, inputs))}

    return Program(init, step, observed, finish=lambda inputs, weights: finish(weights))


def by_gating(cell: Cell | Grid, name: str) -> np.ndarray:
    """Return a predicted or fitted number of every candidate gating, shape (seed, gating)."""
    return cell.by_seed(name).transpose("seed", "gating").values


def lead(cell: Cell | Grid, among: np.ndarray | bool = True) -> np.ndarray:
    """Return how much closer trained gates come to the gating predicted to be fastest than to any other that solves.

    That is agreement with the fastest less that with the best of the others, (seed,); `among` (seed, gating) may be fastest.
    """
    solves = by_gating(cell, "gating_final_loss") < SOLVED
    times = np.where(solves & among, by_gating(cell, "gating_time"), np.inf)
    return lead_of_fastest(times, by_gating(cell, "gating_agreement"), solves)


FASTEST: dict[str, Any] = {
    "source": "Saxe, Sodhani & Lewallen (2022), section 4.2 on who wins a race, taken to ReLU gates",
    "inside": POSITIVE,
    "why": "Closer to this gating than to any other: a positive difference.",
    "at_end": True,
    "note": "Agreement of trained gates with the fastest gating, less that with the best of the others that solve the task.",
}
