"""Sliders of the curves on a page: what theory says of them, and of the headlines, where one parameter is changed."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import xarray as xr

from foretrain.claims.sentence import Sentence
from foretrain.errors import one_of
from foretrain.figures.live import LINES, numbers
from foretrain.plans.grid import Grid
from foretrain.plans.parameters import rules
from foretrain.plans.study import Study
from foretrain.quantities import curves
from foretrain.quantities.cell import Cell
from foretrain.words import number

_FACTORS = 10.0 ** np.linspace(-1, 1, 25)  # values of a slider, in that of the run
_NUMBERS = 170  # of each, some seven characters each
EMPTY = {"axes": [], "variables": [], "cells": {"": {"x": [], "curves": []}}}  # without time
_LINES = 5  # most lines whose theory moves: with more, too few numbers of each would be left


def moved(study: Study, grid: Grid) -> tuple[Grid, dict[str, list[Grid]]]:
    """Return the first cell, and cells about it for each parameter in ``EXPLORE`` that is positive, of the first seed."""
    axes = {name: values[next(iter(curves.some(values, 1)))] for name, values in grid.axes.items()}
    cell, moves = replace(grid.at(axes), seeds=1), {}
    for name in (study.part("study") or {}).get("EXPLORE", ()):
        own = getattr(cell.parameters, one_of("EXPLORE", name, [*rules(study.Parameters)]))
        turned = round if isinstance(own, int) else lambda value: float(f"{value:.3g}")
        if own > 0:
            values = sorted({own, *(turned(own * factor) for factor in _FACTORS)})
            there = [replace(cell.parameters, **{name: value}) for value in values]
            moves[name] = [replace(cell, parameters=p) for p in there]
    return cell, moves


@np.errstate(all="ignore")  # beyond the end of a theory
def explore(
    study: Study, predict: Callable[[Grid], xr.Dataset], grid: Grid, board: Mapping[str, Any]
) -> dict[str, Any]:
    """Return a board with a slider under ``explore`` for each parameter that `moved` moves; as it is without any, or theory.

    Each has for each of its values the curves of theory at some times of the board, which `foretrain.figures.live.live` makes
    of the grid, what the headlines predict, and where theory ends. Variables of few lines come first. The board gets curves
    of the first cell that the stored theory calls by other names. Where theory tells no curve, its numbers stand alone.
    """
    (cell, moves), whole = moved(study, grid), {**board} or EMPTY
    view = whole["cells"].get(",".join("0" for _ in grid.axes if board))
    if not (view and moves and grid.theory.data_vars):
        return {**board}
    names, x = [variable["name"] for variable in whole["variables"]], np.array(view["x"])
    seed = " of seed 0" if grid.theory.sizes.get("seed", 1) > 1 else ""
    theory, lines = predict(cell), {}
    for name, rows in zip(names, view["curves"], strict=True):
        spots = curves.lines_along(cell.simulation[name], (), LINES)
        paths = [_curve(theory, name, spot, x) for spot in spots.values()]
        if any({*predicted} - {None} for predicted in paths):
            lines[name] = spots
            for curve, predicted in zip(rows, paths, strict=True):
                if "theory" not in curve:
                    curve |= {"theory": predicted, "of": seed}
    scalars = [n for n, v in theory.items() if not lines and v.size == 1 and v.dtype.kind in "fiu"]
    heads = [s for s in study.sentences if s.rank == "headline" and (s.domain or callable(s.near))]
    numeric = [n for n, sentence in enumerate(heads) if callable(sentence.near)]
    if not (lines or scalars or numeric):
        return {**board}
    ranked = sorted(lines.items(), key=lambda item: (len(item[1]), [*theory].index(item[0])))
    sizes = np.cumsum([len(spots) for _, spots in ranked])
    of = dict(ranked[: max(1, int((sizes <= _LINES).sum()))])
    most = min(_NUMBERS // max(1, sum(map(len, of.values()))), len(view["x"]))
    places = np.linspace(0, len(view["x"]) - 1, most).round().astype(int)

    def row(there: Grid) -> tuple[list, list[str], str]:
        there = replace(there, theory=predict(there))
        answers = [_answer(sentence, there) for sentence in heads]
        curve = partial(_curve, there.theory, x=x[places])
        paths = [[curve(name, spot) for spot in of.get(name, {}).values()] for name in names]
        shown = [number(float(there.theory[name].item())) for name in scalars]
        shown += [answers[n][0] for n in numeric]
        outside: dict[str, list[str]] = {}
        for sentence, (_, why) in zip(heads, answers, strict=True):
            outside.setdefault(why, []).append(sentence.statement)
        notes = [f"Not claimed here ({why}): {' '.join(outside[why])}" for why in outside if why]
        return paths, shown, " ".join(notes)

    def slider(name: str) -> dict[str, Any]:
        own, rows, ends = getattr(cell.parameters, name), {}, ["", ""]
        for there in moves[name]:
            value = getattr(there.parameters, name)
            try:
                rows[value] = row(there)
            except Exception as error:  # where the parameters end, or the theory
                ends[value > own] = ends[1] or f" The slider ends here: {error}"
        theory, texts, notes = map(list, zip(*rows.values(), strict=True))
        notes[0], notes[-1] = notes[0] + ends[0], notes[-1] + ends[1]
        phrases = [*dict.fromkeys(notes)]
        columns = {"values": [*map(number, rows)], "theory": theory, "texts": texts}
        columns |= {"phrases": phrases, "notes": [*map(phrases.index, notes)]}
        words = rules(study.Parameters)[name].words
        return {"name": name, "words": words, "start": [*rows].index(own), **columns}

    table = {"of": [*of], "places": places.tolist(), "seed": seed}
    words = [f"{curves.axis_label(theory[n])}. {theory[n].attrs['description']}" for n in scalars]
    table["headlines"] = words + [heads[n].statement for n in numeric]
    return {**whole, "explore": {**table, "sliders": [*map(slider, moves)]}}


def _curve(theory: xr.Dataset, name: str, spot: dict, x: np.ndarray) -> list[float | None]:
    """Return a predicted curve at times of the board; its own are others where the learning rate is."""
    if name not in theory or "step" not in theory[name].dims:
        return []
    values = curves.mean_of_known(curves.by_seed(theory[name].isel(spot, missing_dims="ignore")))
    return numbers(np.interp(x, curves.abscissa(theory, {})[0], values, right=np.nan))


def _answer(sentence: Sentence, cell: Grid) -> tuple[str, str]:
    """Return what a sentence predicts in a cell, and why it is not claimed there, "" where it is."""
    try:
        blind = Cell(cell.along(*sentence.along)).blind()
        outside = sentence.domain(blind) if sentence.domain else ""
        near, _ = sentence.fixed(blind)
    except Exception:  # what looks along an axis, or does not apply, says nothing here
        return "–", ""
    return number(near) if np.isfinite(near) else "–", outside
