"""Which untrained pairs generalise, predicted before training from the graph of trained pairs alone."""

from dataclasses import dataclass

import numpy as np
import xarray as xr

from foretrain.claims.claim import Claim
from foretrain.dynamics.program import Program
from foretrain.errors import argument_error
from foretrain.plans.grid import LabelledRuns, judge_cells
from foretrain.plans.parameters import parameter
from foretrain.streams import generator
from foretrain.studies.translation import study as translation
from foretrain.tasks.masks import components, nested
from foretrain.theory.connectivity import (
    LARGEST_EXACT,
    connection_probability,
    isolation_estimate,
)
from foretrain.vocabulary import Variable, declare

SOURCE = "docs/theory/connectivity.md"
COST = "1 min"
REFERENCES = ("saxe2022", "sommeijer1998")
SEEDS = 60
AXES = {
    "hidden_width": (4, 8),
    "init_scale": (0.3, 0.1, 0.03, 0.01, 0.003),
    "trained_count": (8, 10, 12, 14, 16, 18, 20, 23, 26),
}
PRESETS = {
    "paper": {
        "languages": 10,
        "words": 8,
        "hidden_width": (8, 16),
        "trained_count": (14, 18, 22, 26, 30, 34, 40, 50),
        "seeds": 70,
    }
}


@dataclass(frozen=True)
class Parameters:
    """Parameters of the study; each field's rule says what it may be."""

    languages: int = parameter(
        6, "L, number of languages, all of them in and out", minimum=2, maximum=1000, static=True
    )
    words: int = parameter(
        4, "D, number of words of each language", minimum=1, maximum=10**4, static=True
    )
    hidden_width: int = parameter(
        8, "H, width of both hidden layers", minimum=1, maximum=10**5, static=True
    )
    init_scale: float = parameter(0.03, "sigma, standard deviation of all initial weights", above=0)
    trained_count: int = parameter(16, "number of trained pairs", minimum=1)
    diagonal: bool = parameter(
        False, "whether every language is trained with itself, before any other pair"
    )
    generalises_below: float = parameter(
        0.1, "a pair generalises if its error is below this; answering nothing costs 1/2", above=0
    )
    step_tolerance: float = parameter(
        1e-2, "largest relative error of a step of the flow's solver", above=0, maximum=0.1
    )
    stages: int = parameter(
        6, "evaluations within a step of the flow's solver", minimum=2, maximum=50, static=True
    )
    loss_tolerance: float = parameter(
        1e-6, "a run has converged when its loss is at most this", above=0
    )
    steps: int = parameter(
        2000, "attempted steps after which a run counts as stuck", minimum=1, maximum=10**9
    )
    observe_every: int = parameter(20, "stride in steps of what is stored", minimum=1, static=True)
    precision: str = parameter(
        "float32", "floating-point type", choices=("float32", "float64"), static=True
    )


VARIABLES = declare(
    Variable("connected", kind="bool", meaning="Whether all domains lie in one component."),
    Variable(
        "connection_probability",
        meaning="Probability that a random mask with so many trained pairs is connected.",
        source="docs/theory/connectivity.md",
    ),
)


def check(parameters: Parameters) -> None:
    """Refuse masks that do not exist and networks that are too narrow."""
    fewest = parameters.languages if parameters.diagonal else 1
    most = parameters.languages**2
    if not fewest <= parameters.trained_count <= most:
        raise argument_error(
            "trained_count", f"be between {fewest} and {most}", f"is {parameters.trained_count}"
        )
    if parameters.hidden_width < parameters.words:
        raise argument_error(
            "hidden_width",
            f"be at least `words` = {parameters.words}, the rank of a translation",
            f"is {parameters.hidden_width}",
        )


def mask(parameters, root_seed: int, seed: int) -> np.ndarray:
    """Trained pairs T of one run: drawn anew for every seed and number of pairs, the same for all scales and widths."""
    count = parameters.trained_count
    random = generator(root_seed, seed, f"mask {count}")
    return nested(parameters.languages, count, random, diagonal=parameters.diagonal)


def inputs(parameters, root_seed: int, seed: int) -> dict[str, np.ndarray]:
    """What one run feeds to the program."""
    return translation.run_inputs(parameters, mask(parameters, root_seed, seed))


def program(parameters) -> Program:
    """The network and flow of the study ``translation``."""
    return translation.program(
        translation.Parameters(
            languages=parameters.languages,
            words=parameters.words,
            hidden_width=parameters.hidden_width,
            stages=parameters.stages,
            observe_every=parameters.observe_every,
            precision=parameters.precision,
        )
    )


def estimate(parameters) -> float:
    """Attempted steps of a run, roughly."""
    return translation.estimate(parameters)


def predict(parameters, root_seed: int, seeds: int) -> xr.Dataset:
    """Which pairs generalise, from each seed's mask, and how often such masks are connected."""
    drawn = [mask(parameters, root_seed, seed) for seed in range(seeds)]
    theory = translation.predict_from(drawn)
    connected = [max(labels.max() for labels in components(one)) == 0 for one in drawn]
    size = (parameters.languages, parameters.trained_count)
    exact = parameters.languages <= LARGEST_EXACT[parameters.diagonal]
    chance = connection_probability if exact else isolation_estimate
    return theory.assign(
        connected=("seed", np.array(connected)),
        connection_probability=chance(*size, diagonal=parameters.diagonal),
    )


def claims(runs: LabelledRuns) -> list[Claim]:
    """Judge the conjecture over the whole grid."""
    from foretrain.studies.connectivity import claims as connectivity_claims

    return judge_cells(connectivity_claims.judge_grid, runs, keep=connectivity_claims.AXES)
