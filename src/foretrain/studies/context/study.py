"""Report the first input in one context, the second in the other: one linear pathway cannot, one per context can."""

from dataclasses import dataclass

import numpy as np
import xarray as xr

from foretrain.claims.claim import Claim
from foretrain.dynamics.program import RUNNING, Program
from foretrain.networks.gated import initial_weights
from foretrain.plans.grid import LabelledRuns, judge_cells
from foretrain.plans.parameters import parameter
from foretrain.streams import generator
from foretrain.tasks.gated_data import GatedData
from foretrain.tasks.logic import contextual, pathways_graph
from foretrain.vocabulary import Variable, declare

SOURCE = "Saxe, Sodhani & Lewallen (2022), appendix A.2"
COST = "20 s"
REFERENCES = ("saxe2022", "flesch2022")
# The document gives no sizes; its preset has smaller steps and more samples.
PRESETS = {"paper": {"learning_rate": 0.0125, "steps": 16000, "observe_every": 80, "samples": 1000}}


# The gated networks that are trained and predicted: gating, and moments of the inputs.
NETWORKS = {
    "per-context": ("per_context", "exact"),
    "always-on": ("always_on", "exact"),
    "per-context-samples": ("per_context", "samples"),
    "always-on-samples": ("always_on", "samples"),
}


@dataclass(frozen=True)
class Parameters:
    """Parameters of the study; each field's rule says what it may be."""

    network: str = parameter(
        "gated",
        "linear pathways with gates, or a two-layer ReLU network told the context by two further inputs",
        choices=("gated", "relu"),
        static=True,
    )
    gating: str = parameter(
        "per_context",
        "gated only: a pathway per context, or a single one that is always on",
        choices=("per_context", "always_on"),
        static=True,
    )
    moments: str = parameter(
        "exact",
        "four inputs whose second moments are exactly those of the uniform law, or random samples of it",
        choices=("exact", "samples"),
        static=True,
    )
    samples: int = parameter(
        200, "inputs drawn, each shown in both contexts", minimum=2, maximum=10**6, static=True
    )
    hidden_width: int = parameter(
        64, "units of every pathway and of the ReLU network", minimum=1, static=True
    )
    init_scale: float = parameter(
        1e-3, "sigma_0, standard deviation of the initial weights of both layers", above=0
    )
    learning_rate: float = parameter(0.05, "step of gradient descent", above=0)
    steps: int = parameter(4000, "number of steps", minimum=1, maximum=10**9)
    observe_every: int = parameter(20, "stride in steps of what is stored", minimum=1, static=True)
    precision: str = parameter(
        "float32", "floating-point type", choices=("float32", "float64"), static=True
    )


VARIABLES = declare(
    Variable(
        "total_weights",
        ("pathway", "input"),
        meaning="Product of the weights along each pathway at the end; in theory its least-squares solution.",
        source="Saxe, Sodhani & Lewallen (2022), appendix A.2",
    ),
    Variable(
        "reduction_residual",
        meaning="Off-diagonal mass of the statistics that the reduction leaves out, relative to the whole.",
        source="docs/theory/gated-networks.md",
    ),
    Variable(
        "relu_input_weights",
        ("unit", "relu_input"),
        meaning="Input weights of every hidden unit of a ReLU network at the end: two inputs, two context cues.",
    ),
    Variable(
        "context_open",
        ("unit", "context"),
        meaning="Fraction of the inputs shown in each context on which a hidden unit is open.",
    ),
    Variable(
        "unit_contribution",
        ("unit",),
        meaning="Norm of a hidden unit's input weights times its output weight's size, over their sum.",
    ),
)


def data(parameters: Parameters, root_seed: int, seed: int) -> GatedData:
    """Examples of one run, all of context 1 first; a ReLU network is shown the samples whatever `moments` says."""
    drawn = parameters.moments == "samples" or parameters.network == "relu"
    return contextual(
        parameters.hidden_width,
        gating=parameters.gating,
        samples=parameters.samples if drawn else None,
        generator=generator(root_seed, seed, "data"),
    )


def cued_inputs(shown: GatedData) -> np.ndarray:
    """Inputs of a ReLU network: x and one cue per context, shape (sample, 4)."""
    first = np.arange(shown.samples) < shown.samples // 2
    return np.concatenate([shown.inputs["x"], np.stack([first, ~first], axis=1)], axis=1)


def graph(parameters: Parameters):
    """Graph of the network; of a ReLU network the one pathway whose units it rectifies."""
    if parameters.network == "relu":
        return pathways_graph(1, parameters.hidden_width, input_width=4)
    return pathways_graph(2 if parameters.gating == "per_context" else 1, parameters.hidden_width)


def start_weights(parameters: Parameters, root_seed: int, seed: int) -> dict[str, np.ndarray]:
    """Initial weights of one run, edge name to array."""
    random = generator(root_seed, seed, "weights")
    return initial_weights(
        graph(parameters), random, law="normal", init_scale=parameters.init_scale
    )


def inputs(parameters: Parameters, root_seed: int, seed: int) -> dict[str, np.ndarray]:
    """What one run feeds to the program."""
    shown = data(parameters, root_seed, seed)
    relu = parameters.network == "relu"
    weights = start_weights(parameters, root_seed, seed)
    return {
        "rate": np.float64(parameters.learning_rate),
        "x": cued_inputs(shown) if relu else shown.inputs["x"],
        "y": shown.targets["y"],
        **{f"gate_{name}": gate for name, gate in ({} if relu else shown.gates).items()},
        **{f"start_{name}": value for name, value in weights.items()},
    }


def program(parameters: Parameters) -> Program:
    """The jitted part of a run; see `foretrain.dynamics.program.Program`."""
    import jax
    import jax.numpy as jnp

    from foretrain.networks import gated, rectified

    shape = graph(parameters)

    def answer(weights, inputs):
        if parameters.network == "relu":
            return rectified.forward(weights, inputs["x"])
        gates = {name[5:]: gate for name, gate in inputs.items() if name.startswith("gate_")}
        return gated.forward(shape, weights, {"x": inputs["x"]}, gates)["y"]

    def loss(weights, inputs):
        return 0.5 * ((inputs["y"] - answer(weights, inputs)) ** 2).mean()

    def init(inputs):
        return {name: inputs[f"start_{name}"] for name in shape.shape}

    def step(inputs, weights):
        slope = jax.grad(loss)(weights, inputs)
        return jax.tree.map(lambda w, g: w - inputs["rate"] * g, weights, slope)

    def observe(inputs, weights):
        return {"loss": loss(weights, inputs)}

    def done(inputs, weights, observed):
        return jnp.int8(RUNNING)

    def finish(inputs, weights):
        if parameters.network == "gated":
            pathways = range(1, len(shape.hidden) + 1)
            totals = [(weights[f"out{k}"] @ weights[f"in{k}"])[0] for k in pathways]
            return {"total_weights": jnp.stack(totals)}
        is_open = (inputs["x"] @ weights["in1"].T > 0).astype(inputs["x"].dtype)
        half = is_open.shape[0] // 2
        part = jnp.sqrt((weights["in1"] ** 2).sum(1)) * jnp.abs(weights["out1"][0])
        return {
            "relu_input_weights": weights["in1"],
            "context_open": jnp.stack([is_open[:half].mean(0), is_open[half:].mean(0)], axis=1),
            "unit_contribution": part / part.sum(),
        }

    return Program(
        init, step, observe, done, finish, parameters.observe_every, parameters.precision
    )


def variants(parameters: Parameters) -> dict[str, dict]:
    """Both gatings on exact moments and on samples, and the ReLU network on the same samples."""
    gated = {
        name: {"network": "gated", "gating": gating, "moments": moments}
        for name, (gating, moments) in NETWORKS.items()
    }
    return {**gated, "relu": {"network": "relu"}}


def coordinates(parameters: Parameters, step: np.ndarray) -> dict:
    """Time along the stored steps, and names of the inputs and contexts."""
    return {
        "time": (("step",), step * parameters.learning_rate),
        "context": (("context",), np.array(["first", "second"])),
    }


def predict(parameters: Parameters, root_seed: int, seeds: int) -> xr.Dataset:
    """The general reduction of both gatings, on exact moments and on samples; see `context_theory`."""
    from foretrain.studies.context import theory as context_theory

    return context_theory.predict(parameters, root_seed, seeds)


def fit(runs: LabelledRuns) -> xr.Dataset:
    """How far the gates of the trained ReLU networks agree with each candidate gating; see `context_theory`."""
    from foretrain.studies.context import theory as context_theory

    return context_theory.fit(runs)


def claims(runs: LabelledRuns) -> list[Claim]:
    """Judge what appendix A.2 says of these networks, cell by cell."""
    from foretrain.studies.context import claims as context_claims

    return judge_cells(context_claims.judge_cell, runs)
