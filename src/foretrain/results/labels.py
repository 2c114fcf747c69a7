"""Labels of results: those of variables from the vocabulary, and those along dims.

Labels along a dim may differ from cell to cell of a grid, such as ``time`` where the learning rate is swept.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import xarray as xr

from foretrain.vocabulary import DIMS, TIME_UNIT, VocabularyError, lookup

_COORDINATE_UNITS = {"time": TIME_UNIT, "step": "step"}


def annotate(dataset: xr.Dataset) -> xr.Dataset:
    """Check every data variable against the vocabulary; write unit, meaning and source into its and its labels' attrs.

    A variable's declared dims must be its last dims, in order; dims in front of them (axes, seed) are free.
    """
    dataset = dataset.copy()
    for name in dataset.data_vars:
        variable = lookup(str(name))
        dims = dataset[name].dims
        own = variable.dims or ()
        if dims[len(dims) - len(own) :] != own:
            text = f"must end in dims {variable.dims}, but has dims {dims}."
            raise VocabularyError(f"Variable `{name}` {text}")
        attrs = {"units": variable.unit, **_named(str(name), variable.meaning)}
        if variable.source:
            attrs["source"] = variable.source
        dataset[name].attrs.update(attrs)
    for name in dataset.coords:
        if dataset[name].dtype.kind == "U":
            # Text of fixed width has no specification in Zarr 3; text of any length has.
            text = dataset[name].values.astype(np.dtypes.StringDType())
            dataset = dataset.assign_coords({name: (dataset[name].dims, text)})
        if str(name) in DIMS:
            dataset[name].attrs.update(_named(str(name), DIMS[str(name)]))
            dataset[name].attrs["units"] = _COORDINATE_UNITS.get(str(name), "1")
    return dataset


def _named(name: str, meaning: str) -> dict[str, str]:
    return {"long_name": name.replace("_", " "), "description": meaning}


def labels(
    axes: dict[str, tuple],  # name of each swept parameter to its values
    # ``coordinates(index of the cell, step) -> {name: (dims, values)}``.
    coordinates: Callable[[tuple[int, ...], np.ndarray], dict],
    step: np.ndarray,  # all step numbers of the result, shape (step,)
    # Length of the dims of the result. Labels are cut or padded to them (floats with nan, integers with -1, strings with
    # ""); a dim that is not among them is as long as its longest label.
    sizes: dict[str, int],
) -> dict[str, tuple[tuple[str, ...], np.ndarray]]:
    """Gather the labels of all cells.

    Returns:
        Name to (dims, values). In front of the label's own dims stand those axes along which it differs, and only
        those: ``time`` has dims (learning_rate, step) in a sweep of the learning rate, and (step,) in others.

    Raises:
        VocabularyError: a label has other dims in one cell than in another.

    Cost: one call of `coordinates` per cell; a label that is the same in many cells is kept once.
    """
    shape = tuple(len(values) for values in axes.values())
    dims, kept, numbers = {}, {}, {}
    for index in np.ndindex(shape):
        for name, (own, values) in coordinates(index, step).items():
            own = (own,) if isinstance(own, str) else tuple(own)
            values = np.asarray(values)
            if values.dtype.kind in "OT":
                values = values.astype(str)
            if dims.setdefault(name, own) != own or values.ndim != len(own):
                raise VocabularyError(f"Coordinate `{name}` must have the same dims in every cell.")
            key = (values.dtype.str, values.shape, values.tobytes())
            distinct = kept.setdefault(name, {})
            number, _ = distinct.setdefault(key, (len(distinct), values))
            numbers.setdefault(name, []).append(number)
    gathered = {}
    for name, own in dims.items():
        if len(numbers[name]) < np.prod(shape):
            raise VocabularyError(f"Coordinate `{name}` must be given in every cell of the grid.")
        table = _stack([values for _, values in kept[name].values()], own, sizes)
        axis_names, reduced = _differing(np.array(numbers[name]).reshape(shape), list(axes))
        gathered[name] = ((*axis_names, *own), table[reduced])
    return gathered


def lengths(
    axes: dict[str, tuple], reached: dict[str, Any]
) -> dict[str, tuple[list[str], np.ndarray]]:
    """Return as coordinates the lengths of dims in each cell before they are padded, where cells differ.

    Args:
        axes: Name of each swept parameter to its values.
        reached: Dim to its length in every cell, whole numbers in the order of the cells; 0 where a cell holds nothing, which
            then reaches as far as any.

    Returns:
        ``<dim>_length`` to (the axes along which it differs, lengths).
    """
    gathered = {}
    for dim, ends in reached.items():
        length = np.reshape(ends, tuple(len(values) for values in axes.values()))
        names, reduced = _differing(np.where(length, length, length.max()), list(axes))
        if names:
            gathered[f"{dim}_length"] = (names, reduced)
    return gathered


def _differing(numbers, axes):
    names = []
    for position, axis in reversed(list(enumerate(axes))):
        first = numbers.take([0], axis=position)
        if (numbers == first).all():
            numbers = first.squeeze(position)
        else:
            names.insert(0, axis)
    return names, numbers


def _stack(arrays, dims, sizes):
    longest = np.array([array.shape for array in arrays]).max(axis=0, initial=0)
    lengths = [int(sizes.get(dim, length)) for dim, length in zip(dims, longest, strict=True)]
    dtype = np.result_type(*arrays)
    padding = {"f": np.nan, "c": np.nan, "i": -1, "u": 0, "b": False, "U": ""}[dtype.kind]
    table = np.full((len(arrays), *lengths), padding, dtype)
    for row, array in enumerate(arrays):
        corner = tuple(slice(min(*pair)) for pair in zip(array.shape, lengths, strict=True))
        table[(row, *corner)] = array[corner]
    return table.astype(np.dtypes.StringDType()) if dtype.kind == "U" else table
