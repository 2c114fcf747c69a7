"""The training of study ``context``: gated pathways, or a ReLU network with cues of the context among its inputs."""

import numpy as np

from foretrain.graph import Graph
from foretrain.study import Program, Seed, generator
from foretrain.tasks.gated_data import GatedData
from foretrain.tasks.logic import contextual, pathways_graph
from foretrain.training.pathways import descent, random_weights

from .study import Parameters


def data(p: Parameters, seed: Seed) -> GatedData:
    """Examples of one run, all of context 1 first; a ReLU network is shown the samples whatever `moments` says."""
    drawn = p.moments == "samples" or p.network == "relu"
    return contextual(
        p.hidden_width,
        gating=p.gating,
        samples=p.samples if drawn else None,
        generator=generator(seed, "data"),
    )


def in_first_context(shown: GatedData) -> np.ndarray:
    """Return True for each example of the first context, shape (sample,)."""
    return np.arange(shown.samples) < shown.samples // 2


def cued_inputs(shown: GatedData) -> np.ndarray:
    """Inputs of a ReLU network: x and one cue per context, shape (sample, 4)."""
    first = in_first_context(shown)
    return np.concatenate([shown.inputs["x"], np.stack([first, ~first], axis=1)], axis=1)


def network(p: Parameters) -> Graph:
    """Return the graph of the network, for a ReLU network that of the one pathway whose units it rectifies."""
    if p.network == "relu":
        return pathways_graph(1, p.hidden_width, input_width=4)
    return pathways_graph(2 if p.gating == "per_context" else 1, p.hidden_width)


def start_weights(p: Parameters, seed: Seed) -> dict[str, np.ndarray]:
    """Initial weights of one run, edge name to array."""
    return random_weights(network(p), p, seed)


def inputs(p: Parameters, seed: Seed) -> dict[str, np.ndarray]:
    shown, relu = data(p, seed), p.network == "relu"
    return {
        "x": cued_inputs(shown) if relu else shown.inputs["x"],
        "y": shown.targets["y"],
        **{f"gate_{name}": gate for name, gate in ({} if relu else shown.gates).items()},
        **{f"start_{name}": value for name, value in start_weights(p, seed).items()},
    }


def program(p: Parameters) -> Program:
    import jax.numpy as jnp

    shape, relu = network(p), p.network == "relu"

    def task(inputs):
        gates = {name[5:]: gate for name, gate in inputs.items() if name.startswith("gate_")}
        return inputs["x"], inputs["y"], gates

    def finish(weights):
        if not relu:
            pathways = range(1, len(shape.hidden) + 1)
            totals = [(weights[f"out{k}"] @ weights[f"in{k}"])[0] for k in pathways]
            return {"total_weights": jnp.stack(totals)}
        part = jnp.sqrt((weights["in1"] ** 2).sum(1)) * jnp.abs(weights["out1"][0])
        return {"relu_input_weights": weights["in1"], "unit_contribution": part / part.sum()}

    return descent(shape, task, lambda answer, y: {}, finish, relu=relu)
