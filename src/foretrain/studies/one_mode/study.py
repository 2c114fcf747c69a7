"""One mode of a two-layer linear network: two numbers, a closed form, and the shortest study to start another from."""

from dataclasses import dataclass

import numpy as np

from foretrain.study import (
    Exact,
    Program,
    Seed,
    Training,
    argument_error,
    crossing_time,
    declare,
    default,
    generator,
    parameter,
    sentence,
)
from foretrain.theory.deep_linear import mode_strength

SOURCE = "Saxe, McClelland & Ganguli (2014); Saxe, Sodhani & Lewallen (2022), eq. (21)"
COST = "5 s"
REFERENCES = ("saxe2014", "saxe2022")
PRESETS = {"paper": {"learning_rate": 0.001, "steps": 20000, "observe_every": 100}}
OPTIMIZERS = ("sgd", "momentum", "adam")
SHOWS = {"strength": ("closed-form", "half-time")}
declare(
    "step",
    strength="Product of the two weights: what is learned.",
    imbalance="Difference of the squared weights.",
)


@dataclass(frozen=True)
class Parameters(Training):
    """A scalar network and its start."""

    singular_value: float = parameter(1.0, "s, input-output correlation of the mode", above=0)
    init_scale: float = parameter(0.1, "largest balanced weight, or scale of random ones", above=0)
    start: str = parameter(
        "balanced",
        "two equal weights, each seed's own, or independent normal ones; variants and sentences depend on it",
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
        raise argument_error("init_scale", rule, f"is {p.init_scale:g}")


def variants(p: Parameters) -> dict[str, dict]:
    """Beside the balanced start, whose imbalance is zero by symmetry, random ones."""
    return {"random": {"start": "random"}} if p.start == "balanced" else {}


def inputs(p: Parameters, seed: Seed) -> dict[str, np.ndarray]:
    """The weights of one run at the start, shape (2,): equal and between half and all of the scale, or normal."""
    random = generator(seed, "weights")
    shape = (
        random.standard_normal(2) if p.start == "random" else np.repeat(random.uniform(0.5, 1), 2)
    )
    return {"weights": p.init_scale * shape}


def program(p: Parameters) -> Program:
    """Descent of both weights."""
    import jax

    from foretrain.dynamics import descent

    def loss(weights, inputs):
        return 0.5 * (inputs["singular_value"] - weights[0] * weights[1]) ** 2

    def init(inputs):
        return inputs["weights"], descent.start(p.optimizer, inputs["weights"])

    def step(inputs, state):
        slope = jax.grad(loss)(state[0], inputs)
        return descent.step(p.optimizer, state[0], slope, state[1], inputs["learning_rate"])

    def observe(inputs, state):
        a, b = state[0]
        return {"loss": loss(state[0], inputs), "strength": a * b, "imbalance": a**2 - b**2}

    return Program(init, step, observe)


def predict(p: Parameters, step: np.ndarray, seed: Seed) -> dict[str, np.ndarray]:
    """The closed form under gradient flow from a balanced start; the time constant of (21) is 1."""
    if p.start == "random":
        return {}
    s, time = p.singular_value, step * p.learning_rate
    strength = mode_strength(inputs(p, seed)["weights"][:1] ** 2, time, np.array([s]))[:, 0]
    return {"strength": strength, "loss": 0.5 * (s - strength) ** 2}


def _delay(p: Parameters, strength, first):
    """How much later than the flow descent reaches a strength, to first order in the step; in steps x learning rate.

    A step takes the product a to a (1 + eta (s - a))^2. The flow with such steps is a' = 2 a (s - a) (1 + eta (3 a - s)/2),
    up to eta^2; the delay is the integral of the difference of the two times, from the first strength to this one.
    """
    s = p.singular_value
    left = np.maximum(s - strength, np.finfo(float).tiny)
    return p.learning_rate / 4 * (np.log(strength / first) + 2 * np.log(left / (s - first)))


SECOND_ORDER = {
    "source": "Saxe, McClelland & Ganguli (2014)",
    "predicted": 0,
    "allowed": lambda cell: (
        0,
        (2 * cell.parameters.learning_rate * cell.parameters.singular_value) ** 2,
    ),
    "why": "Euler's method is off by the step times the fastest rate, 2 s, to the first power, which is known and allowed "
    "for, and to the second, of order one.",
    "at_end": True,
}


def _both(cell):
    """Strengths trained and of the flow, shape (seed, step), cut at the shorter of the two; None for random starts."""
    if cell.parameters.start == "random":
        return None
    found, flow = (
        data["strength"].transpose("seed", "step").values for data in (cell.simulation, cell.theory)
    )
    length = min(found.shape[1], flow.shape[1])
    return found[:, :length], flow[:, :length]


@sentence("The strength of the mode follows the closed form.", **SECOND_ORDER)
def closed_form(cell):
    both, p = _both(cell), cell.parameters
    if both is None:
        return None
    found, flow = both
    speed = 2 * flow * (p.singular_value - flow)
    gap = found - (flow - speed * _delay(p, flow, flow[:, :1]))
    text = (
        "Largest difference over time and seeds, over s, less what descent is later than its flow."
    )
    return Exact(np.nanmax(np.abs(gap)) / p.singular_value, text)


@sentence("The mode is half learned when the closed form says.", **SECOND_ORDER)
def half_time(cell):
    both, p = _both(cell), cell.parameters
    if both is None:
        return None
    time, half = cell.simulation["time"].values[: both[0].shape[1]], p.singular_value / 2
    found, flow = (crossing_time(time, strength, half) for strength in both)
    later = _delay(p, half, np.minimum(both[1][:, 0], half))
    with np.errstate(divide="ignore", invalid="ignore"):
        off = np.where(flow == 0, np.abs(found), np.abs(found / (flow + later) - 1))
    return Exact(
        np.max(off),
        "Largest |measured over predicted time - 1|, which counts what descent is later than its flow.",
    )


@sentence(
    "The flow conserves the difference of the squared weights.",
    source="Saxe, McClelland & Ganguli (2014)",
    of="random",
    predicted=0,
    allowed=lambda cell: (
        0,
        1 + 2 * cell.parameters.learning_rate * cell.parameters.singular_value,
    ),
    why="A step takes the difference c to c (1 - eta^2 e^2), e = s - w1 w2, and |c| <= w1^2 + w2^2 = -e'/e: in all it "
    "drifts by at most eta times the integral of -e e', eta times the loss at the start. The step again for its second order.",
    at_end=True,
    note="Largest drift over learning rate x loss at the start.",
)
def imbalance(cell):
    runs = cell.variants.get("random", cell.simulation).transpose("seed", "step")
    found, first = runs["imbalance"].values, runs["loss"].values[:, 0]
    drift = np.nanmax(np.abs(found - found[:, :1]), axis=1)
    return drift / (cell.parameters.learning_rate * first)
