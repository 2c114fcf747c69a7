"""Claims on predictions of the graph of trained pairs alone: its components, and the errors that follow from them."""

from typing import Any

import numpy as np
import xarray as xr

from foretrain.quantities.allowed import around
from foretrain.quantities.zero_modes import zero_modes
from foretrain.study import claim
from foretrain.training.translation import GRAPH, PAIR
from foretrain.training.translation_claims import CONVERGE, has_converged

from .study import is_square as is_square_mask

MASKS = ("trained_count",)
LIMIT = ("init_scale", "trained_count")  # of small weights: the smallest scale is looked at


def smallest(values):
    return values.isel(init_scale=0)


def rotations(c) -> float:
    """Return the standard error of a mean of tr O/D, with one random rotation O for every mask."""
    return 1 / (c.p.words * np.sqrt(c.seeds * len(c.values("trained_count"))))


def pair_slope(c):
    """Return the slope through zero of measured against predicted errors of untrained pairs."""
    measured = smallest(c.pair_error.where((c.trained_pairs == 0) & has_converged(c)))
    predicted = smallest(c.theory.predicted_pair_error).where(measured.notnull())
    over = (*MASKS, *PAIR)
    return (measured * predicted).sum(over) / (predicted**2).sum(over)


def chance_gap(c):
    """Return how much more often masks are connected than the exact probability says, weighted by this probability."""
    probability = smallest(c.theory.connection_probability)
    return (probability * (smallest(c.theory.connected) - probability)).mean(MASKS)


def chance_error(c) -> float:
    """Return the standard error of the mean of `chance_gap`, by the law of Bernoulli."""
    probability = smallest(c.theory.connection_probability).isel(seed=0)
    return float(
        (probability**3 * (1 - probability)).sum() ** 0.5 / (probability.size * np.sqrt(c.seeds))
    )


def recorded_gap(c):
    """Return where the recorded untrained error of every run ends, less the mean over its untrained pairs, over one and it."""
    judged = c.pair_error.astype(float).where(c.trained_pairs == 0).mean(PAIR)
    gap = (c.end.untrained_error - judged) / (1 + judged)
    return gap.where((c.trained_pairs == 0).any(PAIR), 0)


def component_gap(c):
    """Return predicted numbers of components less those of the trained pairs' Laplacian."""
    pairs = smallest(c.trained_pairs)
    counted, _ = xr.apply_ufunc(
        zero_modes, pairs.fillna(0), input_core_dims=[PAIR], output_core_dims=[[], PAIR]
    )
    return (smallest(c.theory.component_count) - counted).where(pairs.notnull().all(PAIR))


OF_MASKS: dict[str, Any] = {"source": GRAPH, "along": LIMIT, "rank": "control"}
OF_RUNS: dict[str, Any] = {"source": GRAPH, "along": LIMIT, "among": CONVERGE}
GRAPH_CLAIMS = [
    claim(
        "components",
        "The graph of trained pairs has as many components as its Laplacian has modes of zero.",
        component_gap,
        at_most=0,
        why="Kirchhoff's theorem: two ways to count the same.",
        **OF_MASKS,
    ),
    claim(
        "recorded",
        "The recorded error on untrained pairs of every run ends at the mean of the errors of its pairs that are judged.",
        recorded_gap,
        at_most=lambda c: 1e-10 if c.p.precision == "float64" else 1e-4,
        why="Two means of one state; rounding.",
        note="Largest difference, over one and the mean.",
        **OF_MASKS,
    ),
    claim(
        "connection-chance",
        "Random masks are connected as often as the exact probability says.",
        chance_gap,
        near=0,
        inside=lambda c: around(0, 6 * chance_error(c)),
        why="Six standard errors by the law of Bernoulli: four for the mean, two for its interval.",
        note="Mean over numbers of pairs of the probability times (connected or not, less the probability).",
        where=lambda c: is_square_mask(c.p) and chance_error(c) > 0,
        **OF_MASKS,
    ),
    claim(
        "pair-errors",
        "The graph predicts the error of every untrained pair: 0, 1 across components, 1/2 with a language never trained.",
        pair_slope,
        near=1,
        inside=lambda c: around(1, 6 * rotations(c)),
        why="An error across is 1 - tr O/D, of a random rotation O: six standard errors of as many rotations as there are "
        "masks, four for the mean and two for its interval.",
        note="Slope through zero of measured against predicted errors of untrained pairs, over masks, smallest scale.",
        **OF_RUNS,
    ),
]
