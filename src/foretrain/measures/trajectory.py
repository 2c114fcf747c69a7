"""Reading off labelled trajectories whose runs end at different steps."""

import xarray as xr


def at_end(values: xr.DataArray | xr.Dataset) -> xr.DataArray | xr.Dataset:
    """Each run's last observation along ``step``: after it a shorter run is padded with nan; a run of nan stays nan."""
    if isinstance(values, xr.Dataset):
        return values.map(lambda one: at_end(one) if "step" in one.dims else one)
    present = values.notnull()
    last = (
        values.sizes["step"] - 1 - present.isel(step=slice(None, None, -1)).argmax("step")
    ).compute()
    return values.isel(step=last).drop_vars(("step", "time"), errors="ignore")
