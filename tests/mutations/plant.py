"""Mutations planted in the runs and the theory of a study that was run once: what a slip in its code would make of them."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import xarray as xr

from foretrain.plans.grid import Grid

LEAST = 0.05  # of the norm of an array; a smaller change is no mutation
ROUNDING = 1e-12  # a variable that stays below is rounding, and none of its changes are looked at
CLOCK = 1.1
_OUTCOMES = ("outcome", "steps_taken")
_LEAKS = {"validation_": "", "heldout_": "", "untrained_": ""}
_TRAINING = {"error": "loss"}  # a variable of this name beside its prefix is the training loss


@dataclass(frozen=True)
class Mutation:
    """One error, planted in what a study has computed."""

    kind: str  #: such as theory, seed, rate or untrained
    what: str  #: the variable and what was done with it
    plant: Callable[[Grid], Grid]
    predicts: str = ""  #: the predicted variable that it changes; "" where it changes runs
    reads: str = ""  #: the one variable of runs that it changes; "" where it changes more


def mutations(grid: Grid) -> Iterator[Mutation]:
    """Yield every mutation of a grid that changes it, theory first; another rate needs runs of its own: see `otherwise`."""
    for name, values in grid.theory.data_vars.items():
        for kind, what, changed in _of_array(values):
            if _differs(values, changed):
                plant = partial(assigned, part="theory", arrays={name: changed})
                yield Mutation(kind, f"{name} {what}", plant, str(name))
    by_seed = [values for values in grid.theory.values() if values.sizes.get("seed", 0) > 1]
    if any(_differs(values, rolled(values, "seed")) for values in by_seed):
        # The runs of each seed stand in the place of those of the next; start, theory and labels stay.
        plant = partial(everywhere, change=partial(rolled, dim="seed"))
        yield Mutation("runs", "those of another seed", plant)
    runs = grid.simulation
    for name, kind, what, changed in _misread(grid):
        if _differs(runs[name], changed):
            plant = partial(assigned, part="simulation", arrays={name: changed})
            yield Mutation(kind, f"{name} {what}", plant, reads=name)
    for name, source in _leaks(runs):
        if _differs(runs[name], runs[source]):
            arrays = {name: runs[name].copy(data=runs[source].values)}
            plant = partial(assigned, part="simulation", arrays=arrays)
            yield Mutation("leak", f"{name} is {source}", plant)
    if any(_cut_short(network) for network in (runs, *grid.variants.values())):
        what = "nothing changes after half of the steps"
        yield Mutation("truncated", what, partial(in_all, change=stopped))


def _of_array(values: xr.DataArray) -> Iterator[tuple[str, str, xr.DataArray]]:
    """Yield kind, words and the mutated array; whole numbers and truth values keep their type."""
    if values.dtype.kind == "f":
        for factor in (1.05, 0.9):
            yield "theory", f"times {factor:g}", values * factor
        if values.sizes.get("step", 0) > 3:
            yield "clock", f"read at {CLOCK:g} of its step", _at_another_time(values)
    for dim, size in values.sizes.items():
        if dim != "step" and size > 1:
            kind = dim if dim in ("seed", "layer") else "index"
            yield str(kind), f"another {dim}'s", rolled(values, str(dim))


def _misread(grid: Grid) -> Iterator[tuple[str, str, str, xr.DataArray]]:
    """Yield variable, kind, words and mutated array of runs: another layer's, and another index's of mere measurements."""
    measured = not grid.theory.data_vars and "step" not in grid.simulation.dims
    for name, values in grid.simulation.drop_vars(_OUTCOMES, errors="ignore").data_vars.items():
        for kind, what, changed in _of_array(values):
            if kind == "layer" or (kind == "index" and measured):
                yield str(name), kind, what, changed


def rolled(values: xr.DataArray, dim: str) -> xr.DataArray:
    """The values along a dim, each in the place of the next; without that dim the values themselves."""
    return values.roll({dim: 1}, roll_coords=False) if dim in values.dims else values


def _at_another_time(values: xr.DataArray) -> xr.DataArray:
    place, at = values.get_axis_num("step"), np.arange(values.sizes["step"])
    read = np.apply_along_axis(lambda row: np.interp(CLOCK * at, at, row), place, values.values)
    return values.copy(data=read)


def _differs(values: xr.DataArray, changed: xr.DataArray) -> bool:
    item, other = np.broadcast_arrays(values.values, changed.values)
    if item.dtype.kind not in "fiub":
        return False
    both = np.isfinite(item.astype(float)) & np.isfinite(other.astype(float))
    item, other = item[both].astype(float), other[both].astype(float)
    return bool(np.linalg.norm(item - other) >= 0.999 * LEAST * np.linalg.norm(item) > 0)


def assigned(grid: Grid, part: str, arrays: dict) -> Grid:
    return replace(grid, **{part: getattr(grid, part).assign(arrays)})


def in_all(grid: Grid, change: Callable[[xr.Dataset], xr.Dataset]) -> Grid:
    variants = {name: change(runs) for name, runs in grid.variants.items()}
    return replace(grid, simulation=change(grid.simulation), variants=variants)


def everywhere(grid: Grid, change: Callable[[xr.DataArray], xr.DataArray], only: str = "") -> Grid:
    """The grid with a change of every variable of all networks, or of one."""

    def changed(runs):
        return runs.assign({key: change(v) for key, v in runs.items() if only in ("", key)})

    return in_all(grid, changed)


def _leaks(runs: xr.Dataset) -> Iterator[tuple[str, str]]:
    """Yield a variable of data that the network has not seen, and the same of its training data."""
    for name in map(str, runs.data_vars):
        for prefix in _LEAKS:
            rest = name.removeprefix(prefix).removeprefix("untrained_")
            source = _TRAINING.get(rest, rest)
            if name != rest and source in runs and runs[source].dims == runs[name].dims:
                yield name, source
                break


def _cut_short(runs: xr.Dataset) -> bool:
    stored = stopped(runs)
    return any(
        _differs(values, stored[name]) and abs(values).max() > ROUNDING
        for name, values in runs.data_vars.items()
    )


def stopped(runs: xr.Dataset, share: float = 0.5) -> xr.Dataset:
    if "step" not in runs.dims:
        return runs
    step = np.arange(runs.sizes["step"])
    stored = runs.isel(step=np.minimum(step, int(share * step.size)))
    return stored.assign_coords({name: runs[name] for name in runs.coords})


def otherwise(grid: Grid, other: Grid, kind: str, what: str) -> Mutation:
    """The mutation of code that trains otherwise than it says: runs of that kind, labelled as those of the grid."""
    variants = {name: _labelled(other.network(name), grid.network(name)) for name in grid.variants}
    runs = _labelled(other.simulation, grid.simulation)
    parts = {"simulation": runs, "variants": variants, "fits": other.fits}
    return Mutation(kind, what, lambda whole: replace(whole, **parts))


def _labelled(runs: xr.Dataset, labels: xr.Dataset) -> xr.Dataset:
    shared = {name: values for name, values in labels.coords.items() if name in runs.coords}
    alike = {name: own for name, own in shared.items() if runs[name].sizes == own.sizes}
    return runs.assign_coords(alike)
