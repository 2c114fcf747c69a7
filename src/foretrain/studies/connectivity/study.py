"""Which untrained pairs generalise, predicted before training from the graph of trained pairs alone."""

from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from foretrain.study import Seed, Variable, argument_error, declare, default, generator, parameter
from foretrain.tasks.masks import nested
from foretrain.theory import connectivity
from foretrain.training import translation
from foretrain.training.translation import GRAPH, PAIR

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


program, estimate = translation.program, translation.estimate


def check(p: Parameters) -> None:
    """Refuse masks that do not exist and networks that are too narrow."""
    fewest, most = p.languages if p.diagonal else 1, p.languages**2
    if not fewest <= p.trained_count <= most:
        rule = f"be between {fewest} and {most}"
        raise argument_error("trained_count", rule, f"is {p.trained_count}")
    translation.check_width(p)


def mask(p: Parameters, seed: Seed) -> np.ndarray:
    """Trained pairs T of one run: drawn anew for every seed and number of pairs, the same for all scales and widths."""
    random = generator(seed, f"mask {p.trained_count}")
    return nested(p.languages, p.trained_count, random, diagonal=p.diagonal)


def inputs(p: Parameters, seed: Seed) -> dict[str, np.ndarray]:
    """The trained pairs."""
    return {"trained_pairs": mask(p, seed).astype(float)}


def predict(p: Parameters, step: np.ndarray, seed: Seed) -> dict[str, np.ndarray]:
    """Which pairs generalise, from the mask alone, and how often such masks are connected."""
    return _predicted(replace(p, hidden_width=p.words, init_scale=1.0), seed)  # the same for all


@lru_cache(10**4)
def _predicted(p, seed):
    trained = mask(p, seed)
    found = translation.predicted(trained)
    exact = p.languages <= connectivity.LARGEST_EXACT[p.diagonal]
    chance = connectivity.connection_probability if exact else connectivity.isolation_estimate
    probability = chance(p.languages, p.trained_count, diagonal=p.diagonal)
    return {
        **found,
        "across_scale": connectivity.across_scale(trained),
        "connected": found["component_count"] == 1,
        "connection_probability": np.float64(probability),
    }
