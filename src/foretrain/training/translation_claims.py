"""What the claims on translation networks look at: kinds of untrained pairs, runs that are stuck, runs that are done."""

from collections.abc import Callable, Iterable

import numpy as np
import xarray as xr

from foretrain.claims.sentence import Exact
from foretrain.measures.settling import unsettled
from foretrain.training.translation import PAIR
from foretrain.vocabulary import CONVERGED, OUT_OF_STEPS


def mean_over(errors: xr.DataArray, pairs: xr.DataArray) -> xr.DataArray:
    """Mean of a pair-wise error over the pairs that are true; nan where there is none."""
    return errors.where(pairs).mean(PAIR)


def within(data: xr.Dataset, theory: xr.Dataset) -> xr.DataArray:
    """Untrained pairs within a component."""
    return (data["trained_pairs"] == 0) & (theory["predicted_pair_error"] == 0)


def converged(data: xr.Dataset) -> xr.DataArray:
    """Runs that reached the loss."""
    return data["outcome"] == CONVERGED


def stuck(data: xr.Dataset) -> xr.DataArray:
    """1 for runs that used up their steps, 0 for those that converged, nan for others (diverged, failed, missing)."""
    known = data["outcome"].isin((CONVERGED, OUT_OF_STEPS))
    return (~converged(data)).astype(float).where(known)


def all_done(data: xr.Dataset, over: Iterable[str]) -> xr.DataArray:
    """Whether every run along these axes converged, or had settled when its steps were used up."""
    loss = data["loss"].transpose(*data["outcome"].dims, "step")
    running = data["outcome"].copy(data=unsettled(loss.values)) & ~converged(data)
    return (stuck(data).notnull() & ~running).all(list(over))


def largest_gap(cell, mask: Callable) -> Exact:
    """How far the first direction of any run is from descent on its stored pairs alone, over the latter's length.

    It is 1 at least where stored pairs are not those that ``mask(parameters, seed)`` draws.
    """
    gap = float(cell.simulation["gradient_gap"].max())
    for one in cell.cells():
        drawn = np.stack([mask(one.parameters, one.seed(seed)) for seed in range(cell.seeds)])
        stored = one.simulation["trained_pairs"].transpose("seed", *PAIR).values
        gap = max(gap, float(np.any((stored != drawn) & np.isfinite(stored))))
    return Exact(gap, "Largest relative distance of the directions.")


def largest_within(data: xr.Dataset, theory: xr.Dataset) -> Exact:
    """The largest error of an untrained pair within a component of a run that converged; nan without such pairs."""
    error = data["pair_error"].where(within(data, theory) & converged(data))
    runs, pairs = int(converged(data).sum()), int(error.notnull().sum())
    return Exact(float(error.max()), f"Largest error of {pairs} pairs of {runs} runs.")


def exactness(cell) -> tuple[float, float]:
    """What `largest_within` may be where factors are square: 0 at zero loss.

    At a loss of l every trained block is off by at most sqrt(2 D |T| l), with |T| < L^2; over a path of n trained pairs
    the error is n^2 |T| l at most. Random masks are joined over paths of 10 at most.
    """
    p = cell.parameters
    return 0, 100 * p.languages**2 * p.loss_tolerance


def rounding(cell) -> tuple[float, float]:
    """What `largest_gap` may be: two ways to one gradient."""
    return 0, 1e-4 if cell.parameters.precision == "float32" else 1e-10
