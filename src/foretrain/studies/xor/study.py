"""Exclusive-or: a small ReLU network learns it as four gated linear pathways would, one per example."""

from dataclasses import dataclass

import numpy as np
import xarray as xr

from foretrain.claims.claim import Claim
from foretrain.dynamics.program import RUNNING, Program
from foretrain.networks.gated import initial_weights
from foretrain.plans.grid import LabelledRuns, judge_cells
from foretrain.plans.parameters import parameter
from foretrain.streams import generator
from foretrain.tasks.logic import pathways_graph
from foretrain.tasks.logic import xor as xor_data
from foretrain.vocabulary import Variable, declare

SOURCE = "Saxe, Sodhani & Lewallen (2022), Fig. 3 and appendix A.1"
COST = "20 s"
REFERENCES = ("saxe2022",)
# The paper's size is small enough to be the default; its preset only halves the step.
PRESETS = {"paper": {"learning_rate": 0.005, "steps": 8000, "observe_every": 20}}


@dataclass(frozen=True)
class Parameters:
    """Parameters of the study; each field's rule says what it may be."""

    network: str = parameter(
        "relu",
        "a two-layer ReLU network, or four linear pathways each open on one example",
        choices=("relu", "gated"),
        static=True,
    )
    hidden_width: int = parameter(
        128, "N_h, units of the ReLU network and of every pathway", minimum=1, static=True
    )
    init_scale: float = parameter(
        2e-4, "sigma_0, standard deviation of the initial weights of both layers", above=0
    )
    init_law: str = parameter(
        "normal",
        "law of the initial weights; decoupled (gated only): the submanifold of the reduction",
        choices=("normal", "decoupled"),
    )
    dynamics: str = parameter(
        "descent",
        "gradient descent, or gradient flow by Tsitouras' 5th-order method with the same step",
        choices=("descent", "flow"),
        static=True,
    )
    learning_rate: float = parameter(0.01, "step of descent or of the flow's solver", above=0)
    time_constant: float = parameter(
        2.5, "tau: the paper's time is tau times step x learning rate", above=0
    )
    steps: int = parameter(4000, "number of steps", minimum=1, maximum=10**9)
    observe_every: int = parameter(10, "stride in steps of what is stored", minimum=1, static=True)
    precision: str = parameter(
        "float32", "floating-point type", choices=("float32", "float64"), static=True
    )


VARIABLES = declare(
    Variable(
        "example_strength",
        ("step", "example"),
        meaning="Answer to each example over its norm, in the direction of its target: a(t) of its pathway.",
        source="Saxe, Sodhani & Lewallen (2022), eq. (21)",
    ),
    Variable(
        "input_weights",
        ("unit", "input"),
        meaning="Input weights of every hidden unit at the end; a gated network's pathway by pathway.",
        source="Saxe, Sodhani & Lewallen (2022), Fig. 3a",
    ),
    Variable("output_weights", ("unit",), meaning="Output weight of every hidden unit at the end."),
    Variable(
        "start_strength",
        ("example",),
        meaning="a_0 of each example's pathway, derived from the initial weights.",
        source="docs/studies/xor.md",
    ),
    Variable(
        "gated_start_strength",
        ("example",),
        meaning="a_0 of each pathway of the gated network, derived from its initial weights.",
        source="docs/theory/gated-networks.md",
    ),
    Variable(
        "gated_loss",
        ("step",),
        meaning="Loss that the reduction expects of the gated network from its derived start.",
    ),
    Variable(
        "closed_form_loss",
        ("step",),
        meaning="Closed form of the loss from the decoupled start of the gated network.",
        source="Saxe, Sodhani & Lewallen (2022), eqs. (21)-(23)",
    ),
    Variable(
        "fitted_strength",
        meaning="a_0 with which eqs. (21)-(23) come closest to the measured loss.",
    ),
    Variable(
        "fitted_descent_strength",
        meaning="a_0 with which descent of the reduction, at the run's step, comes closest to the measured loss.",
    ),
    Variable(
        "derived_descent_strength",
        meaning="The same fit to the loss that the derived start predicts.",
        source="docs/studies/xor.md",
    ),
    Variable(
        "fitted_closed_form_loss",
        ("step",),
        meaning="Eqs. (21)-(23) from the fitted a_0.",
        source="Saxe, Sodhani & Lewallen (2022), eqs. (21)-(23)",
    ),
)


def check(parameters: Parameters) -> None:
    """Refuse a decoupled ReLU network, which does not exist."""
    from foretrain.errors import argument_error

    if parameters.network == "relu" and parameters.init_law == "decoupled":
        raise argument_error(
            "init_law",
            "be `normal` with `network` = relu",
            "is `decoupled`",
            "Try --network gated.",
        )


def graph(parameters: Parameters):
    """Graph of the network: four pathways, or the one whose units a ReLU network rectifies."""
    return pathways_graph(4 if parameters.network == "gated" else 1, parameters.hidden_width)


def decoupled_strength(parameters: Parameters) -> float:
    """Strength of every edge of the decoupled start: a_0 is its square, as large as random weights have in the mean."""
    return parameters.init_scale * np.sqrt(parameters.hidden_width / 2)


def start_weights(parameters: Parameters, root_seed: int, seed: int) -> dict[str, np.ndarray]:
    """Initial weights of one run, edge name to array."""
    random = generator(root_seed, seed, "weights")
    if parameters.init_law == "decoupled":
        from foretrain.studies.xor import theory as xor_theory

        return xor_theory.decoupled_start(parameters, random)
    return initial_weights(
        graph(parameters), random, law="normal", init_scale=parameters.init_scale
    )


def inputs(parameters: Parameters, root_seed: int, seed: int) -> dict[str, np.ndarray]:
    """What one run feeds to the program."""
    weights = start_weights(parameters, root_seed, seed)
    return {
        "rate": np.float64(parameters.learning_rate),
        **{f"start_{name}": value for name, value in weights.items()},
    }


def program(parameters: Parameters) -> Program:
    """The jitted part of a run; see `foretrain.dynamics.program.Program`."""
    import jax
    import jax.numpy as jnp

    from foretrain.networks import gated, rectified

    dtype, data, shape = jnp.dtype(parameters.precision), xor_data(1), graph(parameters)
    # Kept as NumPy until traced: outside the run's own context float64 would be lost.
    x, y = data.inputs["x"], data.targets["y"]
    gates = {name: value.astype(dtype) for name, value in data.gates.items()}

    def answer(weights):
        if parameters.network == "relu":
            return rectified.forward(weights, x.astype(dtype))
        return gated.forward(shape, weights, {"x": x.astype(dtype)}, gates)["y"]

    def loss(weights):
        return 0.5 * ((y.astype(dtype) - answer(weights)) ** 2).mean()

    def init(inputs):
        return {name: inputs[f"start_{name}"] for name in shape.shape}

    def step(inputs, weights):
        if parameters.dynamics == "flow":
            from foretrain.dynamics.flow import fixed_step

            velocity = lambda w, _: jax.tree.map(jnp.negative, jax.grad(loss)(w))  # noqa: E731
            return fixed_step(velocity, weights, None, inputs["rate"])
        slope = jax.grad(loss)(weights)
        return jax.tree.map(lambda w, g: w - inputs["rate"] * g, weights, slope)

    def observe(inputs, weights):
        strength = (answer(weights) * y.astype(dtype))[:, 0] / np.sqrt(2).astype(dtype)
        return {"loss": loss(weights), "example_strength": strength}

    def done(inputs, weights, observed):
        return jnp.int8(RUNNING)

    def finish(inputs, weights):
        pathways = range(1, len(shape.hidden) + 1)
        return {
            "input_weights": jnp.concatenate([weights[f"in{k}"] for k in pathways]),
            "output_weights": jnp.concatenate([weights[f"out{k}"][0] for k in pathways]),
        }

    return Program(
        init, step, observe, done, finish, parameters.observe_every, parameters.precision
    )


def variants(parameters: Parameters) -> dict[str, dict]:
    """The gated network: from random weights, and from decoupled ones by descent and by flow, both in float64."""
    decoupled = {"network": "gated", "init_law": "decoupled", "precision": "float64", "seeds": 1}
    return {
        "gated": {"network": "gated"},
        "decoupled": decoupled,
        "decoupled-flow": {**decoupled, "dynamics": "flow"},
    }


def coordinates(parameters: Parameters, step: np.ndarray) -> dict:
    """Time along the stored steps, here and in the paper, and names of the examples."""
    time = step * parameters.learning_rate
    names = [" ".join(f"{value:+.0f}" for value in x) for x in xor_data(1).inputs["x"]]
    return {
        "time": (("step",), time),
        "paper_time": (("step",), time * parameters.time_constant),
        "example": (("example",), np.array(names)),
        "input": (("input",), np.array(["x1", "x2"])),
    }


def predict(parameters: Parameters, root_seed: int, seeds: int) -> xr.Dataset:
    """Every seed's loss from the start derived from its own weights; see `xor_theory`."""
    from foretrain.studies.xor import theory as xor_theory

    return xor_theory.predict(parameters, root_seed, seeds)


def fit(runs: LabelledRuns) -> xr.Dataset:
    """The start a_0 that fits each seed's loss best; see `xor_theory`."""
    from foretrain.studies.xor import theory as xor_theory

    return xor_theory.fit(runs)


def claims(runs: LabelledRuns) -> list[Claim]:
    """Judge what Fig. 3 and appendix A.1 say of these networks, cell by cell."""
    from foretrain.studies.xor import claims as xor_claims

    return judge_cells(xor_claims.judge_cell, runs)
