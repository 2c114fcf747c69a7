"""Optimizers at rank one: does AdamW only accelerate what gradient descent does?"""

from dataclasses import dataclass

import numpy as np

from foretrain.claims.claim import Claim
from foretrain.dynamics.program import Program
from foretrain.plans.grid import LabelledRuns, judge_cells
from foretrain.plans.parameters import parameter
from foretrain.studies.s_curves import study as s_curves

SOURCE = "Jermyn & Shlegeris (2022), comments on Adam and AdamW at rank one"
COST = "10 s"
REFERENCES = ("jermyn2022",)
SEEDS = 30
AXES = {
    "optimiser": ("sgd", "adam", "adamw"),
    "init_scale": (1.0, 0.1),
    "learning_rate": (0.001, 0.01),
}
PRESETS = {
    "paper": {
        "seeds": 200,
        "learning_rate": (0.0003, 0.001, 0.003, 0.01, 0.03),
        "steps": 20000,
    }
}


@dataclass(frozen=True)
class Parameters:
    """Parameters of the optimizers study; each field's rule says what it may be."""

    dimension: int = parameter(
        100, "n, length of both factors", minimum=2, maximum=10**5, static=True
    )
    optimiser: str = parameter(
        "sgd",
        "full-batch gradient descent, with weight decay, Adam, or AdamW",
        choices=("sgd", "sgd_decay", "adam", "adamw"),
        static=True,
    )
    init_scale: float = parameter(
        1.0, "sigma, standard deviation of the initial entries times sqrt(n)", above=0
    )
    learning_rate: float = parameter(0.01, "eta, the same for every optimiser", above=0)
    weight_decay: float = parameter(
        0.01, "lambda, used by sgd_decay and adamw only", minimum=0, maximum=100
    )
    steps: int = parameter(6000, "largest number of steps", minimum=1, maximum=10**9)
    observe_every: int = parameter(1, "stride in steps of what is stored", minimum=1, static=True)
    loss_tolerance: float = parameter(
        5e-4, "a run ends when its loss is at most this; that of zero weights is 1", minimum=0
    )
    precision: str = parameter(
        "float32", "floating-point type", choices=("float32", "float64"), static=True
    )


def in_full(parameters: Parameters) -> s_curves.Parameters:
    """The same run in the parameters of the S-curves."""
    reference = s_curves.REFERENCE_RATES[parameters.optimiser]
    return s_curves.Parameters(
        dimension=parameters.dimension,
        rank=1,
        optimiser=parameters.optimiser,
        init_scale=parameters.init_scale,
        relative_rate=parameters.learning_rate / reference,
        weight_decay=parameters.weight_decay,
        steps=parameters.steps,
        observe_every=parameters.observe_every,
        loss_tolerance=parameters.loss_tolerance,
        precision=parameters.precision,
    )


def inputs(parameters: Parameters, root_seed: int, seed: int) -> dict[str, np.ndarray]:
    """What one run feeds to the program."""
    return s_curves.inputs(in_full(parameters), root_seed, seed)


def program(parameters: Parameters) -> Program:
    """The program of the S-curves at rank one."""
    return s_curves.program(in_full(parameters))


def coordinates(parameters: Parameters, step: np.ndarray) -> dict:
    """Time along the stored steps: steps times learning rate, for Adam too, though it is no flow's time there."""
    return {"time": (("step",), step * parameters.learning_rate)}


def claims(runs: LabelledRuns) -> list[Claim]:
    """Compare the loss curves of the optimisers, seed by seed."""
    from foretrain.studies.optimizers import claims as optimizers_claims

    return judge_cells(optimizers_claims.judge_grid, runs, keep=tuple(AXES))
