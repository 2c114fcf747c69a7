"""The curves of a grid as numbers for a page on which they can be looked into: plain lists, few enough to be sent."""

from typing import Any

import numpy as np

from foretrain.quantities import curves
from foretrain.words import told_apart

_NUMBERS = 36_000  # in all, some seven characters each
_CELLS, _VARIABLES, _VALUES, LINES, _SEEDS = 192, 8, 12, 6, 5
_POINTS = (20, 200)  # fewest and most of a curve


def live(grid: Any) -> dict | None:
    """The curves that theory and simulation of a grid share, else those of the simulation; None where there is none.

    They are ``axes``, a list of ``[name, texts of values]``; ``variables``, a list of ``name``, ``label``, ``lines`` (words,
    "" for one alone); and ``cells``, place on the axes such as "0,2" to ``xlabel``, ``x`` and per variable and line ``mean``,
    ``seeds`` (at most five) and, where there is one, ``theory``. Of long curves, axes and dims an even selection is held, in
    many cells of fewer seeds and variables. What is not finite is None.
    """
    if not (names := curves.curve_names(grid)[:_VARIABLES]):
        return None
    axes, left = {}, _CELLS
    for number, (name, values) in enumerate(grid.axes.items()):
        axes[name] = curves.some(values, min(_VALUES if number == 0 else 4, left))
        left //= len(axes[name])
    own = {name: grid.simulation[name] for name in names}
    variables = {n: curves.lines_along(runs, [*grid.axes], LINES) for n, runs in own.items()}
    sizes = [len(places) for places in axes.values()]
    most, several = _NUMBERS // int(np.prod(sizes)), np.cumsum([*map(len, variables.values())])
    variables = dict([*variables.items()][: max(1, (3 * _POINTS[0] * several <= most).sum())])
    count = sum(map(len, variables.values()))
    seeds = min(_SEEDS, grid.simulation.sizes.get("seed", 1))
    seeds = int(np.clip(most // (_POINTS[0] * count) - 2, 1, seeds))  # and a mean and a theory
    points = int(np.clip(most // (count * (2 + seeds)), *_POINTS))
    cells = {}
    for spot in np.ndindex(*sizes):
        chosen = zip(axes.items(), spot, strict=True)
        place = {name: list(labels)[n] for (name, labels), n in chosen}
        if cell := _cell(grid, variables, place, points, seeds):
            cells[",".join(map(str, spot))] = cell
    if not cells:
        return None
    return {
        "axes": [[name, told_apart(list(values.values()))] for name, values in axes.items()],
        "variables": [
            {"name": name, "label": curves.axis_label(grid.simulation[name]), "lines": list(lines)}
            for name, lines in variables.items()
        ],
        "cells": cells,
    }


def _cell(grid, variables, place, points, seeds) -> dict | None:
    x, label = curves.abscissa(grid.simulation, place)
    runs = {
        (name, words): curves.curves_at(grid, name, {**place, **spot})
        for name, lines in variables.items()
        for words, spot in lines.items()
    }
    there = np.any([np.isfinite(curve).any(0) for curve in runs.values()], axis=0) & np.isfinite(x)
    kept = curves.thinned(there, points)
    if not kept.size:
        return None
    cell: dict[str, Any] = {"xlabel": label, "x": numbers(x[kept], 6), "curves": []}
    for name, lines in variables.items():
        theory, rows = grid.theory.get(name), []
        for words, spot in lines.items():
            losses = runs[name, words][:, kept]
            curve: dict[str, Any] = {"mean": numbers(curves.mean_of_known(losses))}
            if len(losses) > 1:
                curve["seeds"] = [numbers(run) for run in losses[:seeds]]
            if theory is not None:
                predicted = curves.prediction(theory, grid.simulation[name], {**place, **spot})
                if predicted is not None and np.isfinite(predicted[kept]).any():
                    curve["theory"] = numbers(predicted[kept])
            rows.append(curve)
        cell["curves"].append(rows)
    return cell


def numbers(values, digits: int = 4) -> list[float | None]:
    """Return numbers in so many digits, None in place of what is not finite."""
    return [float(f"{value:.{digits}g}") if np.isfinite(value) else None for value in values]
