"""Circulant masks of growing width: generalisation against alignment, down to the smallest weights."""

from dataclasses import dataclass

import numpy as np
import xarray as xr

from foretrain.claims.claim import Claim
from foretrain.dynamics.program import Program
from foretrain.errors import argument_error
from foretrain.plans.grid import LabelledRuns
from foretrain.plans.parameters import parameter
from foretrain.studies.masked_rank_one import study as toy
from foretrain.tasks import masks
from foretrain.vocabulary import Variable, declare

SOURCE = "Note on shared representations, section 3, end"
COST = "40 s"
REFERENCES = ("saxe2022",)
SEEDS = 60
# The flow has no scale of its own, so that double precision reaches down to where s u v^T would underflow.
AXES = {
    "width": (2, 3, 5, 7, 9),
    "init_scale": (0.3, 0.1, 1e-2, 1e-3, 1e-4, 1e-6, 1e-8, 1e-16, 1e-32, 1e-64),
}
PRESETS = {
    "paper": {
        "width": (2, 3, 4, 5, 6, 7, 8, 9),
        "init_scale": (
            *(1, 0.3, 0.1, 0.03, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8),
            *(1e-12, 1e-16, 1e-24, 1e-32, 1e-48, 1e-64),
        ),
        "seeds": 200,
    }
}


@dataclass(frozen=True)
class Parameters(toy.FlowParameters):
    """Parameters of the study; each field's rule says what it may be."""

    width: int = parameter(
        5, "w, number of consecutive outputs that every input is trained with", minimum=1
    )
    init_scale: float = parameter(
        1e-2, "sigma, standard deviation of every initial weight", minimum=1e-64
    )
    steps: int = parameter(
        4000,
        "largest number of attempted solver steps; a run above the tolerance is then stuck",
        minimum=1,
        maximum=10**9,
    )
    observe_every: int = parameter(50, "stride in steps of what is stored", minimum=1, static=True)


VARIABLES = declare(
    Variable("second_over_first", meaning="s_2/s_1 of the mask."),
    Variable(
        "predicted_misalignment",
        ("stage",),
        meaning="Misalignment of the linearised flow where it reaches a stage.",
    ),
    Variable(
        "predicted_agreement",
        ("stage",),
        kind="bool",
        meaning="Whether s u_i v_j > 0 for all pairs in the linearised flow where it reaches a stage.",
    ),
)


def check(parameters: Parameters) -> None:
    """Refuse bands wider than the mask, and steps that the precision cannot resolve."""
    if parameters.width > parameters.domains:
        raise argument_error(
            "width", f"be at most `domains` = {parameters.domains}", f"is {parameters.width}"
        )
    toy.check_precision(parameters)


def draw(parameters: Parameters, root_seed: int, seed: int) -> toy.Draw:
    """The band, and the unit start of one seed: the same at every width and init_scale."""
    trained = masks.circulant(parameters.domains, parameters.width).astype(float)
    return toy.Draw(trained, *toy.unit_start(parameters.domains, root_seed, seed))


def inputs(parameters: Parameters, root_seed: int, seed: int) -> dict[str, np.ndarray]:
    """What one run feeds to the program."""
    return toy.flight_inputs(draw(parameters, root_seed, seed), parameters)


def program(parameters: Parameters) -> Program:
    """The flow of the masked rank-one model; see `foretrain.studies.masked_rank_one.study`."""
    return toy.program(parameters)


coordinates = toy.coordinates
estimate = toy.estimate


def predict(parameters: Parameters, root_seed: int, seeds: int) -> xr.Dataset:
    """What the linearised flow says of every seed before it is trained; see `circulant_theory`."""
    from foretrain.studies.circulant import theory as circulant_theory

    return circulant_theory.predict(parameters, root_seed, seeds)


def claims(runs: LabelledRuns) -> list[Claim]:
    """Judge the end of the note's section 3, width by width along every line of initial scales."""
    from foretrain.studies.circulant import claims as circulant_claims

    return circulant_claims.judge_grid(runs)
