"""Linear attention learns in context by steps: which levels its loss waits on, which head leaves next, and when."""

from dataclasses import dataclass

import numpy as np

from foretrain import study as lab
from foretrain.study import figure, panel
from foretrain.theory import attention_ladder as theory

SOURCE = "docs/studies/attention-ladder.md"
COST = "30 s"
REFERENCES = ("zhang2025",)
EXPLORE = ("init_scale",)
SEEDS = 40
AXES = {"init_scale": (0.003, 0.01, 0.03), "heads": (8, 2)}
PRESETS = {
    "paper": {"init_scale": (0.001, 0.003, 0.01, 0.03, 0.1), "heads": (8, 1, 2, 4), "seeds": 50}
}
VISIBLE = 10  # settling times that a level has to last to be seen
# Of a head, to their numbers of dims.
WEIGHTS = {"separate": {"value": 0, "keys": 1, "queries": 1}, "merged": {"value": 0, "matrices": 2}}
UNKNOWN, FAST = -1.0, 1e30  # stand in the state of a run for what has not been seen yet
NEAR_END = 1e-3  # a run ends when its loss is this near to the least that there is
lab.declare(
    "mode",
    drop_time="Steps until the loss is half-way to the level of a mode.",
    level="Loss where it falls most slowly, from half-way to a level to half-way to the next.",
    learner="Number of the head that carries a mode in the end, or is predicted to; nan where no mode is learned.",
)


@dataclass(frozen=True)
class Parameters(lab.Run):
    """Regression in context with normal inputs of covariance 1, ..., D over its trace, and the attention that learns it."""

    dimension: int = lab.size(4, "dimension of the inputs", 16, minimum=2, symbol="D")
    context: int = lab.parameter(31, "pairs in a context", symbol="N", minimum=1, maximum=10**6)
    heads: int = lab.size(8, "heads", 64, symbol="H")
    attention: str = lab.choice(
        "rank-one keys and queries a head, or one full matrix", tuple(WEIGHTS), sweepable=False
    )
    sequences: int = lab.size(
        0, "sequences trained on, 0 for the distribution itself", 10**6, minimum=0, sweepable=False
    )
    init_scale: float = lab.parameter(
        0.003, "standard deviation of initial weights", symbol="σ", above=0, maximum=1
    )
    horizon: float = lab.parameter(250.0, "largest product of steps and init_scale", above=0)
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
    return min(p.steps, 3000 if p.attention == "merged" else p.horizon / p.init_scale)


def eigenvalues(p):
    """Return the eigenvalues of the inputs' covariance, descending, of sum 1."""
    return np.arange(p.dimension, 0, -1) / (p.dimension * (p.dimension + 1) / 2)


def inputs(p, seed):
    """Return normal weights and what training sees, along the axes of the covariance: normal weights have no direction."""
    random, data = lab.generator(seed, "weights"), (eigenvalues(p), p.context)
    weights = {
        name: p.init_scale * random.standard_normal((p.heads, *(p.dimension,) * dims))
        for name, dims in WEIGHTS[p.attention].items()
    }
    seen = theory.statistics(*data)
    if p.sequences:
        seen = theory.sampled(*data, p.sequences, lab.generator(seed, "data"))
    ladder = theory.levels(*data)
    least = seen["power"] - seen["cross"] @ np.linalg.solve(seen["square"], seen["cross"])
    return weights | seen | {"half_way": (ladder[1:] + ladder[:-1]) / 2, "least": least}


def program(p):
    """Descend half of E (y - beta^T A x)^2 by steps of one, and watch how the loss comes down its ladder."""
    import jax
    import jax.numpy as jnp

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
        unknown = jnp.full_like(inputs["half_way"], UNKNOWN)
        return weights, jnp.zeros_like(inputs["least"]), unknown, unknown, unknown + FAST

    def step(inputs, state):
        weights, count, time, level, slowest = state
        half, slope = jax.value_and_grad(half_loss)(weights, inputs)
        speed = sum((leaf**2).sum() for leaf in slope.values())
        missing = time == UNKNOWN
        crossed = (2 * half <= inputs["half_way"]) | ~missing
        slower = (jnp.arange(p.dimension) == crossed.sum() - 1) & (speed < slowest)
        time = jnp.where(crossed & missing, count, time)
        level, slowest = jnp.where(slower, 2 * half, level), jnp.where(slower, speed, slowest)
        weights = jax.tree.map(lambda w, down: w - down, weights, slope)
        return weights, count + 1, time, level, slowest

    def done(inputs, state, observed):
        over = state[1] * inputs["init_scale"] >= inputs["horizon"]
        over |= observed["loss"] <= inputs["least"] * (1 + NEAR_END)
        return jnp.where(over, lab.CONVERGED, lab.RUNNING).astype(jnp.int8)

    def finish(inputs, state):
        weights, _, time, level, _ = state
        carried = abs(jnp.diagonal(parts(weights), axis1=1, axis2=2))
        learner = carried.argmax(0).astype(carried.dtype)
        values = {"drop_time": time, "level": level, "learner": learner}
        return {name: jnp.where(time == UNKNOWN, jnp.nan, array) for name, array in values.items()}

    def observe(inputs, state):
        return {"loss": 2 * half_loss(state[0], inputs)}

    return lab.Program(init, step, observe, done=done, finish=finish)


def predict(p, step, seed):
    """Return when each mode is learned and by which head, and those levels that last long enough to be seen."""
    if p.attention == "merged" or p.sequences:
        return {}
    data, horizon = (eigenvalues(p), p.context), p.horizon / p.init_scale
    weights = inputs(p, seed)
    times, heads = theory.drops(*data, horizon, *(weights[name] for name in WEIGHTS[p.attention]))
    ladder, settling = theory.levels(*data), np.append(theory.settling(*data), np.inf)
    waits = np.diff(np.nan_to_num(times, nan=horizon), append=horizon)
    level = np.where(waits > VISIBLE * settling, ladder[1:], np.nan)
    return {"drop_time": times, "learner": heads, "level": level}


def explore(p, step, seed):
    """Predict the loss at every step: the level of a stair that comes down at the times of the drops."""
    drops = (predict(p, step, seed)["drop_time"][:, None] <= step).sum(0)
    return {"loss": theory.levels(eigenvalues(p), p.context)[drops]}


def stair(c):
    """Return the level that each run is told to have come down to, at every stored step."""
    drops = (c.theory.drop_time <= c.loss["step"]).sum("mode")
    return drops.copy(data=theory.levels(eigenvalues(c.p), c.p.context)[drops.values])


FIGURES = {
    "ladder": figure(
        "The loss comes down a ladder that is told beforehand",
        "Loss of three runs against time, which is logarithmic; dashed, the stair told from each run's initial weights, of "
        "levels that the spectrum of the inputs tells. Nothing is fitted.",
        panel(lambda c: c.loss, theory=stair, by="seed", across="heads", most=3, scale="semilogx"),
        legend=4,
        sharey=True,
    )
}
