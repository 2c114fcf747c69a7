"""One mode of a two-layer linear network: two numbers, a closed form, and the shortest study to start another from."""

from dataclasses import dataclass

import numpy as np

from foretrain import study as lab
from foretrain.study import Exact, Program, Variable, default, parameter, sentence
from foretrain.theory.deep_linear import mode_strength

SOURCE = "Saxe, McClelland & Ganguli (2014); Saxe, Sodhani & Lewallen (2022), eq. (21)"
COST = "5 s"
REFERENCES = ("saxe2014", "saxe2022")
PRESETS = {"paper": {"learning_rate": 0.001, "steps": 20000, "observe_every": 100}}
OPTIMIZERS = ("sgd", "momentum", "adam")
lab.declare(
    Variable("strength", ("step",), meaning="Product of the two weights: what is learned."),
    Variable("imbalance", ("step",), meaning="Difference of the squared weights."),
)


@dataclass(frozen=True)
class Parameters(lab.Training):
    """A scalar network and its start."""

    singular_value: float = parameter(1.0, "s, input-output correlation of the mode", above=0)
    init_scale: float = parameter(0.1, "scale of the two weights", above=0)
    start: str = parameter(
        "balanced",
        "equal weights, or independent normal ones; variants and sentences depend on it",
        choices=("balanced", "random"),
        static=True,
        sweepable=False,
    )
    optimizer: str = parameter("sgd", "rule of descent", choices=OPTIMIZERS, static=True)
    precision: str = default("float64")


def check(p: Parameters) -> None:
    """Refuse a start above the solution, from which the closed form does not grow."""
    if p.start == "balanced" and p.init_scale**2 >= p.singular_value:
        rule = f"be below the root of `singular_value` = {p.singular_value:g}"
        raise lab.argument_error("init_scale", rule, f"is {p.init_scale:g}")


def variants(p: Parameters) -> dict[str, dict]:
    """Beside the balanced start, whose imbalance is zero by symmetry, random ones."""
    return {"random": {"start": "random"}} if p.start == "balanced" else {}


def program(p: Parameters) -> Program:
    """Descent of both weights."""
    import jax
    import jax.numpy as jnp

    from foretrain.dynamics import descent

    def loss(weights, inputs):
        return 0.5 * (inputs["singular_value"] - weights[0] * weights[1]) ** 2

    def init(inputs):
        weights = jnp.ones(2, p.precision)
        if p.start == "random":
            random = lab.key(inputs["root_seed"], inputs["seed"], "weights")
            weights = jax.random.normal(random, (2,), p.precision)
        weights = inputs["init_scale"] * weights
        return weights, descent.start(p.optimizer, weights)

    def step(inputs, state):
        slope = jax.grad(loss)(state[0], inputs)
        return descent.step(p.optimizer, state[0], slope, state[1], inputs["learning_rate"])

    def observe(inputs, state):
        a, b = state[0]
        return {"loss": loss(state[0], inputs), "strength": a * b, "imbalance": a**2 - b**2}

    return Program(init, step, observe)


def predict(p: Parameters, step: np.ndarray) -> dict[str, np.ndarray]:
    """The closed form under gradient flow from the balanced start; the time constant of (21) is 1."""
    s, time = p.singular_value, step * p.learning_rate
    strength = mode_strength(time, np.array([s]), np.array([p.init_scale**2]))[:, 0]
    return {"strength": strength, "loss": 0.5 * (s - strength) ** 2}


FLOW = {
    "source": "Saxe, McClelland & Ganguli (2014)",
    "predicted": 0,
    "allowed": lambda cell: (0, 2 * cell.parameters.learning_rate * cell.parameters.singular_value),
    "why": "Euler's method is off by a multiple of order one of the step times the fastest rate, 2 s.",
}


@sentence("The strength of the mode follows the closed form.", **FLOW)
def closed_form(cell):
    if cell.parameters.start == "random":
        return None
    found, expected = cell.simulation["strength"].values, cell.theory["strength"].values
    gap = np.nanmax(np.abs(found - expected[: found.shape[1]]))
    return Exact(gap / cell.parameters.singular_value, "Largest difference over time, over s.")


@sentence("The mode is half learned when the closed form says.", at_end=True, **FLOW)
def half_time(cell):
    if cell.parameters.start == "random":
        return None
    half, runs = cell.parameters.singular_value / 2, (cell.simulation, cell.theory)
    of = [lab.crossing_time(one["time"].values, one["strength"].values, half) for one in runs]
    worst = np.abs(of[0] / of[1] - 1).max() if of[1] != 0 else of[0].max()
    return Exact(worst, "Largest |measured over predicted time - 1|.")


@sentence("The flow conserves the difference of the squared weights.", of="random", **FLOW)
def imbalance(cell):
    found = cell.variants.get("random", cell.simulation)["imbalance"].values
    return np.nanmax(np.abs(found - found[:, :1]), axis=1) / cell.parameters.singular_value
