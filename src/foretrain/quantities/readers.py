"""Readings on labelled arrays that quantities share: slopes in logarithms, first crossings, distances from theory."""

from __future__ import annotations

import numpy as np

from foretrain.lazy import xr
from foretrain.quantities.learning_curves.learning_time import crossing_time
from foretrain.quantities.learning_curves.slopes import power
from foretrain.quantities.measured import NotApplicable


def slope(values: xr.DataArray, axis: str, least: int = 3) -> xr.DataArray:
    """Return the least-squares slope of ln values along ln of an axis.

    Args:
        values: Positive, with the dim `axis` and its coordinate; nan where unknown.
        axis: Name of the axis.
        least: Fewest values of the axis that tell a slope.

    Returns:
        Without the dim `axis`; nan for a seed of which a value is unknown or not positive.

    Raises:
        NotApplicable: the axis has fewer positive values.

    Example:
        >>> import xarray as xr
        >>> scale = xr.DataArray([0.01, 0.1, 1.0], dims="init_scale", name="init_scale")
        >>> loss = (scale**2).assign_coords(init_scale=scale)
        >>> float(slope(loss, "init_scale").round(6))
        2.0
    """
    values = values.where(values[axis] > 0, drop=True)
    if values.sizes[axis] < least:
        raise NotApplicable(f"`{axis}` has fewer than {least} values")
    return xr.apply_ufunc(
        lambda y: power(
            values[axis].values, np.moveaxis(y, -1, 0).reshape(y.shape[-1], -1)
        ).reshape(y.shape[:-1]),
        values,
        input_core_dims=[[axis]],
    )


def crossing(values: xr.DataArray, level: xr.DataArray | float, time: str = "time") -> xr.DataArray:
    """Return when a curve first crosses a level from below, interpolated; nan where it never does.

    Args:
        values: With the dim ``step`` and the coordinate `time` along it.
        level: A number, or one for each curve.
        time: Coordinate that gives the time, in its unit; "step" for steps.
    """
    level = xr.broadcast(xr.DataArray(level), values.isel(step=0, drop=True))[0]
    curves = values.transpose(..., "step")
    times = crossing_time(
        values[time].values, curves.values, level.transpose(*curves.dims[:-1]).values
    )
    return values.isel(step=0, drop=True).transpose(*curves.dims[:-1]).copy(data=times)


def half_time(values: xr.DataArray, final: xr.DataArray | float) -> xr.DataArray:
    """Return when a rising curve first reaches half of its final value, as `crossing`; of modes, with the dim ``mode``."""
    return crossing(values, final / 2)


def relative_gap(values: xr.DataArray, expected: xr.DataArray) -> xr.DataArray:
    """Return the deviation from what is expected, over the largest size of that."""
    return (values - expected) / np.abs(expected).max()


def larger_first(times: xr.DataArray, sizes: xr.DataArray, ratio: float = 1.1) -> xr.DataArray:
    """Return the fraction of pairs of modes, sizes apart by more than the ratio, of which the larger one is learned first.

    Times, nan for never, and sizes have the dim ``mode``; nan where no pair is so far apart.
    """

    def fraction(times, sizes):
        larger = sizes[..., :, None] > ratio * sizes[..., None, :]
        right = ((times[..., :, None] < times[..., None, :]) & larger).sum((-2, -1))
        pairs = larger.sum((-2, -1))
        return np.where(pairs > 0, right / np.maximum(pairs, 1), np.nan)

    return xr.apply_ufunc(fraction, times.fillna(np.inf), sizes, input_core_dims=[["mode"]] * 2)
