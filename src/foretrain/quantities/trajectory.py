"""Reading off labelled trajectories whose runs end at different steps."""

from collections.abc import Iterator
from typing import Any, TypeVar

import numpy as np
import xarray as xr

Labelled = TypeVar("Labelled", xr.DataArray, xr.Dataset)


def at_end(values: Labelled) -> Labelled:
    """Each run's last observation along ``step``: after it a shorter run is padded with nan; a run of nan stays nan."""
    if isinstance(values, xr.Dataset):
        return values.map(lambda value: at_end(value) if "step" in value.dims else value)
    present = values.notnull()
    last = (
        values.sizes["step"] - 1 - present.isel(step=slice(None, None, -1)).argmax("step")
    ).compute()
    return values.isel(step=last).drop_vars(("step", "time"), errors="ignore")


def curves(data: Any, name: str = "loss") -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Steps and values of every run of one cell, seed by seed, without what is not finite."""
    for row in data[name].transpose("seed", "step").values:
        kept = np.isfinite(row)
        yield data["step"].values[kept], row[kept]


def furthest(values: xr.DataArray, expected: float = 1.0) -> np.ndarray:
    """Per seed, the value of all cells that is furthest from what is expected; nan if a cell has none, shape (seed,)."""
    flat = values.transpose("seed", ...).values.reshape(values.sizes["seed"], -1)
    worst = np.abs(flat - expected).argmax(1)  # the first nan, if there is one
    return np.take_along_axis(flat, worst[:, None], 1)[:, 0]


def learned_at(curves: xr.DataArray, left: float = 0.01) -> float:
    """Time at which the last of some falling curves has only this share of its fall to go; 0 if none falls."""
    time, values = curves["time"].values, curves.transpose("seed", "step").values
    least = np.fmin.reduce(values, axis=1, keepdims=True)
    learning = values > least + left * (values[:, :1] - least)
    return float(time[learning.any(0)].max(initial=0))
