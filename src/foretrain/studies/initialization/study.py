"""From the race to the lazy regime: sharing and generalisation against the scale of the initial weights."""

from dataclasses import dataclass

import numpy as np
import xarray as xr

from foretrain.claims.claim import Claim
from foretrain.errors import argument_error
from foretrain.plans.grid import LabelledRuns
from foretrain.plans.parameters import parameter
from foretrain.studies.trained_fraction import study as trained_fraction
from foretrain.vocabulary import Variable, declare

SOURCE = "Saxe, Sodhani & Lewallen (2022), Fig. 6"
COST = "1 min"
REFERENCES = ("saxe2022", "jacot2018", "chizat2019")
SEEDS = 5
AXES = {"init_scale": (0.05, 0.1, 0.2, 0.66, 1.12, 1.58, 2.04, 2.5)}
PRESETS = {
    "paper": {
        "init_scale": (0.05, 0.1, 0.2, 0.4, 0.66, 1.12, 1.58, 2.04, 2.5, 3.5, 5.0),
        "seeds": 10,
        "steps": 100000,
    }
}


@dataclass(frozen=True)
class Parameters(trained_fraction.Parameters):
    """Parameters of the study: those of `trained_fraction`, with other defaults and fewer domains."""

    domains: int = parameter(
        7, "M, number of input and of output domains", minimum=1, maximum=40, static=True
    )
    learning_rate: float = parameter(
        0.048,
        "step of descent at init_scale 1; as in the paper it goes with init_scale^(-1/3)",
        above=0,
    )
    loss_tolerance: float = parameter(
        1e-8, "a run has converged when its loss is at most this", above=0
    )
    patience: int = parameter(
        6000,
        "a run is stuck when its loss has fallen by less than 1% in this many steps",
        minimum=1,
        maximum=10**9,
    )
    steps: int = parameter(20000, "largest number of steps", minimum=1, maximum=10**9)
    observe_every: int = parameter(5, "stride in steps of what is stored", minimum=1, static=True)


VARIABLES = declare(
    Variable(
        "lazy_loss",
        ("step",),
        meaning="Training loss of the network linearised at its start.",
        source="Jacot et al. (2018)",
    ),
    Variable(
        "lazy_untrained_error",
        ("step",),
        meaning="Error on untrained routes of the network linearised at its start.",
        source="Jacot et al. (2018)",
    ),
    Variable(
        "race_loss",
        ("step",),
        meaning="Training loss of the race from wide random weights, in closed form.",
        source="docs/studies/pathway-race.md",
    ),
    Variable(
        "race_deviation",
        meaning="Mean |loss - race_loss| while the loss falls to 1% of its start, over the start.",
    ),
    Variable(
        "lazy_limit", meaning="Error on untrained routes that the linearised network ends with."
    ),
    Variable(
        "lazy_deviation",
        meaning="Mean |loss - linearised loss| while the loss falls to 1% of its start, over the start.",
    ),
    Variable(
        "rich_deviation",
        meaning="Mean |loss - loss of the reduction from its fitted start| while the loss falls to 1%, over the start.",
    ),
)

program = trained_fraction.program


def check(parameters: Parameters) -> None:
    """Refuse what cannot be, and a tangent kernel that would take hours."""
    trained_fraction.check(parameters)
    routes = parameters.domains * parameters.trained_outputs
    if routes > 144:
        raise argument_error(
            "trained_outputs",
            f"be at most {144 // parameters.domains} with `domains` = {parameters.domains}",
            f"is {parameters.trained_outputs}: the tangent kernel of {routes} routes is too large",
        )


def rate(parameters: Parameters) -> float:
    """Step of descent at the run's own scale."""
    return parameters.learning_rate / parameters.init_scale ** (1 / 3)


def inputs(parameters: Parameters, root_seed: int, seed: int) -> dict[str, np.ndarray]:
    """What one run feeds to the program; a seed starts from the same draw at every scale."""
    pairs = trained_fraction.mask(parameters, root_seed, seed)
    return trained_fraction.run_inputs(parameters, pairs, rate(parameters), root_seed, seed)


def variants(parameters: Parameters) -> dict[str, dict]:
    """A network deep in the lazy end: it takes width as well as scale to get there."""
    width = 4 * parameters.hidden_width
    return {"lazy": {"hidden_width": width, "init_scale": 5.0, "learning_rate": 0.02, "seeds": 3}}


def coordinates(parameters: Parameters, step: np.ndarray) -> dict:
    """Time along the stored steps, and names of the layers."""
    return {
        "time": (("step",), step * rate(parameters)),
        "layer": (("layer",), np.array(["encoders", "hidden", "decoders"])),
    }


def predict(parameters: Parameters, root_seed: int, seeds: int) -> xr.Dataset:
    """Both ends: the reduction from the decoupled start, and the network linearised at its random start."""
    from foretrain.studies.initialization import theory as initialization_theory

    return initialization_theory.predict(parameters, root_seed, seeds)


def fit(runs: LabelledRuns) -> xr.Dataset:
    """How far each seed's loss curve is from both ends; the reduction's start is fitted."""
    from foretrain.studies.initialization import theory as initialization_theory

    return initialization_theory.fit(runs)


def claims(runs: LabelledRuns) -> list[Claim]:
    """Judge what Fig. 6 and section 4.3 say, over all scales."""
    from foretrain.studies.initialization import claims as initialization_claims

    return initialization_claims.judge_grid(runs)
