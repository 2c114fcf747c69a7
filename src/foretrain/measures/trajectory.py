"""Reading off labelled trajectories whose runs end at different steps."""

from collections.abc import Iterator
from typing import Any, TypeVar

import numpy as np
import xarray as xr

Labelled = TypeVar("Labelled", xr.DataArray, xr.Dataset)


def at_end(values: Labelled) -> Labelled:
    """Each run's last observation along ``step``: after it a shorter run is padded with nan; a run of nan stays nan."""
    if isinstance(values, xr.Dataset):
        ends: Any = values.map(lambda one: at_end(one) if "step" in one.dims else one)
        return ends
    present = values.notnull()
    last = (
        values.sizes["step"] - 1 - present.isel(step=slice(None, None, -1)).argmax("step")
    ).compute()
    return values.isel(step=last).drop_vars(("step", "time"), errors="ignore")


def curves(data: xr.Dataset, name: str = "loss") -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Steps and values of every run of one cell, seed by seed, without what is not finite."""
    for row in data[name].transpose("seed", "step").values:
        kept = np.isfinite(row)
        yield data["step"].values[kept], row[kept]
