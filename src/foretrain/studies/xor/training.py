"""The training of study ``xor``: a ReLU network, or four pathways, on the four examples."""

import numpy as np

from foretrain.arithmetic import float_type
from foretrain.graph import Graph
from foretrain.study import Program, Seed, generator
from foretrain.tasks.logic import pathways_graph, xor
from foretrain.tasks.statistics import gather_statistics
from foretrain.theory.gated import reduced_dynamics
from foretrain.theory.gated.reduction import find_reduction
from foretrain.training.pathways import descent, random_weights

from .study import Parameters, decoupled_strength


def network(p: Parameters) -> Graph:
    """Return the graph of the network: four pathways, or the one whose units a ReLU network rectifies."""
    return pathways_graph(4 if p.network == "gated" else 1, p.hidden_width)


def start_weights(p: Parameters, seed: Seed) -> dict[str, np.ndarray]:
    """Return the initial weights of one run, edge name to array: normal, or on the submanifold of the reduction."""
    if p.init_law == "normal":
        return random_weights(network(p), p, seed)
    reduction = find_reduction(gather_statistics(xor(p.hidden_width)))
    state = reduced_dynamics.decoupled_start(decoupled_strength(p), reduction)
    frames = reduced_dynamics.hidden_frames(reduction, generator(seed, "weights"))
    return reduced_dynamics.decoupled_weights(state, frames, reduction)


def inputs(p: Parameters, seed: Seed) -> dict[str, np.ndarray]:
    return {f"start_{name}": value for name, value in start_weights(p, seed).items()}


def program(p: Parameters) -> Program:
    import jax.numpy as jnp

    dtype, data, shape = float_type(p.precision), xor(1), network(p)

    def task(_):
        # Kept as NumPy until traced: outside the run's own context float64 would be lost.
        gates = {name: value.astype(dtype) for name, value in data.gates.items()}
        return data.inputs["x"].astype(dtype), data.targets["y"].astype(dtype), gates

    def observe(answer, y):
        return {"example_strength": (answer * y)[:, 0] / np.sqrt(2).astype(dtype)}

    def finish(weights):
        pathways = range(1, len(shape.hidden) + 1)
        return {
            "input_weights": jnp.concatenate([weights[f"in{k}"] for k in pathways]),
            "output_weights": jnp.concatenate([weights[f"out{k}"][0] for k in pathways]),
        }

    relu, flow = p.network == "relu", p.dynamics == "flow"
    return descent(shape, task, observe, finish, relu=relu, flow=flow)
