"""Sliders of the curves on a page: what theory says of them, and of the headlines, where one parameter is changed."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import xarray as xr

from foretrain.claims.sentence import Sentence
from foretrain.errors import one_of
from foretrain.figures.live import LINES, numbers
from foretrain.plans.grid import Grid
from foretrain.plans.parameters import clean, rules
from foretrain.plans.study import Study
from foretrain.quantities import curves
from foretrain.quantities.cell import Cell
from foretrain.words import number

_FACTORS = 10.0 ** np.linspace(-1, 1, 25)  # values of a slider, in that of the run
_NUMBERS = 180  # of each, some seven characters each
_LINES = 5  # most lines whose theory moves: with more, too few numbers of each would be left


def explore(
    study: Study, predict: Callable[[Grid], xr.Dataset], grid: Grid, board: Mapping[str, Any]
) -> dict[str, Any]:
    """Return a slider for each parameter in ``EXPLORE`` of the study that is positive; empty without any, or without theory.

    Each changes its parameter in the first cell of the board that `foretrain.figures.live.live` makes of the grid, for the
    first seed, and has for each of its values the curves of theory at some of the board's times, what the headlines predict,
    and where theory ends. Variables of few lines come first.
    """
    axes = {name: values[next(iter(curves.some(values, 1)))] for name, values in grid.axes.items()}
    cell, view = grid.at(axes), board["cells"].get(",".join("0" for _ in axes))
    parameters = (study.part("study") or {}).get("EXPLORE", ())
    here, known = cell.parameters, [*rules(study.Parameters)]
    parameters = [n for n in parameters if getattr(here, one_of("EXPLORE", n, known)) > 0]
    if not (view and parameters and any("theory" in c for rows in view["curves"] for c in rows)):
        return {}
    names = [variable["name"] for variable in board["variables"]]
    lines = {name: curves.lines_along(cell.simulation[name], (), LINES) for name in names}
    ranked = sorted(lines.items(), key=lambda item: len(item[1]))
    sizes = np.cumsum([len(spots) for _, spots in ranked])
    of = dict(ranked[: max(1, int((sizes <= _LINES).sum()))])
    most = min(_NUMBERS // sum(map(len, of.values())), len(view["x"]))
    places = np.linspace(0, len(view["x"]) - 1, most).round().astype(int)
    headlines = [sentence for sentence in study.sentences if sentence.rank == "headline"]
    numeric = [n for n, sentence in enumerate(headlines) if callable(sentence.near)]

    def row(p: Any) -> tuple[list, list[str], str]:
        moved = replace(cell, parameters=p, seeds=1)
        moved = replace(moved, theory=predict(moved))
        answers = [_answer(sentence, moved) for sentence in headlines]
        x = np.array(view["x"])[places]
        paths = [
            [_curve(moved.theory, name, spot, x) for spot in of.get(name, {}).values()]
            for name in names
        ]
        return paths, [answers[n][0] for n in numeric], " ".join(end for _, end in answers if end)

    def slider(name: str) -> dict[str, Any]:
        own, rows, ends = getattr(cell.parameters, name), {}, ["", ""]
        turned = round if isinstance(own, int) else lambda value: float(f"{value:.3g}")
        for value in sorted({own, *(turned(own * factor) for factor in _FACTORS)}):
            try:
                p = replace(cell.parameters, **{name: clean(study.Parameters, name, value)})
                study.check(p)
                rows[value] = row(p)
            except Exception as error:  # where the parameters end, or the theory
                ends[value > own] = ends[1] or f" The slider ends here: {error}"
        theory, texts, notes = map(list, zip(*rows.values(), strict=True))
        notes[0], notes[-1] = notes[0] + ends[0], notes[-1] + ends[1]
        phrases = [*dict.fromkeys(notes)]
        columns = {"values": [*map(number, rows)], "theory": theory, "texts": texts}
        columns |= {"phrases": phrases, "notes": [*map(phrases.index, notes)]}
        words = rules(study.Parameters)[name].words
        return {"name": name, "words": words, "start": [*rows].index(own), **columns}

    return {
        "of": [*of],
        "places": places.tolist(),
        "seed": " of seed 0" if cell.theory.sizes.get("seed", 1) > 1 else "",
        "headlines": [headlines[n].statement for n in numeric],
        "sliders": [slider(name) for name in parameters],
    }


def _curve(theory: xr.Dataset, name: str, spot: dict, x: np.ndarray) -> list[float | None]:
    """Return a predicted curve at times of the board; its own are others where the learning rate is."""
    if name not in theory or "step" not in theory[name].dims:
        return []
    time, _ = curves.abscissa(theory, {})
    values = curves.mean_of_known(curves.by_seed(theory[name].isel(spot, missing_dims="ignore")))
    return numbers(np.interp(x, time, values, right=np.nan))


def _answer(sentence: Sentence, cell: Grid) -> tuple[str, str]:
    """Return what a sentence predicts in a cell, and why it is not claimed there, "" where it is."""
    try:
        blind = Cell(cell.along(*sentence.along)).blind()
        outside = sentence.domain(blind) if sentence.domain else ""
        near, _ = sentence.fixed(blind)
    except Exception:  # what looks along an axis, or does not apply, says nothing here
        return "–", ""
    end = f"Not claimed here ({outside}): {sentence.statement}" if outside else ""
    return number(near) if np.isfinite(near) else "–", end
