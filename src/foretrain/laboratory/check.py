"""Checks of a study before anything is trained."""

import dataclasses
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr

from foretrain.claims.judge import judge
from foretrain.claims.sentence import Sentence, SentenceError
from foretrain.dynamics.program import completed
from foretrain.engine.host import by_step, computed
from foretrain.engine.traced import traced
from foretrain.errors import ForetrainError, nearest, one_of
from foretrain.figures.boards import boards
from foretrain.laboratory.judge import reason
from foretrain.laboratory.labelled import dataset, theory_of
from foretrain.plans.author import loaded, words
from foretrain.plans.card import StudyError
from foretrain.plans.grid import Grid, WithheldError
from foretrain.plans.parameters import clean, rules, types
from foretrain.plans.place import place
from foretrain.plans.plan import Plan, make_plan
from foretrain.plans.study import Study
from foretrain.quantities.cell import Cell
from foretrain.quantities.measured import NotApplicable
from foretrain.quantities.panels import FigureRow
from foretrain.results.arrays import storable
from foretrain.streams import Seed
from foretrain.vocabulary import CONVERGED, DIVERGED, lookup, positions


class Problems(list[str]):
    """Lines on what a study lacks; printed one below the other."""

    #: Time that the first run took to be measured or sampled; None where nothing is, or it raised.
    seconds: float | None = None

    def __repr__(self) -> str:
        return "\n".join(self) or "Nothing is missing."


def check(study: str | Path | Study) -> Problems:
    """Everything that is wrong with a study, a line each; empty if it can be run and judged.

    The program is traced: a missing part, a variable that is not declared or has other dims, inputs that differ
    in shape from seed to seed, a state that changes its shape, a sentence that allows everything or leaves out its own
    prediction are found in seconds. Sentences are judged and panels of figures evaluated on a made-up run: so a name that is
    none, a value for each mode, a theory that is nan are found. The first seed at the first value of every axis is computed,
    or trained for two seconds: an error in it, a variable that is not finite, or divergence is found, too.
    """
    try:
        known = loaded(study)
        plan = make_plan(known, {})
    except ForetrainError as error:
        return Problems([str(error)])
    except (Exception, SystemExit) as error:
        return Problems([place(error)])
    with words(known):
        return _lacks(known, plan)


def _lacks(study: Study, plan: Plan) -> Problems:
    p, lines = plan.parameters, Problems()
    fields = ("steps", "observe_every") if study.trains else ()
    for name in (name for name in fields if name not in rules(study.Parameters)):
        missing = f"`Parameters` must have a field `{name}`, but has none."
        lines.append(f"{missing} Inherit it from foretrain.study.Run.")
    if lines:
        return lines

    def attempt(what: str, function: Callable[[], Any]) -> Any:
        try:
            return function()
        except (Exception, SystemExit) as error:
            whole = isinstance(error, ForetrainError) and not isinstance(error, WithheldError)
            lines.append(f"{what}: {error if whole else place(error)}")
        return None

    numeric = [name for name, kind in types(study.Parameters).items() if kind in (int, float)]
    for name in (study.part("study") or {}).get("EXPLORE", ()):
        attempt("sliders", partial(one_of, "EXPLORE", name, numeric))
    attempt("variants", lambda: _variants(study, p))
    observed = attempt("program", lambda: traced(study, p, partial(_inputs, study, p, 0))) or {}
    sizes: dict[str, int] = {}
    for name, shape in observed.items():
        sizes |= attempt("program", partial(_fits, name, shape)) or {}
    began = time.perf_counter()
    arrays = attempt("first run", lambda: computed(study, p, Seed(plan.root_seed, 0))) or {}
    lines.seconds = time.perf_counter() - began if arrays else None
    for name, array in arrays.items():
        sizes |= attempt("first run", partial(_holds, name, array)) or {}
        observed[name] = array.shape
    step = attempt(
        "first run", lambda: by_step(arrays, positions("step"), study.stored_steps(p))[0]
    )
    attempt("estimate", lambda: study.estimate(p))
    attempt("labels", lambda: _labelled(study, p, sizes, step))
    sentences = attempt("sentences", lambda: study.sentences) or ()
    figures = attempt("figures", lambda: study.figures) or {}
    cell = next(Grid(plan.parameters, plan.axes, plan.seeds, plan.root_seed).cells())
    measured = xr.Dataset() if step is None else xr.Dataset(coords={"step": step})
    cell = dataclasses.replace(cell, seeds=1, simulation=measured)
    theory = attempt("predict", lambda: theory_of(study, cell)) or xr.Dataset()
    common = sorted(observed.keys() & theory.data_vars.keys())
    if theory.data_vars and observed and not sentences and not common:
        lines.append(
            f"predict: it must give a variable that a run holds ({', '.join(observed)}), but gives "
            f"{', '.join(map(str, theory.data_vars))}: nothing can be compared."
        )
    for name in common:
        attempt("predict", partial(_as_long, name, theory[name], sizes))
    swept = {name for name, values in plan.axes.items() if len(values) > 1}
    cell = dataclasses.replace(cell, theory=theory, simulation=xr.Dataset())
    if not lines:
        made_up = _made_up(study, p, observed, arrays)
        networks = _Networks(dict.fromkeys(study.variants(p), made_up))
        cell = dataclasses.replace(cell, simulation=made_up, variants=networks)
    for sentence in sentences:
        attempt(f"The sentence `{sentence.id}`", partial(_judged, sentence, cell, swept))
    for name, row in figures.items() if cell.simulation.data_vars else ():
        attempt(f"The figure `{name}`", partial(_drawable, row, cell))
    if study.trains and not lines:
        attempt("first run", lambda: _short_run(study, p))
    lines[:] = dict.fromkeys(lines)
    return lines


class _Networks(dict[str, xr.Dataset]):
    """Runs of networks by name; a name that is nearly one of these is misspelt, another may be that of other parameters."""

    __contains__ = Mapping.__contains__  # asks for the name, which an inner dictionary does not

    def __missing__(self, name: str) -> Any:
        if (repair := nearest(name, self)).startswith("Did"):
            raise SentenceError(f"There is no network `{name}`. {repair}")
        raise KeyError(name)


def _made_up(study: Study, p: Any, shapes: dict[str, tuple[int, ...]], known: Any) -> xr.Dataset:
    """Return a run that no network made, of which every number falls from one to a tenth, but for what was computed."""
    step, values = study.stored_steps(p), {"outcome": np.full(1, CONVERGED)}
    values["steps_taken"] = step[-1:] if step.size else np.zeros(1, int)
    for name, shape in shapes.items():
        sizes = [len(step) if n < 0 else n for n in shape]
        random = np.random.default_rng(0).uniform(0.1, 1, sizes)
        falling = -np.sort(-random, axis=0) if shape else random
        values[name] = np.asarray(known.get(name, falling))[np.newaxis]
    return dataset(values, study.labels(p, step), step, seeds=1)


def _short_run(study: Study, p: Any) -> None:
    """Raise where the first run diverges within two seconds of training, compilation left out."""
    from foretrain.engine.lanes import FEWEST, Lanes, Passenger

    if (bare := study.program(p)) is None:  # at these parameters all is measured
        return
    program, shared = completed(bare, p), study.shared(p)
    lanes = Lanes(program, shared, FEWEST)
    for number in range(2):
        inputs = _inputs(study, p, number)
        lanes.board([Passenger("", {name: inputs[name] for name in inputs.keys() - shared})])
    finished, until = lanes.advance(), time.monotonic() + 2
    while lanes.busy and time.monotonic() < until:
        finished += lanes.advance()
    for run in finished:
        if run.outcome == DIVERGED:
            got = f"diverged after {run.steps_taken} steps"
            raise StudyError(f"The run must stay finite, but {got}. Try smaller steps.")


def _inputs(study: Study, p: Any, number: int) -> dict[str, Any]:
    numbers = {"root_seed": np.uint32(0), "seed": np.uint32(number), "max_steps": np.int32(p.steps)}
    return {**study.inputs(p, Seed(0, number)), **study.shared(p), **numbers}


def _variants(study: Study, p: Any) -> None:
    for overrides in study.variants(p).values():
        for name, value in overrides.items():
            if name != "seeds":
                clean(study.Parameters, name, value)


def _labelled(study: Study, p: Any, sizes: dict[str, int], step: np.ndarray | None) -> None:
    """Raise where the labels along a dim are not as many as what the longest of the networks holds along it."""
    step = study.stored_steps(p) if study.trains or step is None else step
    lengths = {name: (dims[0], len(v)) for name, (dims, v) in study.labels(p, step).items()}
    largest = dict(sizes)
    if any(length != sizes.get(dim, length) for dim, length in lengths.values()):
        for overrides in study.variants(p).values():
            other = dataclasses.replace(p, **{k: v for k, v in overrides.items() if k != "seeds"})
            host = {name: array.shape for name, array in computed(study, other, Seed(0, 0)).items()}
            shapes = traced(study, other, partial(_inputs, study, other, 0)) | host
            for name, shape in shapes.items():
                for dim, size in _fits(name, shape).items():
                    largest[dim] = max(size, largest.get(dim, size))
    for name, (dim, length) in lengths.items():
        if length != largest.get(dim, length):
            raise StudyError(
                f"Labels `{name}` must be as many as there are along `{dim}`, {largest[dim]}, but are {length}."
            )


def _as_long(name: str, predicted: xr.DataArray, sizes: dict[str, int]) -> None:
    """Raise where something predicted is longer or shorter along a dim than what a run holds, but for padding behind it."""
    for dim, size in predicted.sizes.items():
        expected = sizes.get(str(dim), size)
        behind = predicted.isel({dim: slice(expected, None)}).values
        padded = np.isnan(behind) if behind.dtype.kind == "f" else behind == -1
        if size < expected or not padded.all():
            raise StudyError(
                f"Variable `{name}` must be as long along `{dim}` as what a run holds, {expected}, but is {size}."
            )


def _judged(sentence: Sentence, cell: Grid, swept: set[str]) -> None:
    """Raise where a sentence cannot be judged: by what it allows, a name, its shape, or a theory that is nan."""
    laid, claim = cell.along(*sentence.along), None
    blind = Cell(laid).blind()
    try:
        if sentence.where is None or sentence.where(blind):
            sentence.fixed(blind)
            with suppress(LookupError, ValueError, ArithmeticError):  # the numbers are made up
                claim = judge(sentence, laid) if cell.simulation.data_vars else None
        if claim is not None and (why := reason(claim, laid)) != claim.reason:
            raise SentenceError(f"In a made-up run {why}.")
    except (KeyError, IndexError, NotApplicable):
        return  # what it takes from the theory is only there where the theory of the whole grid is
    except WithheldError:
        raise
    except (SentenceError, ValueError, ArithmeticError):
        if not swept & set(sentence.along):
            raise  # along a swept axis one value is not what it speaks of


def _drawable(row: FigureRow, cell: Grid) -> None:
    """Raise where a panel of a figure reads a name that is none, or cannot be drawn."""
    with suppress(LookupError, ValueError, ArithmeticError):  # the numbers are made up
        if row.where is None or row.where(Cell(cell).blind()):
            for panel in row.panels:
                list(boards(panel, cell))


def _holds(name: str, array: np.ndarray) -> dict[str, int]:
    """The size of each dim of something computed; raises where it cannot be stored, or none of its numbers is finite."""
    if not storable(array.dtype):
        raise StudyError(f"Variable `{name}` must hold numbers, but has dtype {array.dtype}.")
    if array.size and not np.isfinite(array).any():
        raise StudyError(f"Variable `{name}` must be finite, but is {array.flat[0]}.")
    return _fits(name, array.shape, measured=True)


def _fits(name: str, shape: tuple[int, ...], *, measured: bool = False) -> dict[str, int]:
    """Return the size of each dim, but for ``step`` of what a program observes, where it is -1 and stands first.

    Raises `VocabularyError` for a variable that is not declared, `StudyError` where it has other dims than declared.
    """
    declared = lookup(name).dims
    if declared is None:
        return {}
    placed = measured or (shape[:1] == (-1,)) == (declared[:1] == ("step",))
    if len(declared) != len(shape) or not placed:
        dims = tuple("step" if size == -1 else size for size in shape)
        rule = f"must have dims {declared}, as it is declared"
        raise StudyError(f"Variable `{name}` {rule}, but has shape {dims}.")
    return {dim: size for dim, size in zip(declared, shape, strict=True) if size >= 0}
