"""Readings and claims that several studies of the masked rank-one model share."""

import numpy as np

from foretrain.study import CONVERGED, claim

OURS = "docs/theory/masked-rank-one.md"


def generalises(data) -> np.ndarray:
    """Return 1 for runs that reached zero loss and are right on every untrained pair, 0 for others; nan for none."""
    done = (data["outcome"] == CONVERGED) & (data["final_untrained_error"] < 1e-6)
    return done.where(np.isfinite(data["final_loss"])).values


def stuck_counts(logs: np.ndarray, stuck: np.ndarray, exponent: np.ndarray) -> np.ndarray:
    """Return how often each seed is stuck at a smaller scale, and how often it should be from the next larger one.

    A run is stuck from sigma if the share of the leading mode in its start is below some multiple of
    sigma^(1 - s_2/s_1). That share has a density at zero, so that of runs stuck at one scale a part
    (sigma'/sigma)^(1 - s_2/s_1) is stuck at the next. `logs` are logarithms of the scales, ascending, (scale,), `stuck` 1 or
    0, nan where not known, (scale, seed), `exponent` 1 - s_2/s_1 of every seed's mask. Both are summed over scales, (2, seed).
    """
    left = np.exp(-np.diff(logs)[:, None] * exponent)
    return np.array([stuck[:-1].sum(0), (stuck[1:] * left).sum(0)])


def ratio(counted: np.ndarray, expected: np.ndarray) -> np.ndarray:
    """Return one number per seed whose mean is the count over the expected count; nan where none is expected at all.

    The expected number of a seed is taken from its seen one, seed by seed, which leaves the mean as it is and the chance of
    the start out.
    """
    known = np.isfinite(counted)
    each = expected[known].mean() if known.any() else 0.0
    return 1 + (counted - expected) / each if each > 0 else np.full(counted.shape, np.nan)


invariants = claim(
    "invariants",
    "The flow conserves |u|^2 - s^2 and |v|^2 - s^2.",
    lambda c: c.invariant_drift,
    source=OURS,
    at_most=lambda c: 2 * c.p.solver_tolerance * c.p.steps,
    why="Each step may err by the solver's tolerance relative to the weights, twice that in their squares.",
    note="Largest change over all runs and times, relative to |u|^2 + |v|^2 + s^2.",
    rank="control",
)


def curve_ends(c) -> np.ndarray:
    """Return where the recorded loss of every run of every network ends, less its final loss, over its start."""
    trained = [c[name] for name in ("", *c.variants) if "loss" in c[name]]
    gaps = [(runs.end["loss"] - runs["final_loss"]) / runs.start["loss"] for runs in trained]
    return np.concatenate([gap.values.ravel() for gap in gaps])


recorded = claim(
    "recorded",
    "The recorded loss of every run ends at the final loss that is judged.",
    curve_ends,
    source=OURS,
    at_most=1e-9,
    why="Two readings of one state; rounding.",
    note="Largest difference over all runs and networks, over the loss at the start.",
    rank="control",
)
