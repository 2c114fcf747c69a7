"""Bumps: how often components grow towards a target and give it up, against everything that may matter."""

from dataclasses import dataclass

import numpy as np

from foretrain.claims.claim import Claim
from foretrain.dynamics.program import Program
from foretrain.plans.grid import LabelledRuns, judge_cells
from foretrain.plans.parameters import parameter
from foretrain.studies.s_curves import study as s_curves

SOURCE = "Jermyn & Shlegeris (2022), comments on bumps, which ask for a quantitative study"
COST = "15 s"
REFERENCES = ("jermyn2022",)
SEEDS = 24
AXES = {
    "optimiser": ("sgd", "adam"),
    "rank": (2, 10, 100),
    "init_scale": (1.0, 0.1),
    "relative_rate": (0.25, 1.0, 4.0, 10.0),
}
PRESETS = {
    "paper": {
        "seeds": 100,
        "optimiser": ("sgd", "sgd_decay", "adam", "adamw"),
        "init_scale": (1.0, 0.3, 0.1),
        "relative_rate": (0.25, 1.0, 2.5, 5.0, 10.0),
        "steps": 2000,
    }
}


@dataclass(frozen=True)
class Parameters(s_curves.Parameters):
    """Parameters of the bumps study: those of the S-curves, and the exchange of a start."""

    exchanged: bool = parameter(
        False,
        "the second component starts reflected so that its overlaps with the first two targets change places",
    )
    steps: int = parameter(1000, "largest number of steps", minimum=1, maximum=10**9)
    observe_every: int = parameter(2, "stride in steps of what is stored", minimum=1, static=True)
    loss_tolerance: float = parameter(
        1e-4, "a run ends when its loss is at most this times that of zero weights", minimum=0
    )


check = s_curves.check
coordinates = s_curves.coordinates


def inputs(parameters: Parameters, root_seed: int, seed: int) -> dict[str, np.ndarray]:
    """What one run feeds to the program."""
    target, start = s_curves.draw(parameters, root_seed, seed)
    if parameters.exchanged:
        start = exchange(target, start)
    return s_curves.make_inputs(parameters, target, start)


def exchange(target, start):
    """The start with its second component reflected in the plane between the first two targets.

    The reflection exchanges a_1 and a_2 (b_1 and b_2 for y) and keeps every length: the second component's overlaps with
    the two targets change places, nothing else does, and its law is the same. Arrays of shape (n, component) throughout.
    """
    reflected = []
    for goal, own in zip(target, start, strict=True):
        if goal.shape[1] < 2 or own.shape[1] < 2:
            return start
        apart = goal[:, 0] - goal[:, 1]
        apart = apart / np.linalg.norm(apart)
        own = own.copy()
        own[:, 1] -= 2 * apart * (apart @ own[:, 1])
        reflected.append(own)
    return type(start)(*reflected)


def program(parameters: Parameters) -> Program:
    """The program of the S-curves."""
    return s_curves.program(parameters)


def variants(parameters: Parameters) -> dict[str, dict]:
    """Beside every cell, rank two from the exchanged start: the matched partner of rank two from the start as drawn."""
    return {"exchanged": {"rank": 2, "components": 0, "exchanged": True}}


def claims(runs: LabelledRuns) -> list[Claim]:
    """Judge the thread's sentences about bumps over the whole grid."""
    from foretrain.studies.bumps import claims as bumps_claims

    claims = judge_cells(bumps_claims.judge_grid, runs, keep=tuple(AXES))
    if "prominence" in runs.axes:
        claims += judge_cells(bumps_claims.judge_thresholds, runs, keep=(*AXES, "prominence"))
    return claims
