"""Optimizers: does AdamW only accelerate, what does its decay do, and does Adam make vectors learn at more similar rates?"""

import math
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np

from foretrain.study import Program, Seed, Training, declare, default, float_type
from foretrain.theory.published_rules import factorization_losses
from foretrain.training import factorization

SOURCE = "Jermyn & Shlegeris (2022), comments on Adam and AdamW"
COST = "2 min"
REFERENCES = ("jermyn2022",)
EXPLORE = ("init_scale", "learning_rate")
SEEDS = 30
AXES = {
    "rank": (1, 2, 10),
    "optimizer": ("sgd", "adam", "adamw"),
    "init_scale": (1.0, 0.1),
    "learning_rate": (0.001, 0.01),
}
PRESETS = {
    "paper": {
        "seeds": 200,
        "rank": 1,
        "learning_rate": (0.0003, 0.001, 0.003, 0.01, 0.03),
        "steps": 20000,
    }
}
STRONG = 1.0  # a tenth of Adam's step at n = 100, where entries are of order 1/sqrt(n)
_SEEDS, _STEPS = 8, 300  # held to the rules; steps of higher rank, where one takes longer
declare(
    "component",
    log_learning_step="Mean log of the step at which a component learned, weighed by how much its overlap with the target, "
    "sum_i (a_i . x_j)(b_i . y_j), changed.",
)
declare(zero_loss="Training loss of the zero matrix.")
declare("first_step", strong_loss="Loss of AdamW with strong decay by the published rule.")


@dataclass(frozen=True)
class Parameters(factorization.Factors, Training):
    """Parameters of the optimizers study, each with its rule."""

    dimension: int = default(100, "length of both factors", maximum=10**5)
    rank: int = default(1, "number of components of target and learner")
    learning_rate: float = default(0.01, "learning rate, the same for every optimizer", symbol="η")
    weight_decay: float = default(0.01)
    steps: int = default(6000)
    observe_every: int = default(1)
    loss_tolerance: float = default(
        5e-4, "a run ends when its loss is at most this part of that of zero weights"
    )


def variants(p: Parameters) -> dict[str, dict]:
    """Return AdamW with a decay that is a sizeable part of a step, until it is forgotten, and some runs as they are: exact."""
    exact, steps = {"precision": "float64"}, min(p.steps, forgetting_steps(p)[1])
    strong = {"optimizer": "adamw", "weight_decay": STRONG, "steps": steps, "loss_tolerance": 0.0}
    steps = p.steps if p.rank == 1 else min(p.steps, _STEPS)
    return {"strong_decay": exact | strong, "double": exact | {"steps": steps, "seeds": _SEEDS}}


def forgetting_steps(p: Parameters) -> tuple[int, int]:
    """Return the stored steps between which the loss that strong decay leaves is compared with the forgetting of beta_2."""
    # After a memory of beta_2, and fifteen times the steps in which Adam moves entries as far as they are to go.
    learned = 1000 + 15 / (p.learning_rate * p.dimension**0.5)
    first, length = (math.ceil(steps / p.observe_every) for steps in (learned, 500))
    return first * p.observe_every, (first + length) * p.observe_every


def draw(p: Parameters, seed: Seed):
    """Target and start of one run, those of the S-curves: NumPy factors of shape (n, r)."""
    size = {"dimension": p.dimension, "rank": p.rank, "init_scale": p.init_scale}
    return factorization.draw(factorization.Factorization(**size), seed)


def decay(p: Parameters) -> float:
    """Lambda as the optimizer takes it."""
    return p.weight_decay if p.optimizer in ("sgd_decay", "adamw") else 0.0


def inputs(p: Parameters, seed: Seed) -> dict[str, Any]:
    """Return the inputs of one run; nothing is claimed of its bumps."""
    known = factorization.arrays("mse", *draw(p, seed), p.learning_rate, decay(p))
    return {**known, "prominence": np.float64(0.1), "aligned_at": np.float64(0.25)}


def program(p: Parameters) -> Program:
    """The network of the S-curves, and when its components learn; of its curves the loss alone is stored."""
    import jax
    import jax.numpy as jnp

    network = factorization.learner("mse", p.optimizer, p.rank, float_type(p.precision))
    done, last = network.done, network.finish
    assert done is not None, "`learner` ends its runs"
    assert last is not None, "`learner` says how its runs ended"

    def overlaps(inputs, factors):
        goal = inputs["goal_left"], inputs["goal_right"]
        left, right = (jnp.einsum("jn,in->ji", *pair) for pair in zip(factors, goal, strict=True))
        return (left * right).sum(1)

    def init(inputs):
        state = network.init(inputs)
        learned = overlaps(inputs, state[0])
        # Behind a barrier as in `learner`, for the same reason.
        nothing = jax.lax.optimization_barrier(jnp.zeros_like(learned))
        return state, (learned, nothing, nothing, jnp.zeros((), learned.dtype))

    def step(inputs, state):
        before, (learned, changed, logs, count) = state
        after = network.step(inputs, before)
        now = overlaps(inputs, after[0])
        change = abs(now - learned)
        count = count + 1
        return after, (now, changed + change, logs + change * jnp.log(count), count)

    def finish(inputs, state):
        inner, (_, changed, logs, _) = state
        return {**last(inputs, inner), "log_learning_step": logs / changed, "zero_loss": inner[-1]}

    return Program(
        init,
        step,
        lambda inputs, state: {"loss": network.observe(inputs, state[0])["loss"]},
        lambda inputs, state, _: done(inputs, state[0], network.observe(inputs, state[0])),
        finish,
    )


def predict(p, step, seed):
    """The loss from a run's own start, and that of AdamW with strong decay, in the precision of the runs.

    It is that of the first seeds, beyond rank one and with strong decay of the first steps, nan elsewhere.
    """
    losses = {"loss": _curve(p, step, seed, p.rank == 1)}
    if p.optimizer == "adamw":
        strong = replace(p, **variants(p)["strong_decay"])
        losses["strong_loss"] = _curve(strong, step[: _STEPS // p.observe_every + 1], seed, False)
    return losses


def explore(p, step, seed):
    short = p if p.rank == 1 else replace(p, steps=min(p.steps, _STEPS))
    curve = _losses(short, seed.root, seed.number, 1)[: len(step), 0]
    return {"loss": np.pad(curve, (0, len(step) - len(curve)), constant_values=np.nan)}


def _curve(p, step, seed, whole):
    losses = np.full(len(step), np.nan, float_type(p.precision))  # many long curves
    if seed.number < _SEEDS:
        short = p if whole else replace(p, steps=min(p.steps, _STEPS))
        curve = _losses(short, seed.root, 0, _SEEDS)[:, seed.number]
        losses[: len(curve)] = curve[: len(step)]
    return losses


@lru_cache(maxsize=4)
def _losses(p, root, first, many):
    """Losses at the stored steps of so many seeds, shape (step, seed)."""
    seeds = (Seed(root, number) for number in range(first, first + many))
    drawn = np.array([[[f.T for f in pair] for pair in draw(p, seed)] for seed in seeds])
    # Shape (a or b, seed, r, n), (x or y, seed, r, n).
    target, start = drawn.transpose(1, 2, 0, 3, 4)
    stored = {"steps": p.steps, "every": p.observe_every, "tolerance": p.loss_tolerance}
    return factorization_losses(start, p.learning_rate, target, p.optimizer, decay(p), **stored)
