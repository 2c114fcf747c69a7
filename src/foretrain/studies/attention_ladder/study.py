"""Linear attention learns in context by steps: which levels its loss waits on, which head leaves next, and when."""

from dataclasses import dataclass

import numpy as np

from foretrain import study as lab
from foretrain.study import TIME_UNIT, declare, parameter, size
from foretrain.theory import attention_ladder as theory

SOURCE = "docs/studies/attention-ladder.md"
PAPER = "Zhang, Singh, Latham & Saxe (2025), abstract"
COST = "1 min"
REFERENCES = ("zhang2025",)
SEEDS = 40
AXES = {"init_scale": (0.003, 0.01, 0.03), "heads": (8, 2)}
PRESETS = {
    "paper": {
        "init_scale": (0.001, 0.003, 0.01, 0.03, 0.1),
        "heads": (8, 1, 2, 4),
        "seeds": 50,
    }
}
VISIBLE = 10  # settling times that a level has to last to be seen
# Of a head, to their numbers of dims.
WEIGHTS = {"separate": {"value": 0, "keys": 1, "queries": 1}, "merged": {"value": 0, "matrices": 2}}
UNKNOWN, FAST = -1.0, 1e30  # stand in the state of a run for what has not been seen yet
NEAR_END = 1e-3  # a run ends when its loss is this near to the least that there is
declare(
    "mode",
    level="Loss where it falls most slowly, from half-way to a level to half-way to the next.",
    level_gap="Relative distance of A there from regression on the modes that are learned.",
    learner="Number of the head that carries a mode in the end, or is predicted to; nan where no mode is learned.",
)
declare("mode", unit=TIME_UNIT, drop_time="Time when the loss is half-way to the level of a mode.")
declare(
    "mode",
    kind="bool",
    visible="Whether a level that is not the last is told to last long enough to be seen.",
)
declare(ladder_end="Loss at the end.")


@dataclass(frozen=True)
class Parameters(lab.Run):
    """Regression in context with normal inputs of covariance 1, ..., D over its trace, and the attention that learns it."""

    dimension: int = size(4, "dimension of the inputs", 16, minimum=2, symbol="D")
    context: int = parameter(31, "pairs in a context", symbol="N", minimum=1, maximum=10**6)
    heads: int = size(8, "heads", 64, symbol="H")
    attention: str = lab.choice(
        "keys and queries of rank one a head, or one full matrix in place of both",
        ("separate", "merged"),
        sweepable=False,
    )
    sequences: int = size(
        0, "sequences trained on, 0 for the distribution itself", 10**6, minimum=0, sweepable=False
    )
    init_scale: float = parameter(
        0.003, "standard deviation of initial weights", symbol="σ", above=0, maximum=1
    )
    learning_rate: float = parameter(1.0, "step of descent on half of the loss", above=0, maximum=2)
    horizon: float = parameter(
        250.0, "longest time of a run times the scale of its weights", above=0
    )
    steps: int = lab.default(300_000)
    observe_every: int = lab.default(50)
    precision: str = lab.default("float64")


def variants(p):
    """Return heads of a full matrix, and heads that see 5,000 sequences."""
    if p.attention == "merged" or p.sequences:
        return {}
    return {"merged": {"attention": "merged"}, "sampled": {"sequences": 5000}}


def estimate(p):
    """Return the steps of a run that lasts to its horizon; one of merged heads lasts as the logarithm of its start."""
    if p.attention == "merged":
        return min(p.steps, 3000)
    return min(p.steps, p.horizon / (p.init_scale * p.learning_rate))


def eigenvalues(p):
    """Return the eigenvalues of the inputs' covariance, descending, of sum 1."""
    return np.arange(p.dimension, 0, -1) / (p.dimension * (p.dimension + 1) / 2)


def start(p, seed):
    """Draw normal weights of deviation init_scale: a value for each head, and its key and query, or its matrix."""
    random = lab.generator(seed, "weights")
    return {
        name: p.init_scale * random.standard_normal((p.heads, *(p.dimension,) * dims))
        for name, dims in WEIGHTS[p.attention].items()
    }


def inputs(p, seed):
    """Return weights and what training sees; inputs have the axes of their covariance, as normal weights have no direction."""
    data = eigenvalues(p), p.context
    if p.sequences:
        seen = theory.sampled(*data, p.sequences, lab.generator(seed, "data"))
    else:
        seen = theory.statistics(*data)
    ladder = theory.levels(*data)
    best = seen["cross"] @ np.linalg.solve(seen["square"], seen["cross"])
    law = {"half_way": (ladder[1:] + ladder[:-1]) / 2, "least": seen["power"] - best}
    return start(p, seed) | seen | law | {"strengths": theory.strengths(*data)}


def program(p):
    """Descend half of E (y - beta^T A x)^2, and watch how the loss comes down its ladder."""
    import jax
    import jax.numpy as jnp

    numbers = jnp.arange(p.dimension)

    def parts(weights):
        """Return what each head adds to A, (head, mode of beta, mode of x)."""
        if p.attention == "merged":
            return weights["value"][:, None, None] * weights["matrices"]
        return jnp.einsum("h,hd,he->hde", weights["value"], weights["keys"], weights["queries"])

    def half_loss(weights, inputs):
        whole = parts(weights).sum(0).ravel()
        return inputs["power"] / 2 + whole @ (inputs["square"] @ whole / 2 - inputs["cross"])

    def init(inputs):
        weights = {name: inputs[name] for name in WEIGHTS[p.attention]}
        unknown = jnp.full(p.dimension, UNKNOWN, inputs["strengths"].dtype)
        fresh = {"time": unknown, "level": unknown, "gap": unknown, "slowest": unknown + FAST}
        return {"weights": weights, "count": jnp.zeros((), unknown.dtype), **fresh}

    def step(inputs, state):
        half, slope = jax.value_and_grad(half_loss)(state["weights"], inputs)
        speed = sum((leaf**2).sum() for leaf in slope.values())
        crossed = (2 * half <= inputs["half_way"]) | (state["time"] > UNKNOWN)
        slower = (numbers == crossed.sum() - 1) & (speed < state["slowest"])
        regression = jnp.diag(inputs["strengths"] * (numbers < crossed.sum()))
        gap = parts(state["weights"]).sum(0) - regression
        size = jnp.maximum((regression**2).sum(), jnp.finfo(half.dtype).tiny)
        here = {"slowest": speed, "level": 2 * half, "gap": jnp.sqrt((gap**2).sum() / size)}
        elapsed, rate = state["count"] * inputs["learning_rate"], inputs["learning_rate"]
        return {
            "weights": jax.tree.map(lambda w, down: w - rate * down, state["weights"], slope),
            "count": state["count"] + 1,
            "time": jnp.where(crossed & (state["time"] == UNKNOWN), elapsed, state["time"]),
            **{name: jnp.where(slower, value, state[name]) for name, value in here.items()},
        }

    def done(inputs, state, observed):
        over = state["count"] * inputs["learning_rate"] * inputs["init_scale"] >= inputs["horizon"]
        over |= observed["loss"] <= inputs["least"] * (1 + NEAR_END)
        return jnp.where(over, lab.CONVERGED, lab.RUNNING).astype(jnp.int8)

    def finish(inputs, state):
        carried = abs(jnp.diagonal(parts(state["weights"]), axis1=1, axis2=2))
        values = {
            "drop_time": state["time"],
            "level": state["level"],
            "level_gap": state["gap"],
            "learner": carried.argmax(0).astype(carried.dtype),
        }
        missing = state["time"] == UNKNOWN
        known = {name: jnp.where(missing, jnp.nan, array) for name, array in values.items()}
        return known | {"ladder_end": 2 * half_loss(state["weights"], inputs)}

    def observe(inputs, state):
        return {"loss": 2 * half_loss(state["weights"], inputs)}

    return lab.Program(init, step, observe, done=done, finish=finish)


def predict(p, step, seed):
    """Return when each mode is learned and by which head, the levels, and which of them last long enough to be seen."""
    if p.attention == "merged" or p.sequences:
        return {}
    data, horizon = (eigenvalues(p), p.context), p.horizon / p.init_scale
    times, heads = theory.drops(*data, horizon, **start(p, seed))
    ladder, settling = theory.levels(*data), np.append(theory.settling(*data), np.inf)
    waits = np.diff(np.nan_to_num(times, nan=horizon), append=horizon)
    return {
        "drop_time": times,
        "learner": heads,
        "level": ladder[1:],
        "visible": waits > VISIBLE * settling,
        "ladder_end": ladder[np.isfinite(times).sum()],
    }
