"""One mode of a two-layer linear network: two numbers, a closed form, and the shortest study to start another from."""

from dataclasses import dataclass

import numpy as np
from scipy.integrate import cumulative_trapezoid

from foretrain import study as lab
from foretrain.theory.gated.deep_linear import balanced_start, mode_strength

SOURCE = "Saxe, McClelland & Ganguli (2014); Saxe, Sodhani & Lewallen (2022), eq. (21)"
COST = "5 s"
REFERENCES = ("saxe2014", "saxe2022", "domine2025")
EXPLORE = ("init_scale", "singular_value")
PRESETS = {"paper": {"learning_rate": 0.001, "steps": 20000, "observe_every": 100}}
lab.declare("step", strength="Product of the weights.", imbalance="Difference of their squares.")


@dataclass(frozen=True)
class Parameters(lab.Training):
    """A scalar network and its start: two weights of known product and imbalance, or independent normal ones."""

    singular_value: float = lab.parameter(1.0, "correlation of the mode", symbol="s", above=0)
    init_scale: float = lab.parameter(0.1, "largest balanced or typical random weight", above=0)
    start: str = lab.parameter("balanced", "law", choices=("balanced", "random"), sweepable=False)
    init_imbalance: float = lab.parameter(0.0, "difference of the weights' squares", symbol="δ")
    precision: str = lab.default("float64")


def check(p):
    """Refuse a start above the solution, from which the closed form does not grow, and an imbalance of random weights."""
    if p.start == "balanced" and p.init_scale**2 >= p.singular_value:
        rule = f"be below the root of `singular_value` = {p.singular_value:g}"
        raise lab.argument_error("init_scale", rule, f"is {p.init_scale:g}")
    if p.start == "random" and p.init_imbalance:
        rule = "be 0 where `start` is random, which draws one"
        raise lab.argument_error("init_imbalance", rule, f"is {p.init_imbalance:g}")


def variants(p):
    """Return the random start, as a balanced imbalance is zero by symmetry, and one of imbalance s, each where it is not."""
    random = {"random": {"start": "random", "init_imbalance": 0.0}}
    unbalanced = {} if p.init_imbalance else {"unbalanced": {"init_imbalance": p.singular_value}}
    return random | unbalanced if p.start == "balanced" else {}


def inputs(p, seed):
    """Draw the two weights of one run: equal and between half and all of the scale, then unbalanced, or normal."""
    random, balanced = lab.generator(seed, "weights"), p.start == "balanced"
    weights = np.repeat(random.uniform(0.5, 1), 2) if balanced else random.standard_normal(2)
    weights = p.init_scale * weights
    if p.init_imbalance:
        weights = np.ravel(balanced_start(np.outer(*weights[:, None]), p.init_imbalance))
    return {"weights": weights}


def program(p):
    """Descend the loss of both weights."""
    import jax

    def loss(w, inputs):
        return 0.5 * (inputs["singular_value"] - w[0] * w[1]) ** 2

    def observe(inputs, w):
        imbalance = w[0] ** 2 - w[1] ** 2
        return {"loss": loss(w, inputs), "strength": w[0] * w[1], "imbalance": imbalance}

    def step(inputs, w):
        return w - inputs["learning_rate"] * jax.grad(loss)(w, inputs)

    return lab.Program(lambda inputs: inputs["weights"], step, observe)


def predict(p, step, seed):
    """Return the closed form of gradient flow from a start of known imbalance; the time constant of (21) is 1."""
    if p.start == "random":
        return {}
    s, times, start = p.singular_value, step * p.learning_rate, inputs(p, seed)["weights"].prod()
    strength = mode_strength(start, times, np.array([s]), imbalance=p.init_imbalance)[:, 0]
    return {"strength": strength, "loss": 0.5 * (s - strength) ** 2}


def gap(c):
    """Return the gap of `late`, of the strength and of that for which the loss (s - strength)^2 / 2 stands."""
    lab.skip_if(c.p.init_imbalance, "the start is not balanced")
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


def unbalanced_gap(c):
    """Return strength and imbalance less what the first power of the step makes of their flow, over s: see the page."""
    runs = (c[""] if c.p.init_imbalance else c["unbalanced"])[["strength", "imbalance"]]
    s, rate, step = c.p.singular_value, c.p.learning_rate, runs.step.values
    start, delta = (runs[name][:, 0].fillna(1.0).values for name in runs)
    times = rate * np.arange(step[-1] + 1)
    flow = mode_strength(start, times, np.full(start.shape, s), imbalance=delta)
    error, size = s - flow, np.hypot(delta, 2 * flow)
    decay = cumulative_trapezoid(error**2, dx=rate, axis=0, initial=0)
    pace = size / 2 - error * flow / size - (delta / size) ** 2 * decay
    ahead = rate * cumulative_trapezoid(pace, dx=rate, axis=0, initial=0)
    both = flow + error * size * ahead, delta * (1 - rate * decay)
    expected = {name: values[step].T for name, values in zip(runs, both, strict=True)}
    return (runs - runs.copy(data=expected)).to_array().dropna("step") / s


def second_order(c):
    s = c.p.singular_value
    return 0, (c.p.learning_rate * np.hypot(c.p.init_imbalance or s, 2 * s)) ** 2


def too_near(c):
    """Return a reason where the balanced curve from the largest start is within twice what is allowed."""
    p, modes = c.p, np.repeat(c.p.singular_value, 2)
    times = p.learning_rate * np.arange(0, p.steps + 1, p.observe_every)
    curves = mode_strength(
        p.init_scale**2, times, modes, imbalance=[p.init_imbalance or modes[0], 0]
    )
    gap = np.ptp(curves / modes, 1).max()
    return "" if gap > 2 * second_order(c)[1] else "the balanced curve is as near"


def drift(c):
    runs = c[""] if c.p.start == "random" else c["random"]
    moved = abs(runs.imbalance - runs.start.imbalance).max("step")
    return moved / (c.p.learning_rate * runs.start.loss)


ROW = {"source": SOURCE, "near": 0, "at_end": True}
WORDS = "The strength of the mode follows the closed form of gradient flow, less descent's delay."
EULER = "Descent is off by the step times the fastest rate, 2 s; its first power is known, its second has order one."
DRIFT = "A step takes the difference c to c (1 - eta^2 e^2), |c| <= -e'/e: a drift of eta times the loss, and its square."
OWN = "An unbalanced start has a closed form, too: strength and imbalance follow it, but for the first power of the step."
ORDER = "The step times the fastest rate, sqrt(delta^2 + 4 s^2), has a known first power and a second of order one."

CLAIMS = [
    lab.claim("closed-form", WORDS, gap, inside=lambda c: (0, (2 * c.p.learning_rate * c.p.singular_value) ** 2),
              exact=True, why=EULER, rank="headline",
              note="Largest difference over time, over s, of the strength and of what the loss says it is.", **ROW),
    lab.claim("unbalanced", OWN, unbalanced_gap, inside=second_order, domain=too_near, exact=True, why=ORDER,
              rank="headline", note="Largest difference over time, over s.", **ROW | {"source": "Domine et al. (2025)"}),
    lab.claim("imbalance", "Gradient flow conserves the difference of the squared weights.", drift,
              inside=lambda c: (0, 1 + 2 * c.p.learning_rate * c.p.singular_value), rank="control",
              why=DRIFT, note="Largest drift over learning rate x loss at the start.", **ROW),
]  # fmt: skip
