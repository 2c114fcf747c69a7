"""The curves of a grid as arrays: which there are, over what time, of which runs, beside which prediction."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np
import xarray as xr

from foretrain.quantities.cell import Runs
from foretrain.vocabulary import CONVERGED, STALLED
from foretrain.words import number, title

_LARGEST = 1e30  # beyond it a run is blowing up, and would flatten all else


def curve_names(grid: Any, chosen: Collection[str] = ()) -> list[str]:
    """Variables with a dim ``step`` that theory and simulation share, or those of the simulation; the loss first."""

    def with_step(data):
        return [str(name) for name, array in data.data_vars.items() if "step" in array.dims]

    own = [
        name for name in with_step(grid.simulation) if grid.simulation[name].dtype.kind in "fiub"
    ]
    shared = [name for name in own if name in with_step(grid.theory)]
    names = [name for name in shared or own if name in (chosen or [name])]
    return sorted(names, key=lambda name: name != "loss")


def abscissa(data: Runs | xr.Dataset, place: Mapping[str, int]) -> tuple[np.ndarray, str]:
    """Time of every stored step in a cell where it is known, else the step, and the label of the axis."""
    if "time" in data.coords and "step" in data["time"].dims:
        time = data["time"].isel(place, missing_dims="ignore")
        if time.dims == ("step",) and np.isfinite(time.values).any():
            return time.values.astype(float), axis_label(time, "Time")
    if "step" in data.coords:
        return data["step"].values.astype(float), "Step"
    return np.arange(data.sizes["step"], dtype=float), "Stored step"


def axis_label(array: xr.DataArray, name: str | None = None) -> str:
    """Label of an axis: `name`, else the array's name in words, and its unit.

    The unit is attrs ``units``; none is written for a pure number, whose unit is "1".
    """
    text = name or title(str(array.name or ""))
    unit = str(array.attrs.get("units", "1"))
    return text if unit in ("1", "") else f"{text} ({unit})"


def by_seed(array: xr.DataArray) -> np.ndarray:
    """Values of shape (seed, step), with nan for what is too large to be drawn, and for the padding of whole numbers."""
    if "seed" not in array.dims:
        array = array.expand_dims("seed")
    stored = array.transpose("seed", "step").values
    values = np.where(stored == array.attrs.get("padding", np.nan), np.nan, stored.astype(float))
    return np.where(np.abs(values) < _LARGEST, values, np.nan)  # nan and infinity too


def held_to_end(runs, outcome, place) -> np.ndarray:
    """The runs, of shape (seed, step), those that converged or stalled with their last value after their end.

    A mean over those that are left would rise where the quick ones end.
    """
    if outcome is None:
        return runs
    ended = np.isin(outcome.isel(place, missing_dims="ignore").values, (CONVERGED, STALLED))
    if ended.shape != runs.shape[:1]:
        return runs
    last = runs.shape[1] - 1 - np.isfinite(runs)[:, ::-1].argmax(1)[:, None]
    after = ended[:, None] & (np.arange(runs.shape[1]) > last)
    return np.where(after, np.take_along_axis(runs, last, 1), runs)


def predictions(theory, variable, place) -> np.ndarray | None:
    """The prediction at the steps of the simulation, shape (seed, step), one row where it is the same for all; or None."""
    array = theory.isel(place, missing_dims="ignore")
    steps = [each["step"].values for each in (array, variable) if "step" in each.coords]
    if len(steps) == 2 and not np.array_equal(*steps):
        array = array.reindex(step=steps[1])
    other = array.sizes["step"] != variable.sizes["step"] or set(array.dims) - {"seed", "step"}
    return None if other else by_seed(array)


def prediction(theory, variable, place) -> np.ndarray | None:
    """The prediction at the steps of the simulation, mean over seeds where it differs by seed; None if there is none."""
    values = predictions(theory, variable, place)
    return None if values is None else mean_of_known(values)


def mean_of_known(values: np.ndarray) -> np.ndarray:
    """The mean over the first dim of what is finite, nan where nothing is."""
    known = np.isfinite(values)
    with np.errstate(over="ignore"):
        total = np.where(known, values, 0).sum(axis=0)
    return np.where(known.any(axis=0), total / np.maximum(known.sum(axis=0), 1), np.nan)


def curves_at(grid: Any, name: str, place: Mapping[str, int]) -> np.ndarray:
    """Values of shape (seed, step) of a variable at a place of its other dims, runs held to the end."""
    runs = by_seed(grid.simulation[name].isel(place, missing_dims="ignore"))
    return held_to_end(runs, grid.simulation.get("outcome"), place)


def lines_along(
    variable: xr.DataArray, axes: Collection[str], most: int
) -> dict[str, dict[str, int]]:
    """Words to place along a variable's own dims, at most so many; "" where these have one value each."""
    own = [str(dim) for dim in variable.dims if dim not in (*axes, "seed", "step")]
    single = {dim: 0 for dim in own if variable.sizes[dim] == 1}
    long = [dim for dim in own if dim not in single]
    if not long:
        return {"": single}
    spots = list(np.ndindex(*(variable.sizes[dim] for dim in long)))
    lines = [dict(zip(long, spots[n], strict=True)) for n in some(spots, most)]
    words = [
        ", ".join(f"{dim} {label_along(variable, dim, n)}" for dim, n in spot.items())
        for spot in lines
    ]
    return {text: {**spot, **single} for text, spot in zip(words, lines, strict=True)}


def thinned(mask: np.ndarray, most: int, x: np.ndarray | None = None) -> np.ndarray:
    """Places where it is true, thinned to at most so many, the last among them: evenly, or in log `x`, ascending."""
    places = np.flatnonzero(mask)
    if places.size <= most:
        return places
    if x is not None:
        logarithms = np.log(x[places])
        targets = np.linspace(logarithms[0], logarithms[-1], most)
        return places[
            np.unique(np.interp(targets, logarithms, np.arange(places.size)).round().astype(int))
        ]
    return places[np.linspace(0, places.size - 1, most).round().astype(int)]


def some(values: Sequence, most: int) -> dict[int, Any]:
    """Place to value of at most so many values, in ascending order, evenly spread with both ends."""
    order = list(range(len(values)))
    if not isinstance(values[0], str):
        order.sort(key=lambda place: values[place])
    chosen = np.linspace(0, len(order) - 1, min(most, len(order))).round().astype(int)
    return {order[n]: values[order[n]] for n in chosen}


def label_along(variable, dim, place) -> str:
    """The label of a place along a dim; its number where there is none, or where cells of the grid differ in it."""
    if dim not in variable.coords:
        return str(place)
    values = np.ravel(variable[dim].isel({dim: place}).values).tolist()
    padding = (-1, "") if len(values) > 1 else ()
    distinct = {value for value in values if value == value and value not in padding}
    return number(distinct.pop()) if len(distinct) == 1 else str(place)
