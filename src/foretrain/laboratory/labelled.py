"""The runs of a folder as a labelled grid, with theory and fits beside them."""

import contextlib
import importlib
import math
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr
from threadpoolctl import threadpool_limits

from foretrain.dynamics.program import OUTCOMES
from foretrain.engine.host import by_step
from foretrain.figures.explore import moved
from foretrain.laboratory.judge import Problem, any_run, guarded
from foretrain.laboratory.stages import Stage, Tell, silent
from foretrain.plans.author import words
from foretrain.plans.data import refuse_changed
from foretrain.plans.grid import Grid
from foretrain.plans.parameters import cells, split_axes
from foretrain.plans.plan import Plan, files, grid, variant_seeds, variants
from foretrain.plans.study import Study
from foretrain.results.folding import Layout, fold_all, padding
from foretrain.results.journal import Scan
from foretrain.results.labels import annotate, labels, lengths
from foretrain.vocabulary import VocabularyError, lookup, positions

TheoryOf = Callable[..., xr.Dataset]  # of a study and a cell, and whether sliders show it


def theory_of(study: Study, cell: Grid, explored: bool = False) -> xr.Dataset:
    """The theory of one cell, or what sliders show of it, with a dim ``seed`` where it depends on what is drawn."""
    p = cell.parameters
    if explored:  # a slider goes where the study may not
        split_axes(study.Parameters, asdict(p))
        study.check(p)
    step = study.stored_steps(p)
    if not step.size:  # of what is measured without labels of its own
        step = np.asarray(cell.simulation.coords.get("step", step))
    seeds = range(cell.seeds if study.predicts_by_seed else 1)
    predicted = [study.predict(p, step, cell.seed(n), explored=explored) for n in seeds]
    if not step.size:
        arrays = {name: np.asarray(values) for name, values in predicted[0].items()}
        step, *_ = by_step(arrays, positions("step"), step)
    if study.predicts_by_seed:
        arrays = {name: _by_seed(name, [of.get(name) for of in predicted]) for name in predicted[0]}
        return dataset(arrays, study.labels(p, step), step, seeds=cell.seeds)
    return dataset(predicted[0], study.labels(p, step), step)


def labelled(
    folder: Path,
    plan: Plan,
    # Takes what the theory raises; without it the exception comes through.
    problems: list[Problem] | None = None,
    journal: Scan | None = None,  # what the journal holds, if it has been read before
    *,
    tell: Tell = silent,  # told of how many cells there is theory
    theory: TheoryOf = theory_of,  # predicts a cell
) -> Grid:
    """Fold the journal of a folder into labelled runs and put theory and fits beside them.

    Raises `FolderError` where a file of data that the runs have read holds something else now, which theory would read.
    """
    if plan.data:
        refuse_changed(files(plan).values(), plan.data)
    cell_list, study = dict(cells(plan.parameters, plan.axes)), plan.study

    def steps(variant):
        def of(index):
            p = cell_list[index]
            return study.variants(p).get(variant, {}).get("steps", p.steps)

        if not study.trains:
            return lambda index: -1  # as far as the runs of a cell reach
        return of if "steps" in plan.axes else None

    layouts = {
        variant: Layout(
            axes=plan.axes,
            seeds=variant_seeds(plan, variant),
            places=((place, run.identity) for place, run in grid(plan, variant)),
            outcomes=OUTCOMES,
            coordinates=lambda index, step: study.labels(cell_list[index], step),
            steps=steps(variant),
        )
        for variant in variants(plan)
    }
    with words(study):
        folded = fold_all(folder, layouts, journal=journal)
        simulation, none = folded.pop(""), xr.Dataset()
        whole = Grid(plan.parameters, plan.axes, plan.seeds, plan.root_seed, simulation, folded)
        predict = partial(theory_over, study, tell, whole, theory)
        prediction = guarded("theory", problems, predict, none) if study.predicts else none
        whole = replace(whole, theory=prediction)
        fit = partial(_in_cells, whole, partial(_fits_of, study), "Fitting", tell)
        return replace(whole, fits=guarded("fits", problems, fit, none) if study.fits else none)


def theory_over(study: Study, tell: Tell, whole: Grid, theory: TheoryOf = theory_of) -> xr.Dataset:
    """The theory of every cell of a grid."""
    with words(study):
        return _in_cells(whole, partial(theory, study), "Predicting", tell)


@contextlib.contextmanager
def early_theory(plan: Plan, idle: bool) -> Iterator[TheoryOf]:
    """Predict a plan cell by cell in a thread, as long as the context lasts, where this process is idle.

    Yields what then takes the place of `theory_of`: asked first, it waits for the cell under way, which is the last. Whatever
    raises is met again by who asks for that cell. What sliders show comes after the cells.
    """
    known: dict[tuple[Any, bool], xr.Dataset] = {}
    ended = threading.Event()

    def predict() -> None:
        if idle:  # what writes the result takes a while to load
            importlib.import_module("zarr.storage")
        with contextlib.suppress(Exception, SystemExit), words(plan.study):
            whole = Grid(plan.parameters, plan.axes, plan.seeds, plan.root_seed)
            cells = [(cell, False) for cell in whole.cells()]
            for moves in moved(plan.study, whole)[1].values():
                cells += [(cell, True) for cell in moves]
            for cell, explored in cells:
                if ended.is_set():
                    return
                with contextlib.suppress(Exception):
                    known[cell.parameters, explored] = theory_of(plan.study, cell, explored)

    def theory(study: Study, cell: Grid, explored: bool = False) -> xr.Dataset:
        ended.set()
        thread.join()
        there = known.get((cell.parameters, explored))
        return theory_of(study, cell, explored) if there is None else there

    thread = threading.Thread(target=predict, daemon=True)
    if not (idle and plan.study.trains and plan.study.predicts):
        ended.set()
    # Beside workers a second thread of a product would wait for a core of theirs.
    with threadpool_limits(1), contextlib.ExitStack() as left:
        thread.start()
        left.callback(ended.set)
        yield theory


def _by_seed(name: str, values: list[Any]) -> np.ndarray:
    shapes = {None if array is None else _numbers(name, array).shape for array in values}
    if len(shapes) > 1:
        got = " and ".join("is missing" if s is None else f"has shape {s}" for s in shapes)
        raise VocabularyError(f"Variable `{name}` must have one shape for all seeds, but {got}.")
    return np.stack([np.asarray(array) for array in values])


def _fits_of(study: Study, cell: Grid) -> xr.Dataset:
    if not any_run(cell.simulation):
        return xr.Dataset()
    step = np.asarray(cell.simulation.coords.get("step", np.zeros(0)))
    return dataset(study.fit(cell), study.labels(cell.parameters, step), step, seeds=cell.seeds)


def dataset(
    arrays: dict[str, Any], labels: dict[str, tuple], step: np.ndarray, seeds: int | None = None
) -> xr.Dataset:
    """Arrays as a dataset with the dims of the vocabulary; one dim more in front is ``seed``.

    Raises `VocabularyError` where a variable is not declared, holds no real numbers, or has other dims or lengths along them.
    """
    variables, sizes = {}, {"step": step.size} if step.size else {}
    for name, values in arrays.items():
        values, own = _numbers(name, values), lookup(name).dims or ()
        by_seed = values.ndim == len(own) + 1 and (seeds is None or values.shape[0] == seeds)
        dims = ("seed", *own) if by_seed else own
        expected = tuple(sizes.get(dim, "any") for dim in own)
        shape = values.shape[len(dims) - len(own) :]
        if values.ndim != len(dims) or any(
            size not in ("any", length) for size, length in zip(expected, shape, strict=True)
        ):
            words = ", ".join(f"{dim}: {size}" for dim, size in zip(own, expected, strict=True))
            raise VocabularyError(
                f"Variable `{name}` must have dims ({words}), with `seed` in front where it differs by seed, but has shape "
                f"{values.shape}."
            )
        sizes |= dict(zip(own, shape, strict=True))
        variables[name] = (dims, values)
    data = xr.Dataset(variables)
    known = {"step": (("step",), step), **labels}
    if seeds is not None and "seed" in data.dims:
        known["seed"] = (("seed",), np.arange(seeds))
    fitting = {
        name: (dims, values)
        for name, (dims, values) in known.items()
        if tuple(data.sizes.get(dim) for dim in dims) == np.shape(values)
    }
    return data.assign_coords(fitting)


def _numbers(name: str, values: Any) -> np.ndarray:
    try:
        array = np.asarray(values)
        got = f"has dtype {array.dtype}"
    except ValueError:  # lists of unequal lengths
        array, got = None, "is none"
    if array is None or array.dtype.kind not in "fiub":
        raise VocabularyError(f"Variable `{name}` must be an array of real numbers, but {got}.")
    return array


def _in_cells(whole: Grid, of: Callable[[Grid], xr.Dataset], stage: str, tell: Tell) -> xr.Dataset:
    """Return the datasets of all cells along the axes of the grid; but for ``step`` by position, as runs are laid."""
    parts: dict[tuple[int, ...], xr.Dataset] = {}
    shape = tuple(len(values) for values in whole.axes.values())
    for cell in whole.cells():
        tell(Stage(stage, len(parts), math.prod(shape), "cells"))
        parts[tuple(whole.axes[name].index(cell.cell[name]) for name in whole.axes)] = of(cell)
    dims = {str(dim) for part in parts.values() for dim in part.dims} - {"seed"}
    sizes = {dim: [part.sizes.get(dim, 0) for part in parts.values()] for dim in sorted(dims)}
    ends = [part["step"].values.max() if "step" in part else -1 for part in parts.values()]
    names = sorted(
        str(name)
        for name in set.intersection(*(set(part.coords) for part in parts.values()))
        if all({"step", "seed"}.isdisjoint(part[name].dims) for part in parts.values())
    )

    def words(index, _):
        return {name: (parts[index][name].dims, parts[index][name].values) for name in names}

    coords = labels(whole.axes, words, np.zeros(0), {})
    most = {dim: max(reached) for dim, reached in sizes.items() if dim != "step"}
    laid = {place: _filled(part, most) for place, part in parts.items()}
    for position, (name, values) in reversed(list(enumerate(whole.axes.items()))):
        label = xr.DataArray(list(values), dims=name, name=name)
        laid = {
            head: xr.concat(
                [laid[(*head, i)] for i in range(len(values))], label, join="outer", data_vars="all"
            )
            for head in np.ndindex(*shape[:position])
        }
    data = laid[()]
    if "step" in dims:
        sizes["step"] = np.searchsorted(data["step"].values, ends, "right").tolist()
    for array in data.data_vars.values():
        if array.dtype.kind in "iu":
            array.attrs["padding"] = int(padding(array.dtype))
    return annotate(data.assign_coords(coords | lengths(whole.axes, sizes)))


def _filled(part: xr.Dataset, sizes: Mapping[str, int]) -> xr.Dataset:
    """A part with dims filled up to some sizes, as those of runs are, and without the labels along them."""
    part = part.drop_vars([n for n in part.coords if not sizes.keys().isdisjoint(part[n].dims)])
    short = {dim: most - part.sizes.get(dim, most) for dim, most in sizes.items()}
    if not any(short.values()):
        return part
    filling = {name: padding(array.dtype) for name, array in part.data_vars.items()}
    missing = {dim: (0, number) for dim, number in short.items() if number}
    return part.pad(missing, constant_values=filling)
