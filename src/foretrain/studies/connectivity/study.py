"""Which untrained pairs generalise, predicted before training from the graph of trained pairs alone."""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from foretrain.errors import argument_error
from foretrain.plans.parameters import default, parameter
from foretrain.streams import Seed, generator
from foretrain.tasks.masks import nested
from foretrain.theory.connectivity import (
    LARGEST_EXACT,
    across_scale,
    connection_probability,
    isolation_estimate,
)
from foretrain.training import translation
from foretrain.training.translation import GRAPH, PAIR
from foretrain.training.translation import estimate as estimate
from foretrain.training.translation import program as program
from foretrain.vocabulary import Variable, declare

SOURCE = GRAPH
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
declare(
    Variable("connected", kind="bool", meaning="Whether all domains lie in one component."),
    Variable(
        "connection_probability",
        meaning="Probability that a random mask with so many trained pairs is connected.",
        source=GRAPH,
    ),
    Variable(
        "across_scale",
        PAIR,
        meaning="By how much the map of a pair is longer than that of a pair within a component; rho.",
        source=GRAPH,
    ),
)


@dataclass(frozen=True)
class Parameters(translation.Languages):
    """Languages, how many pairs are trained, and when a pair generalises."""

    languages: int = default(6)
    words: int = default(4)
    diagonal: bool = default(False)
    trained_count: int = parameter(16, "number of trained pairs", minimum=1)
    generalises_below: float = parameter(
        0.1, "a pair generalises if its error is below this; answering nothing costs 1/2", above=0
    )


def check(p: Parameters) -> None:
    """Refuse masks that do not exist and networks that are too narrow."""
    fewest, most = p.languages if p.diagonal else 1, p.languages**2
    if not fewest <= p.trained_count <= most:
        raise argument_error(
            "trained_count", f"be between {fewest} and {most}", f"is {p.trained_count}"
        )
    translation.check_width(p)


def mask(p: Parameters, seed: Seed) -> np.ndarray:
    """Trained pairs T of one run: drawn anew for every seed and number of pairs, the same for all scales and widths."""
    return _mask(p.languages, p.trained_count, p.diagonal, seed)


def _mask(languages, count, diagonal, seed):
    return nested(languages, count, generator(seed, f"mask {count}"), diagonal=diagonal)


def inputs(p: Parameters, seed: Seed) -> dict[str, np.ndarray]:
    """The trained pairs."""
    return {"trained_pairs": mask(p, seed).astype(float)}


def predict(p: Parameters, step: np.ndarray, seed: Seed) -> dict[str, np.ndarray]:
    """Which pairs generalise, from the mask alone, and how often such masks are connected."""
    return _predicted(p.languages, p.trained_count, p.diagonal, seed)


@lru_cache(10**4)
def _predicted(languages, count, diagonal, seed):
    trained = _mask(languages, count, diagonal, seed)
    found = translation.predicted(trained)
    exact = languages <= LARGEST_EXACT[diagonal]
    chance = connection_probability if exact else isolation_estimate
    return {
        **found,
        "across_scale": across_scale(trained),
        "connected": found["component_count"] == 1,
        "connection_probability": np.float64(chance(languages, count, diagonal=diagonal)),
    }
