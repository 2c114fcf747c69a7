"""One mode of a two-layer linear network: two numbers, a closed form, and the shortest study to start another from."""

from dataclasses import dataclass

import numpy as np
import xarray as xr

from foretrain.claims.claim import Claim, judge
from foretrain.dynamics.program import CONVERGED, RUNNING, Program
from foretrain.errors import argument_error
from foretrain.measures.learning_time import crossing_time
from foretrain.plans.grid import LabelledRuns, judge_cells
from foretrain.plans.parameters import parameter
from foretrain.streams import key
from foretrain.theory.deep_linear import mode_strength
from foretrain.vocabulary import Variable, declare

SOURCE = "Saxe, McClelland & Ganguli (2014); Saxe, Sodhani & Lewallen (2022), eq. (21)"
COST = "5 s"
REFERENCES = ("saxe2014", "saxe2022")
PRESETS = {"paper": {"learning_rate": 0.001, "steps": 20000, "observe_every": 100}}


@dataclass(frozen=True)
class Parameters:
    """Parameters of the study; each field's rule says what it may be."""

    singular_value: float = parameter(1.0, "s, input-output correlation of the mode", above=0)
    init_scale: float = parameter(
        0.1, "scale of the two weights: the product starts near its square", above=0
    )
    start: str = parameter(
        "balanced",
        "balanced: equal weights; random: independent normal weights",
        choices=("balanced", "random"),
        static=True,
        sweepable=False,  # the variants, and what is judged, depend on it
    )
    optimizer: str = parameter(
        "sgd", "rule of descent", choices=("sgd", "momentum", "adam"), static=True
    )
    learning_rate: float = parameter(0.01, "step of descent", above=0)
    steps: int = parameter(2000, "largest number of steps", minimum=1, maximum=10**9)
    observe_every: int = parameter(10, "stride in steps of what is stored", minimum=1, static=True)
    loss_tolerance: float = parameter(
        0.0, "a run ends when its loss is at most this; 0 runs all steps", minimum=0
    )
    precision: str = parameter(
        "float64", "floating-point type", choices=("float32", "float64"), static=True
    )


VARIABLES = declare(
    Variable("strength", ("step",), meaning="Product of the two weights: the map that is learned."),
    Variable(
        "imbalance", ("step",), meaning="Difference of the squared weights, conserved by the flow."
    ),
)


def check(parameters: Parameters) -> None:
    """Refuse a start above the solution, from which the closed form does not grow."""
    if parameters.start == "balanced" and parameters.init_scale**2 >= parameters.singular_value:
        raise argument_error(
            "init_scale",
            f"be below the root of `singular_value` = {parameters.singular_value:g}",
            f"is {parameters.init_scale:g}",
        )


def inputs(parameters: Parameters, root_seed: int, seed: int) -> dict[str, np.ndarray]:
    """What one run feeds to the program."""
    names = ("singular_value", "init_scale", "learning_rate", "loss_tolerance")
    return {name: np.float64(getattr(parameters, name)) for name in names}


def program(parameters: Parameters) -> Program:
    """The jitted part of a run; see `foretrain.dynamics.program.Program`."""
    import jax
    import jax.numpy as jnp

    from foretrain.dynamics import descent

    def loss(weights, inputs):
        return 0.5 * (inputs["singular_value"] - weights[0] * weights[1]) ** 2

    def init(inputs):
        weights = jnp.ones(2, parameters.precision)
        if parameters.start == "random":
            random = key(inputs["root_seed"], inputs["seed"], "weights")
            weights = jax.random.normal(random, (2,), parameters.precision)
        weights = inputs["init_scale"] * weights
        return weights, descent.start(parameters.optimizer, weights)

    def step(inputs, state):
        weights, memory = state
        slope = jax.grad(loss)(weights, inputs)
        return descent.step(parameters.optimizer, weights, slope, memory, inputs["learning_rate"])

    def observe(inputs, state):
        weights, _ = state
        return {
            "loss": loss(weights, inputs),
            "strength": weights[0] * weights[1],
            "imbalance": weights[0] ** 2 - weights[1] ** 2,
        }

    def done(inputs, state, observed):
        tolerance = inputs["loss_tolerance"]
        reached = (tolerance > 0) & (observed["loss"] <= tolerance)
        return jnp.where(reached, CONVERGED, RUNNING).astype(jnp.int8)

    return Program(
        init,
        step,
        observe,
        done,
        lambda inputs, state: {},
        parameters.observe_every,
        parameters.precision,
    )


def variants(parameters: Parameters) -> dict[str, dict]:
    """Beside the balanced start, where the imbalance is zero by symmetry, random ones, where it is not."""
    return {"random": {"start": "random"}} if parameters.start == "balanced" else {}


def coordinates(parameters: Parameters, step: np.ndarray) -> dict:
    """Time along the stored steps."""
    return {"time": (("step",), step * parameters.learning_rate)}


def predict(parameters: Parameters, root_seed: int, seeds: int) -> xr.Dataset:
    """The closed form under gradient flow from the balanced start."""
    step = np.arange(0, parameters.steps + 1, parameters.observe_every)
    time = step * parameters.learning_rate
    s = parameters.singular_value
    # The weights move by the gradient of 1/2 (s - a)^2: the time constant of (21) is 1.
    strength = mode_strength(time, np.array([s]), np.array([parameters.init_scale**2]))[:, 0]
    return xr.Dataset(
        {"strength": ("step", strength), "loss": ("step", 0.5 * (s - strength) ** 2)},
        coords={"step": step, "time": ("step", time)},
    )


def claims(runs: LabelledRuns) -> list[Claim]:
    """Judge the closed form and the conservation law, cell by cell."""
    return judge_cells(_judge, runs)


def _judge(runs: LabelledRuns) -> list[Claim]:
    p, data = runs.parameters, runs.simulation
    # Euler's method is off by a multiple of the step in units of the fastest rate, 2 s; the multiple is of order one.
    slack = 2 * p.learning_rate * p.singular_value
    imbalance = runs.variants.get("random", data)["imbalance"]
    drift = np.abs(imbalance - imbalance.isel(step=0, drop=True)).max("step", skipna=False)
    conserved = judge(
        "imbalance",
        "The difference of the squared weights is conserved.",
        "Saxe, McClelland & Ganguli (2014)",
        (drift / p.singular_value).values,
        (0, slack),
        predicted=0,
        note="Largest change over time from random weights, over the singular value.",
    )
    if p.start == "random":
        return [conserved]
    half = p.singular_value / 2
    expected = crossing_time(runs.theory["time"].values, runs.theory["strength"].values, half)
    measured = crossing_time(data["time"].values, data["strength"].values, half)
    gap = np.abs(data["strength"] - runs.theory["strength"]).max("step", skipna=False)
    return [
        judge(
            "closed-form",
            "The strength of the mode follows the closed form.",
            "Saxe, Sodhani & Lewallen (2022), eq. (21)",
            (gap / p.singular_value).values,
            (0, slack),
            predicted=0,
            note="Largest difference over time, over the singular value.",
        ),
        judge(
            "half-time",
            "The mode is half learned when the closed form says.",
            "Saxe, McClelland & Ganguli (2014)",
            measured / expected if expected > 0 else np.full(runs.seeds, np.nan),
            (1 - slack, 1 + slack),
            predicted=1,
            note=f"Measured over predicted time, which is {expected:.3g}.",
        ),
        conserved,
    ]
