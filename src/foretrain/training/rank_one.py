"""What the studies of a rank-one target read off their runs."""

import math

import numpy as np
import xarray as xr

from foretrain.measures.plateaus import plateau_length


def deviation(measured: xr.DataArray, predicted: xr.DataArray) -> float:
    """Largest deviation of runs from what is predicted of each, as far as they went.

    Args:
        measured: Shape (..., step), nan from where a run has ended.
        predicted: The same dims in any order; it may go on after the longest run.

    Returns:
        The deviation, of every run in units of its own largest number or of 1; inf if a run has more than one observation of
        which nothing is predicted (one may be where numbers overflow), nan if there is no observation at all.
    """
    predicted = predicted.transpose(*measured.dims)[..., : measured.sizes["step"]]
    ran, foretold = np.isfinite(measured.values), np.isfinite(predicted.values)
    if (ran & ~foretold).sum(-1).max(initial=0) > 1:
        return math.inf
    both = ran & foretold
    if not both.any():
        return math.nan
    scale = np.maximum(1, np.abs(np.where(both, measured, 0)).max(-1, keepdims=True))
    gap = np.where(both, measured.values, 0) - np.where(both, predicted.values, 0)
    return float((np.abs(gap) / scale).max())


def lasting(times, curve, upper: float, lower: float) -> float:
    """Time from first reaching the loss `upper` to first reaching `lower` as far as a run went; nan if it does not."""
    kept = np.isfinite(curve)
    if not kept.any() or not curve[0] > 0:
        return math.nan
    length = plateau_length(times[kept], curve[kept], upper=upper, lower=lower)
    return length if math.isfinite(length) else math.nan
