"""Mutations planted in the runs and the theory of a study that was run once: what a slip in its code would have made of them.

A mutation that changes an array by less than `LEAST` of its norm is none, and is not planted.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import xarray as xr

from foretrain.plans.grid import Grid

LEAST = 0.05  # of the norm of an array
ROUNDING = 1e-12  # a variable that stays below is rounding, and none of its changes are looked at
FACTORS = (1.05, 0.9)
CLOCK = 1.1
_OUTCOMES = ("outcome", "steps_taken")
_LEAKS = {"validation_": "", "heldout_": "", "untrained_": ""}
_TRAINING = {"error": "loss"}  # a variable of this name beside its prefix is the training loss


@dataclass(frozen=True)
class Mutation:
    """One error, planted in what a study has computed."""

    kind: str  #: theory, clock, index, layer, seed, runs, leak, rate or truncated
    what: str  #: the variable and what was done with it
    plant: Callable[[Grid], Grid]
    predicts: str = ""  #: the predicted variable that it changes; "" where it changes runs
    reads: str = ""  #: the one variable of runs that it changes; "" where it changes more


def mutations(grid: Grid) -> Iterator[Mutation]:
    """Yield every mutation of a grid that changes it, theory first; the doubled rate needs runs of its own: see `doubled`."""
    for name, values in grid.theory.data_vars.items():
        for kind, what, changed in _of_array(values):
            if _differs(values, changed):
                plant = partial(_theory, name=name, values=changed)
                yield Mutation(kind, f"{name} {what}", plant, str(name))
    if any(_differs(values, _rolled(values, "seed")) for values in _by_seed(grid.theory)):
        yield Mutation("runs", "those of another seed", _exchanged)
    for name, kind, what, changed in _misread(grid):
        if _differs(grid.simulation[name], changed):
            plant = partial(_read, name=name, values=changed)
            yield Mutation(kind, f"{name} {what}", plant, reads=name)
    for name, source in _leaks(grid.simulation):
        if _differs(grid.simulation[name], grid.simulation[source]):
            what = f"{name} is {source}"
            yield Mutation("leak", what, partial(_leaked, name=name, source=source))
    if any(_cut_short(runs) for runs in (grid.simulation, *grid.variants.values())):
        yield Mutation("truncated", "nothing changes after half of the steps", _truncated)


def _of_array(values: xr.DataArray) -> Iterator[tuple[str, str, xr.DataArray]]:
    """Yield kind, words and the mutated array; whole numbers and truth values keep their type."""
    if values.dtype.kind == "f":
        for factor in FACTORS:
            yield "theory", f"times {factor:g}", values * factor
        if values.sizes.get("step", 0) > 3:
            yield "clock", f"read at {CLOCK:g} of its step", _at_another_time(values)
    for dim, size in values.sizes.items():
        if dim != "step" and size > 1:
            kind = dim if dim in ("seed", "layer") else "index"
            yield str(kind), f"another {dim}'s", _rolled(values, str(dim))


def _misread(grid: Grid) -> Iterator[tuple[str, str, str, xr.DataArray]]:
    """Yield variable, kind, words and mutated array of runs: another layer's, and another index's of mere measurements."""
    measured = not grid.theory.data_vars and "step" not in grid.simulation.dims
    for name, values in grid.simulation.drop_vars(_OUTCOMES, errors="ignore").data_vars.items():
        for kind, what, changed in _of_array(values):
            if kind == "layer" or (kind == "index" and measured):
                yield str(name), kind, what, changed


def _rolled(values: xr.DataArray, dim: str) -> xr.DataArray:
    return values.copy(data=np.roll(values.values, 1, values.get_axis_num(dim)))


def _by_seed(theory: xr.Dataset) -> list[xr.DataArray]:
    return [values for values in theory.data_vars.values() if values.sizes.get("seed", 0) > 1]


def _at_another_time(values: xr.DataArray) -> xr.DataArray:
    place = values.get_axis_num("step")
    number = values.sizes["step"]
    index = np.minimum(CLOCK * np.arange(number), number - 1)
    low = np.floor(index).astype(int)
    share = (index - low).reshape([-1 if axis == place else 1 for axis in range(values.ndim)])
    first = values.values.take(low, place)
    second = values.values.take(np.minimum(low + 1, number - 1), place)
    return values.copy(data=np.where(share > 0, (1 - share) * first + share * second, first))


def _differs(values: xr.DataArray, changed: xr.DataArray) -> bool:
    one, other = np.broadcast_arrays(values.values, changed.values)
    if one.dtype.kind not in "fiub":
        return False
    both = np.isfinite(one.astype(float)) & np.isfinite(other.astype(float))
    one, other = one[both].astype(float), other[both].astype(float)
    return bool(np.linalg.norm(one - other) >= 0.999 * LEAST * np.linalg.norm(one) > 0)


def _theory(grid: Grid, name: str, values: xr.DataArray) -> Grid:
    return replace(grid, theory=grid.theory.assign({name: values}))


def _exchanged(grid: Grid) -> Grid:
    """Put the runs of each seed in the place of those of the next; start, theory and labels stay."""
    variants = {name: _next_seed(runs) for name, runs in grid.variants.items()}
    return replace(grid, simulation=_next_seed(grid.simulation), variants=variants)


def _next_seed(runs: xr.Dataset) -> xr.Dataset:
    moved = {
        name: _rolled(values, "seed") for name, values in runs.items() if "seed" in values.dims
    }
    return runs.assign(moved)


def _read(grid: Grid, name: str, values: xr.DataArray) -> Grid:
    return replace(grid, simulation=grid.simulation.assign({name: values}))


def _leaks(runs: xr.Dataset) -> Iterator[tuple[str, str]]:
    """Yield a variable of data that the network has not seen, and the same of its training data."""
    for name in map(str, runs.data_vars):
        for prefix in _LEAKS:
            rest = name.removeprefix(prefix).removeprefix("untrained_")
            source = _TRAINING.get(rest, rest)
            if name != rest and source in runs and runs[source].dims == runs[name].dims:
                yield name, source
                break


def _leaked(grid: Grid, name: str, source: str) -> Grid:
    runs = grid.simulation
    return _read(grid, name, runs[name].copy(data=runs[source].values))


def _truncated(grid: Grid) -> Grid:
    variants = {name: _halved(runs) for name, runs in grid.variants.items()}
    return replace(grid, simulation=_halved(grid.simulation), variants=variants)


def _cut_short(runs: xr.Dataset) -> bool:
    held = _halved(runs)
    return any(
        _differs(values, held[name]) and abs(values).max() > ROUNDING
        for name, values in runs.data_vars.items()
    )


def _halved(runs: xr.Dataset) -> xr.Dataset:
    if "step" not in runs.dims:
        return runs
    number = runs.sizes["step"]
    held = runs.isel(step=np.minimum(np.arange(number), number // 2))
    return held.assign_coords({name: runs[name] for name in runs.coords})


def doubled(grid: Grid, faster: Grid) -> Mutation:
    """The mutation of code that trains at twice the rate that it says: runs at that rate, labelled as those of the grid."""
    names = {name: _labelled(faster.network(name), grid.network(name)) for name in grid.variants}
    runs = _labelled(faster.simulation, grid.simulation)
    return Mutation(
        "rate",
        "every learning rate is twice what it says",
        lambda whole: replace(whole, simulation=runs, variants=names, fits=faster.fits),
    )


def _labelled(runs: xr.Dataset, labels: xr.Dataset) -> xr.Dataset:
    kept = {
        name: values
        for name, values in labels.coords.items()
        if name in runs.coords and runs[name].sizes == values.sizes
    }
    return runs.assign_coords(kept)
