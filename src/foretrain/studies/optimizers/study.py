"""Optimizers at rank one: does AdamW only accelerate what gradient descent does?"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from foretrain import study as lab
from foretrain.study import Program, Seed, default, generator, parameter
from foretrain.training.factorization import RULES, arrays, learner

SOURCE = "Jermyn & Shlegeris (2022), comments on Adam and AdamW at rank one"
COST = "15 s"
REFERENCES = ("jermyn2022",)
SEEDS = 30
AXES = {
    "optimizer": ("sgd", "adam", "adamw"),
    "init_scale": (1.0, 0.1),
    "learning_rate": (0.001, 0.01),
}
PRESETS = {
    "paper": {"seeds": 200, "learning_rate": (0.0003, 0.001, 0.003, 0.01, 0.03), "steps": 20000}
}
STRONG = 1.0  # a tenth of Adam's step at n = 100, where entries are of order 1/sqrt(n)


@dataclass(frozen=True)
class Parameters(lab.Training):
    """Parameters of the optimizers study; each field's rule says what it may be."""

    dimension: int = parameter(
        100, "n, length of both factors", minimum=2, maximum=10**5, static=True
    )
    optimizer: str = parameter(
        "sgd",
        "full-batch gradient descent, with weight decay, Adam, or AdamW",
        choices=tuple(RULES),
        static=True,
    )
    init_scale: float = parameter(
        1.0, "sigma, standard deviation of the initial entries times sqrt(n)", above=0
    )
    learning_rate: float = default(0.01, "eta, the same for every optimizer")
    weight_decay: float = parameter(
        0.01, "lambda, used by sgd_decay and adamw only", minimum=0, maximum=100
    )
    steps: int = default(6000)
    observe_every: int = default(1)
    loss_tolerance: float = default(
        5e-4, "a run ends when its loss is at most this; that of zero weights is 1"
    )


def variants(p: Parameters) -> dict[str, dict]:
    """Beside it: AdamW with a decay that is a sizeable part of a step; it may keep the loss above the tolerance."""
    strong = {"optimizer": "adamw", "weight_decay": STRONG, "steps": -(-p.steps // 4)}
    return {"strong_decay": strong}


def draw(p: Parameters, seed: Seed):
    """Target and start of one run, NumPy factors of shape (n, 1)."""
    from foretrain.networks.factorization_start import draw_start, draw_target

    target = draw_target(generator(seed, "data"), p.dimension, 1)
    return target, draw_start(generator(seed, "weights"), p.dimension, 1, p.init_scale)


def decay(p: Parameters) -> float:
    """Lambda as the optimizer takes it."""
    return p.weight_decay if p.optimizer in ("sgd_decay", "adamw") else 0.0


def inputs(p: Parameters, seed: Seed) -> dict[str, Any]:
    """What one run feeds to the program; of its bumps nothing is said."""
    given = arrays("mse", *draw(p, seed), p.learning_rate, decay(p))
    return {**given, "prominence": np.float64(0.1), "aligned_at": np.float64(0.25)}


def program(p: Parameters) -> Program:
    """One component of the S-curves."""
    return learner("mse", p.optimizer, 1, p.precision)
