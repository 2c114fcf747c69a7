"""One mode of a two-layer linear network: two numbers, a closed form, and the shortest study to start another from."""

from dataclasses import dataclass

import numpy as np

from foretrain import study as lab
from foretrain.theory.gated.deep_linear import mode_strength

SOURCE = "Saxe, McClelland & Ganguli (2014); Saxe, Sodhani & Lewallen (2022), eq. (21)"
COST = "5 s"
REFERENCES = ("saxe2014", "saxe2022")
PRESETS = {"paper": {"learning_rate": 0.001, "steps": 20000, "observe_every": 100}}
lab.declare(
    "step", strength="Product of the two weights.", imbalance="Difference of their squares."
)


@dataclass(frozen=True)
class Parameters(lab.Training):
    """A scalar network and its start: two equal weights, or independent normal ones."""

    singular_value: float = lab.parameter(1.0, "correlation of the mode", symbol="s", above=0)
    init_scale: float = lab.parameter(0.1, "largest balanced or typical random weight", above=0)
    start: str = lab.parameter("balanced", "law", choices=("balanced", "random"), sweepable=False)
    precision: str = lab.default("float64")


def check(p):
    """Refuse a start above the solution, from which the closed form does not grow."""
    if p.start == "balanced" and p.init_scale**2 >= p.singular_value:
        rule = f"be below the root of `singular_value` = {p.singular_value:g}"
        raise lab.argument_error("init_scale", rule, f"is {p.init_scale:g}")


def variants(p):
    """Return the random start, which the balanced one lacks: a balanced imbalance is zero by symmetry."""
    return {"random": {"start": "random"}} if p.start == "balanced" else {}


def inputs(p, seed):
    """Draw the two weights of one run: equal and between half and all of the scale, or normal."""
    random, balanced = lab.generator(seed, "weights"), p.start == "balanced"
    weights = np.repeat(random.uniform(0.5, 1), 2) if balanced else random.standard_normal(2)
    return {"weights": p.init_scale * weights}


def program(p):
    """Descend the loss of both weights."""
    import jax

    def loss(w, inputs):
        return 0.5 * (inputs["singular_value"] - w[0] * w[1]) ** 2

    def observe(inputs, w):
        return {
            "loss": loss(w, inputs),
            "strength": w[0] * w[1],
            "imbalance": w[0] ** 2 - w[1] ** 2,
        }

    def step(inputs, w):
        return w - inputs["learning_rate"] * jax.grad(loss)(w, inputs)

    return lab.Program(lambda inputs: inputs["weights"], step, observe)


def predict(p, step, seed):
    """Return the closed form of gradient flow from a balanced start; the time constant of (21) is 1."""
    if p.start == "random":
        return {}
    s, times, start = p.singular_value, step * p.learning_rate, inputs(p, seed)["weights"][:1] ** 2
    strength = mode_strength(start, times, np.array([s]))[:, 0]
    return {"strength": strength, "loss": 0.5 * (s - strength) ** 2}


def gap(c):
    """Return the gap of `late`, of the strength and of that for which the loss (s - strength)^2 / 2 stands."""
    runs = c.simulation, c.theory
    of_loss = late(c, *(c.p.singular_value - np.sqrt(2 * data.loss) for data in runs))
    of_strength = late(c, *(data.strength for data in runs)).to_dataset(name="strength")
    return of_strength.assign(loss=of_loss).to_array()


def late(c, strength, flow):
    """Return a strength, over s, less that of the flow as much later as descent is to first order."""
    s = c.p.singular_value
    grown = np.log(flow / flow.isel(step=0))
    left = np.maximum(s - flow, np.finfo(float).tiny)
    delay = c.p.learning_rate / 4 * (grown + 2 * np.log(left / left.isel(step=0)))
    return ((strength - flow) / s + 2 * flow * (1 - flow / s) * delay).dropna("step")


def drift(c):
    runs = c[""] if c.p.start == "random" else c["random"]
    moved = abs(runs.imbalance - runs.start.imbalance).max("step")
    return moved / (c.p.learning_rate * runs.start.loss)


ROW = {"source": SOURCE, "near": 0, "at_end": True}
WORDS = "The strength of the mode follows the closed form of gradient flow, less descent's delay."
EULER = "Descent is off by the step times the fastest rate, 2 s; its first power is known, its second has order one."
DRIFT = "A step takes the difference c to c (1 - eta^2 e^2), |c| <= -e'/e: a drift of eta times the loss, and its square."

CLAIMS = [
    lab.claim("closed-form", WORDS, gap, inside=lambda c: (0, (2 * c.p.learning_rate * c.p.singular_value) ** 2),
              exact=True, why=EULER, rank="headline",
              note="Largest difference over time, over s, of the strength and of what the loss says it is.", **ROW),
    lab.claim("imbalance", "Gradient flow conserves the difference of the squared weights.", drift,
              inside=lambda c: (0, 1 + 2 * c.p.learning_rate * c.p.singular_value), rank="control",
              why=DRIFT, note="Largest drift over learning rate x loss at the start.", **ROW),
]  # fmt: skip
