"""Folding: from the journal's runs, in the order they finished, to one labelled dataset over the whole grid.

The journal is read twice, however many datasets are made of it: once to learn how large they become, once to fill them.
Nothing is done per value or per observation in Python, only per run and per segment.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr

from foretrain.errors import ForetrainError
from foretrain.machine import physical_memory
from foretrain.results.journal import Outline, Scan, scan, segments
from foretrain.results.labels import annotate, labels, lengths
from foretrain.results.segment import Column, Segment
from foretrain.vocabulary import MISSING, VocabularyError, lookup


@dataclass(frozen=True)
class Layout:
    """Places of runs in the labelled result."""

    # Name of each swept parameter to its values, in the order in which they become dims.
    axes: dict[str, tuple]
    seeds: int  # length of the dim ``seed``
    # (index per axis, then seed; identity of the run) of every place that is to be filled. A run may stand at several
    # places, and a place may have no run.
    places: Iterable[tuple[tuple[int, ...], str]]
    outcomes: Sequence[str]  # names of the outcomes 0, 1,
    # ``coordinates(index of the cell, step) -> {name: (dims, values)}``: labels along dims of one cell, where `step` holds
    # all step numbers of the result, shape (step,); or None.
    coordinates: Callable[[tuple[int, ...], np.ndarray], dict] | None = None
    # ``steps(index of the cell)``: the largest number of steps of its runs; None where no cell has another.
    steps: Callable[[tuple[int, ...]], int] | None = None

    @property
    def shape(self) -> tuple[int, ...]:
        """Lengths of the axes and of ``seed``."""
        return (*(len(values) for values in self.axes.values()), self.seeds)


@dataclass
class _Size:
    """Needs of a variable: its kind, its dtype and the largest shape of one run."""

    kind: str
    dtype: np.dtype
    shape: tuple[int, ...]


class _Target:
    """A dataset that is being filled: where its runs stand, what they need, and from `allocate` on its arrays.

    Run number n stands at ``positions[starts[n]:starts[n + 1]]`` of the flat grid. `chosen` has of each segment the runs that
    are taken, and their numbers; `step` is the union of the step numbers.
    """

    def __init__(self, layout: Layout, outlines: Iterable[Outline]):
        self.layout, self.places = layout, math.prod(layout.shape)
        number, self.starts, self.positions = _places(layout)
        self.chosen, self.step, self.sizes = _survey(outlines, number)
        self.needed = _needed(self.sizes, self.places, self.step.size)  # bytes

    def allocate(self) -> None:
        """Make all arrays, places first, and the length of each dim at each place before it is padded, 0 for now."""
        self.gathered = {
            name: np.full(
                (self.places, *[self.step.size] * (size.kind == "curves"), *size.shape),
                padding(size.dtype),
                size.dtype,
            )
            for name, size in self.sizes.items()
        }
        self.outcome = np.full(self.places, MISSING, np.int8)
        self.steps_taken = np.full(self.places, MISSING, np.int64)
        dims = {dim for name, size in self.sizes.items() for dim in _own_dims(name, size)}
        dims |= {"step"} if self.layout.steps else set()
        self.lengths = {dim: np.zeros(self.places, np.int64) for dim in sorted(dims)}


def fold_all(
    folder: Path,
    layouts: dict[str, Layout],  # name to which runs make a dataset, and where they stand
    *,
    # What `foretrain.results.journal.scan` has found in the folder; by default it is called. Runs that came to the folder
    # later are not taken.
    journal: Scan | None = None,
    # Most bytes the datasets may take together; by default the machine's physical memory.
    memory: float | None = None,
) -> dict[str, xr.Dataset]:
    """Gather the runs of a folder's journal into datasets.

    Returns:
        Name to dataset. Every variable of the runs, annotated by the vocabulary, with dims (axes, ``seed``) in front of
        its own; what was observed along the way has ``step`` next. ``step`` is the union of the stored step numbers; runs
        that ended before, and arrays smaller than the largest of their variable, are padded: floats with nan, signed
        integers with -1, unsigned ones with their largest value (attribute ``padding``), booleans with False.
        ``outcome`` (int8) is -1, "missing", where no run is done, and ``steps_taken`` too. Where cells differ in the length
        of a dim, ``<dim>_length`` says how far it reaches in each.

    Raises:
        VocabularyError: a variable is not declared, or has other dims than declared.
        ForetrainError: the datasets need more than `memory`.

    Cost: two readings of the journal, one with `journal`, and about 2 us per run and dataset; memory is that of the datasets
        (all places, padded to the largest), one segment, and about 300 bytes per place.
    """
    journal = scan(folder) if journal is None else journal
    targets = {name: _Target(layout, journal.outlines) for name, layout in layouts.items()}
    needed = sum(target.needed for target in targets.values())
    limit = physical_memory() if memory is None else memory
    if needed > limit:
        raise ForetrainError(
            f"The labelled result needs {needed / 1e9:.2g} GB of memory, but {limit / 1e9:.2g} GB are there. "
            "The runs stay in the journal: try a larger `observe_every`, or a machine with more memory."
        )
    for target in targets.values():
        target.allocate()
    only = {segment for target in targets.values() for segment in target.chosen}
    for segment in segments(folder, only=only):
        for target in targets.values():
            if segment.name in target.chosen:
                _fill(target, segment)
    return {name: _dataset(target) for name, target in targets.items()}


def _fill(target, segment):
    runs, numbers = target.chosen[segment.name]
    counts = target.starts[numbers + 1] - target.starts[numbers]
    runs = runs.repeat(counts)
    places = target.positions[_ranges(target.starts[numbers], counts)]
    target.outcome[places] = segment.outcomes[runs]
    target.steps_taken[places] = segment.steps_taken[runs]
    for column in segment.columns:
        if column.name in target.gathered:
            _scatter(target, column, segment, runs, places)


def _places(layout):
    """Number of each wanted run by identity, and its positions in the flat grid, end to end by run number."""
    number, indices, numbers = {}, [], []
    for index, identity in layout.places:
        numbers.append(number.setdefault(identity, len(number)))
        indices.append(index)
    flat = np.array(indices, np.int64).reshape(len(indices), len(layout.shape))
    flat = np.ravel_multi_index(tuple(flat.T), layout.shape)
    numbers = np.array(numbers, np.int64)
    starts = np.concatenate([[0], np.cumsum(np.bincount(numbers, minlength=len(number)))])
    return number, starts.astype(np.int64), flat[np.argsort(numbers, kind="stable")]


def _survey(outlines: Iterable[Outline], number):
    """Which runs of each segment count, as (runs, their numbers); the union of steps; the size of each variable."""
    seen = np.zeros(len(number) + 1, bool)
    seen[-1] = True  # stands for runs that are not wanted, whose number is -1
    chosen, steps, sizes = {}, {}, {}
    for outline in outlines:
        numbers = np.array([number.get(identity, -1) for identity in outline.identities])
        numbers, runs = np.unique(numbers, return_index=True)
        new = ~seen[numbers]
        numbers, runs = numbers[new], runs[new]
        if not runs.size:
            continue
        seen[numbers] = True
        chosen[outline.name] = (runs, numbers)
        wanted = np.zeros(len(outline.identities), bool)
        wanted[runs] = True
        met = outline.steps_of(wanted)
        steps.setdefault(met.tobytes(), met)
        for column in outline.columns:
            _enlarge(sizes, column, wanted)
    return chosen, np.unique(np.concatenate([np.zeros(0, np.int64), *steps.values()])), sizes


def _enlarge(sizes, column, wanted):
    shapes = column.shapes[wanted[column.runs]]
    if not len(shapes):
        return
    shape = tuple(shapes.max(axis=0).tolist())
    known = sizes.setdefault(column.name, _Size(column.kind, column.values.dtype, shape))
    if known.kind != column.kind or len(known.shape) != len(shape):
        raise VocabularyError(f"Variable `{column.name}` must have the same dims in all runs.")
    known.dtype = np.result_type(known.dtype, column.values.dtype)
    known.shape = tuple(np.maximum(known.shape, shape).tolist())


def _needed(sizes, places, observations) -> int:
    needed = 0
    for name, size in sizes.items():
        if len(_own_dims(name, size)) != len(size.shape):
            raise VocabularyError(
                f"Variable `{name}` must have dims {lookup(name).dims}, but each "
                f"{'observation' if size.kind == 'curves' else 'run'} has shape {size.shape}."
            )
        along = dict(zip(_own_dims(name, size), size.shape, strict=True)).get("step", observations)
        if along != observations:
            raise VocabularyError(
                f"Variable `{name}` must have one value for each of {observations} stored steps, but has {along}."
            )
        length = observations if size.kind == "curves" else 1
        needed += places * length * math.prod(size.shape) * size.dtype.itemsize
    return needed


def _own_dims(name, size):
    """Dims of one run's array, of a curve without ``step``."""
    declared = lookup(name).dims
    if declared is None:
        return tuple(f"{name}_{axis}" for axis in range(len(size.shape)))
    return tuple(dim for dim in declared if size.kind == "finals" or dim != "step")


def padding(dtype: np.dtype) -> Any:
    """Return the value that stands where a variable of this dtype has none."""
    if dtype.kind == "u":
        return np.iinfo(dtype).max
    return {"f": np.nan, "c": np.nan, "i": MISSING, "b": False}[dtype.kind]


def _scatter(
    target: _Target, column: Column, segment: Segment, runs: np.ndarray, targets: np.ndarray
) -> None:
    """Write the arrays of `runs` of a segment's column to the places `targets`, one write per distinct shape."""
    gathered, step = target.gathered[column.name], target.step
    own = _own_dims(column.name, target.sizes[column.name])
    row_of = np.full(len(segment.identities), -1)
    row_of[column.runs] = np.arange(len(column.runs))
    rows = row_of[runs]
    runs, targets, rows = (array[rows >= 0] for array in (runs, targets, rows))
    counts = column.shapes.prod(axis=1, dtype=np.int64)
    offsets = np.cumsum(counts) - counts
    along_step = column.kind == "curves"
    entries = np.cumsum(segment.observations) - segment.observations
    entry = np.searchsorted(step, segment.steps) if along_step else np.zeros(0, np.int64)
    for shape, mine in _groups(column.shapes[rows, int(along_step) :]):
        values = column.values[_ranges(offsets[rows[mine]], counts[rows[mine]])]
        places = (targets[mine],)
        if along_step:
            observed = segment.observations[runs[mine]]
            places = (targets[mine].repeat(observed), entry[_ranges(entries[runs[mine]], observed)])
            if "step" in target.lengths:
                np.maximum.at(target.lengths["step"], places[0], places[1] + 1)
        corner = tuple(slice(length) for length in shape)
        gathered[places + corner] = values.reshape(len(places[0]), *shape)
        for dim, length in zip(own, shape, strict=True):
            known = target.lengths[dim]
            known[targets[mine]] = np.maximum(known[targets[mine]], length)


def _groups(shapes):
    if len(shapes) and (shapes == shapes[0]).all():
        return [(shapes[0].tolist(), np.arange(len(shapes)))]
    distinct, group = np.unique(shapes, axis=0, return_inverse=True)
    numbers = range(len(distinct))
    return [(distinct[n].tolist(), np.flatnonzero(group.ravel() == n)) for n in numbers]


def _ranges(starts, counts):
    """The ranges starts[i] .. starts[i] + counts[i], end to end."""
    ends = np.cumsum(counts)
    total = int(ends[-1]) if len(ends) else 0
    return np.arange(total) + np.repeat(starts - (ends - counts), counts)


def _dataset(target):
    layout, step, sizes = target.layout, target.step, target.sizes
    shape, grid = layout.shape, (*layout.axes, "seed")
    names = ("missing", *layout.outcomes)
    attrs = {"flag_values": list(range(-1, len(names) - 1)), "flag_meanings": " ".join(names)}
    variables = {
        "outcome": (grid, target.outcome.reshape(shape), attrs),
        "steps_taken": (grid, target.steps_taken.reshape(shape), {"padding": MISSING}),
    }
    for name in sorted(target.gathered):
        values, size = target.gathered[name], sizes[name]
        own = _own_dims(name, size)
        if size.kind == "curves":
            own = ("step", *own)
            declared = lookup(name).dims or ()
            if "step" in declared[1:]:  # of what is measured it may have any place
                values, own = np.moveaxis(values, 1, 1 + declared.index("step")), declared
        attrs = {"padding": int(padding(size.dtype))} if size.dtype.kind in "iu" else {}
        variables[name] = ((*grid, *own), values.reshape(*shape, *values.shape[1:]), attrs)
    dataset = xr.Dataset(variables)
    coords = {"seed": ("seed", np.arange(layout.seeds))}
    if "step" in dataset.dims:
        coords["step"] = ("step", step)
    coords |= {name: (name, np.array(values)) for name, values in layout.axes.items()}
    if layout.coordinates is not None:
        known = {str(dim): length for dim, length in dataset.sizes.items()}
        coords |= labels(layout.axes, layout.coordinates, step, known)
    reached = {dim: length.reshape(shape).max(-1) for dim, length in target.lengths.items()}
    if layout.steps is not None:
        planned = [layout.steps(index) for index in np.ndindex(shape[:-1])]
        planned = np.searchsorted(step, planned, "right").reshape(shape[:-1])
        reached["step"] = np.maximum(reached["step"], planned)  # a last stride ends behind them
    return annotate(dataset.assign_coords(coords | lengths(layout.axes, reached)))
