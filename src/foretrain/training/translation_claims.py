"""Kinds of pairs and of runs that claims on translation networks speak of, and the claim that all of these studies make."""

from collections.abc import Callable

import numpy as np
import xarray as xr

from foretrain.claims.sentence import Sentence, claim
from foretrain.quantities.learning_curves.settling import unsettled
from foretrain.quantities.measured import Exact, skip_if
from foretrain.training.translation import GRAPH, PAIR
from foretrain.vocabulary import CONVERGED, OUT_OF_STEPS, STALLED

CONVERGE = "runs that converge"


def is_square(c) -> bool:
    """Return True where all factors are square, H = D."""
    return c.p.hidden_width == c.p.words


def is_wide(c) -> bool:
    """Return True where hidden layers have directions to spare, H >= 2 D."""
    return c.p.hidden_width >= 2 * c.p.words


def mean_over(errors: xr.DataArray, pairs: xr.DataArray) -> xr.DataArray:
    """Return the mean of a pair-wise error over the pairs that are true; nan where there is none."""
    return errors.where(pairs).mean(PAIR)


def within_components(c) -> xr.DataArray:
    """Return which pairs are untrained ones within a component."""
    return (c.trained_pairs == 0) & (c.theory.predicted_pair_error == 0)


def has_converged(c) -> xr.DataArray:
    return c.outcome == CONVERGED


def is_stuck(c) -> xr.DataArray:
    """Return 1 for runs that are stuck or used up their steps, 0 for runs that converged, nan for others (such as missing)."""
    known = c.outcome.isin((CONVERGED, STALLED, OUT_OF_STEPS))
    return (~has_converged(c)).astype(float).where(known)


def all_done(c, over: tuple[str, ...]) -> xr.DataArray:
    """Return where every run along some axes converged, is stuck for good, or had settled when its steps were used up."""
    loss = c.loss.transpose(*c.outcome.dims, "step")
    running = c.outcome.copy(data=unsettled(loss.values)) & (c.outcome == OUT_OF_STEPS)
    return (is_stuck(c).notnull() & ~running).all(over)


def both_ends(values: xr.DataArray) -> tuple[xr.DataArray, xr.DataArray]:
    """Return the values at the smallest and at the largest initial scale; raise `NotApplicable` where there is one scale."""
    skip_if(values.sizes["init_scale"] < 2, "`init_scale` has one value")
    return values.isel(init_scale=0, drop=True), values.isel(init_scale=-1, drop=True)


def trained_pairs_alone(mask: Callable, over: tuple[str, ...]) -> Sentence:
    """Make the claim that runs begin with descent on their stored pairs alone, those that ``mask(parameters, seed)`` draws."""

    def gap(c):
        # The largest distance of the first direction from descent, over the latter's length; 1 where other pairs are stored.
        worst = float(c.gradient_gap.max())
        for cell in c.cells():
            drawn = np.stack([mask(cell.parameters, cell.seed(seed)) for seed in range(c.seeds)])
            stored = cell.simulation["trained_pairs"].transpose("seed", *PAIR).values
            worst = max(worst, float(np.any((stored != drawn) & np.isfinite(stored))))
        return Exact(worst, "Largest relative distance of the directions.")

    return claim(
        "trained-pairs-alone",
        "Weights move along the descent direction of the mask's pairs alone: no gradient comes from an untrained one.",
        gap,
        source=GRAPH,
        at_most=lambda c: 1e-10 if c.p.precision == "float64" else 1e-4,
        why="Two ways to one gradient differ by rounding, one pair more or less of |T| by about its share, 1/|T|.",
        along=over,
        rank="control",
    )
