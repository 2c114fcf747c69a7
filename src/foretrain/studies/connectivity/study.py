"""Which untrained pairs generalise, predicted before training from the graph of trained pairs alone."""

from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from foretrain.study import Seed, argument_error, declare, default, generator, parameter
from foretrain.tasks.masks import nested
from foretrain.theory import connectivity
from foretrain.training import translation
from foretrain.training.translation import GRAPH

SOURCE = GRAPH
COST = "2 min"
REFERENCES = ("saxe2022", "sommeijer1998")
SEEDS = 100
EXPLORE = ("trained_count",)
AXES = {
    "hidden_width": (4, 8),
    "init_scale": (0.3, 0.1, 0.03, 0.01, 0.003),
    "trained_count": (8, 10, 12, 14, 16, 18, 20, 23, 26),
}
BESIDE = 0.01  # largest scale beside which masks of other shapes are trained
PRESETS = {
    "paper": {
        "languages": 10,
        "words": 8,
        "hidden_width": (8, 16),
        "trained_count": (14, 18, 22, 26, 30, 34, 40, 50),
        "seeds": 100,
    }
}
declare(kind="bool", connected="Whether all domains lie in one component.")
declare(
    source=GRAPH,
    connection_probability="Probability that a random mask with so many trained pairs is connected.",
)
declare(
    "input_domain output_domain",
    source=GRAPH,
    across_scale="By how much the map of a pair is longer than that of a pair within a component; rho.",
)


@dataclass(frozen=True)
class Parameters(translation.Languages):
    """Languages, how many pairs are trained, and when a pair generalises."""

    languages: int = default(6)
    words: int = default(4)
    diagonal: bool = default(False)
    trained_count: int = parameter(16, "number of trained pairs", minimum=1)
    output_languages: int = parameter(
        0, "languages that are translated into, of all that are read; 0 for all of them", minimum=0
    )
    generalises_below: float = parameter(
        0.1, "a pair generalises if its error is below this; answering nothing costs 1/2", above=0
    )


program, estimate = translation.program, translation.estimate


def variants(p: Parameters) -> dict[str, dict]:
    """Masks that are not square, and sparse ones of many languages, see ``docs/studies/connectivity.md``."""
    if p.hidden_width != 2 * p.words or p.init_scale > BESIDE or p.diagonal or p.output_languages:
        return {}
    small = {"init_scale": p.init_scale**1.5, "seeds": 5}
    more = {"languages": 4 * p.languages, "trained_count": 4 * p.trained_count}
    networks, outputs = {"sparse": small | more}, max(1, 2 * p.languages // 3)
    if p.trained_count <= 2 * p.languages * outputs:
        other = {"languages": 2 * p.languages, "output_languages": outputs}
        networks["rectangular"] = small | other
    return networks


def is_square(p: Parameters) -> bool:
    """Return True where as many languages are translated into as are read."""
    return p.output_languages in (0, p.languages)


def check(p: Parameters) -> None:
    outputs = p.output_languages or p.languages
    if outputs > p.languages or (p.diagonal and outputs < p.languages):
        rule = f"be 0 or {'' if p.diagonal else 'at most '}{p.languages}, the number of `languages`"
        raise argument_error("output_languages", rule, f"is {outputs}")
    fewest, most = p.languages if p.diagonal else 1, p.languages * outputs
    if not fewest <= p.trained_count <= most:
        rule = f"be between {fewest} and {most}"
        raise argument_error("trained_count", rule, f"is {p.trained_count}")
    translation.check_width(p)


def mask(p: Parameters, seed: Seed) -> np.ndarray:
    """Trained pairs T of one run: drawn anew for every seed and number of pairs, the same for all scales and widths."""
    random = generator(seed, f"mask {p.trained_count}")
    if is_square(p):
        return nested(p.languages, p.trained_count, random, diagonal=p.diagonal)
    # Languages that nothing is translated into are outputs that no pair trains.
    drawn = random.permutation(p.languages * p.output_languages)[: p.trained_count]
    trained = np.zeros((p.languages, p.languages), np.int8)
    trained[drawn // p.output_languages, drawn % p.output_languages] = 1
    return trained


def inputs(p: Parameters, seed: Seed) -> dict[str, np.ndarray]:
    return {"trained_pairs": mask(p, seed).astype(float)}


def predict(p: Parameters, step: np.ndarray, seed: Seed) -> dict[str, np.ndarray]:
    """Predict the pairs that generalise, from the mask alone, and how often such masks are connected."""
    return _predicted(replace(p, hidden_width=p.words, init_scale=1.0), seed)  # the same for all


@lru_cache(10**4)
def _predicted(p, seed):
    trained = mask(p, seed)
    graph = translation.predict_pairs(trained)
    exact = p.languages <= connectivity.LARGEST_EXACT[p.diagonal]
    chance = connectivity.connection_probability if exact else connectivity.isolation_estimate
    size = p.languages, p.trained_count
    probability = chance(*size, diagonal=p.diagonal) if is_square(p) else np.nan
    return {
        **graph,
        "across_scale": connectivity.across_scale(trained),
        "connected": graph["component_count"] == 1,
        "connection_probability": np.float64(probability),
    }
