"""Panels that a study declares, evaluated on a grid: lines of values with what theory says of them, before any picture."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import product, zip_longest
from typing import Any

import numpy as np
import xarray as xr
from matplotlib.colors import to_hex

from foretrain.figures.style import COLOURS, NAMES, shades
from foretrain.plans.card import StudyError
from foretrain.plans.grid import Grid
from foretrain.plans.parameters import rules
from foretrain.quantities import curves
from foretrain.quantities.cell import THEORY, Cell
from foretrain.quantities.measured import NotApplicable, PerSeed
from foretrain.quantities.panels import Panel
from foretrain.words import title, told_apart


@dataclass
class Line:
    """One line of a panel: values of shape (seed, x), and what theory says, shape (x,)."""

    label: str
    colour: str
    x: np.ndarray
    samples: np.ndarray
    theory: tuple[np.ndarray, np.ndarray] | None


@dataclass
class Board:
    """A panel at one value of `across`, evaluated."""

    panel: Panel
    cell: Cell
    title: str
    lines: list[Line]
    xlabel: str
    ylabel: str
    words: str
    reads: set[str]
    columns: list[str]  # texts along the abscissa; empty where it has numbers


def boards(panel: Panel, grid: Grid) -> Iterator[Board]:
    """Evaluate a panel on the grid: a board for each value of `across` where it applies."""
    known = rules(type(grid.parameters))
    part, words = grid.first([name for name in (panel.across, panel.by, panel.x) if name in known])
    if panel.across in known:
        values = list(curves.some(part.values(panel.across), panel.most).values())
        names = _named(part, panel.across, values)
        places = [(name, {panel.across: v}, {}) for name, v in zip(names, values, strict=True)]
    else:
        places = [(head, {}, at) for head, at in _dims(panel, part)]
    for head, chosen, at in places:
        board = _board(panel, part, chosen, at, head, words)
        if any(np.isfinite(line.samples).any() or line.theory for line in board.lines):
            yield board


def _dims(panel: Panel, part: Grid) -> list[tuple[str, dict[str, int]]]:
    """Title and place of each value of a dim of the quantity that gives panels; one without a title where there is none."""
    if panel.across is None:
        return [("", {})]
    values = _evaluated(next(iter(panel.quantities.values())), Cell(part.at({})))
    if values is None or panel.across not in values.dims:
        return []
    return [
        (_placed(values, panel.across, place), {panel.across: place})
        for place in curves.some(list(range(values.sizes[panel.across])), panel.most)
    ]


def _board(panel, part, chosen, at, head, words) -> Board:
    known = rules(type(part.parameters))
    lines: list[Line] = []
    reads: set[str] = set()
    labels = {"x": "", "y": ""}
    values: list[Any] = [None]
    if panel.by in known:
        values = list(curves.some(part.values(panel.by), panel.most).values())
    names = [""] if values == [None] else _named(part, panel.by, values)
    ordered = panel.by in known and not isinstance(values[0], str) and len(values) > 1
    ramp = [to_hex(shade) for shade in shades(len(values))] if ordered else COLOURS
    every = product(panel.quantities.items(), (panel.of or {"": ""}).items())
    for turn, ((label, quantity), (of_label, network)) in enumerate(every):
        for place, (value, named) in enumerate(zip(values, names, strict=True)):
            here = chosen if value is None else {**chosen, panel.by: value}
            colour = ramp[(place if value is not None else turn) % len(ramp)]
            prefix = ", ".join(filter(None, (label, of_label, named)))
            new = _lines(panel, quantity, network, part, here, at, prefix, reads, labels)
            for offset, line in enumerate(new):
                line.colour = colour if len(new) == 1 else COLOURS[offset % len(COLOURS)]
            lines += new
    cell = Cell(part.at(chosen))
    xlabel = panel.xlabel or labels["x"]
    ylabel = panel.label or labels["y"]
    places = (part.values(panel.x) if panel.x in known else ()) if panel.x else ("",)
    columns = [place for place in places if isinstance(place, str)]
    return Board(panel, cell, head or panel.title, lines, xlabel, ylabel, words, reads, columns)


def _lines(panel, quantity, network, part, chosen, at, label, reads, labels) -> list[Line]:
    """Evaluate one quantity of one network at one place of the grid: a line, or one for each value of its own dim `by`."""
    known = rules(type(part.parameters))
    if panel.x in known or not panel.x:
        labels["x"] = labels["x"] or (_parameter(part, panel.x) if panel.x else "")
        return _against_axis(panel, quantity, network, part, chosen, label, reads, labels)
    cell = Cell(part.at(chosen))
    values = _evaluated(quantity, cell.of(network) if network else cell)
    reads |= cell.reads
    predicted = _theory(panel, quantity, cell.grid, reads)
    if values is None:
        return []
    labels["y"] = labels["y"] or _ordinate(values)
    spots = [(label, dict(at))]
    if panel.by is not None and panel.by not in known:
        if panel.by not in values.dims:
            raise StudyError(f"A panel must be drawn by a dim, but `{panel.by}` is none of it.")
        spots = [
            (_placed(values, panel.by, n, always=True), {**at, panel.by: n})
            for n in curves.some(list(range(values.sizes[panel.by])), panel.most)
        ]
        spots = [(", ".join(filter(None, (label, named))), spot) for named, spot in spots]
    lines = []
    for named, spot in spots:
        x, samples, name = _curve(panel, values.isel(spot), cell.grid.network(network), cell)
        labels["x"] = labels["x"] or name
        theory = None
        if predicted is not None:
            there = predicted.isel({dim: n for dim, n in spot.items() if dim in predicted.dims})
            theory_x, rows, _ = _curve(panel, there, cell.grid.theory, cell)
            theory = (theory_x, _middle(panel, rows))
        lines.append(Line(named, "", x, samples, theory))
    return lines


def _against_axis(panel, quantity, network, part, chosen, label, reads, labels) -> list[Line]:
    """Evaluate a quantity in every cell along an axis of the grid, which is the abscissa."""
    columns, predicted, places = [], [], part.values(panel.x) if panel.x else ("",)
    for value in places:
        cell = Cell(part.at({**chosen, panel.x: value} if panel.x else chosen))
        values = _evaluated(quantity, cell.of(network) if network else cell)
        reads |= cell.reads
        columns.append(() if values is None else _per_seed(values))
        labels["y"] = labels["y"] or ("" if values is None else _ordinate(values))
        values = _theory(panel, quantity, cell.grid, reads)
        predicted.append(
            np.nan if values is None else float(curves.mean_of_known(_per_seed(values)))
        )
    samples = np.array([*zip_longest(*columns, fillvalue=np.nan)])
    if not samples.size:
        return []
    x = np.arange(len(places)) if isinstance(places[0], str) else np.asarray(places, float)
    theory = (x, np.array(predicted)) if np.isfinite(predicted).any() else None
    return [Line(label, "", x, samples, theory)]


def _middle(panel: Panel, rows: np.ndarray) -> np.ndarray:
    if panel.statistic != "median":
        return curves.mean_of_known(rows)
    return np.ma.median(np.ma.masked_invalid(rows), axis=0).filled(np.nan)


def _evaluated(quantity, cell: Cell) -> xr.DataArray | None:
    try:
        values = quantity(cell)
    except NotApplicable:
        return None
    if isinstance(values, PerSeed):
        values = values.values
    if values is None:
        return None
    if not isinstance(values, xr.DataArray):
        values = np.asarray(values)
        if values.ndim > 1:
            rule = "A panel's quantity must have labelled dims"
            raise StudyError(f"{rule}, but gives an array of shape {values.shape}.")
        values = xr.DataArray(values, dims=("seed",)[: values.ndim])
    return values


def _theory(panel: Panel, quantity, grid: Grid, reads: set[str]) -> xr.DataArray | None:
    chosen, cell = panel.theory, Cell(grid)
    if isinstance(chosen, Mapping):
        label = next(name for name, drawn in panel.quantities.items() if drawn is quantity)
        chosen = chosen.get(label, False)
    if chosen is False:
        return None
    values = _evaluated(*((chosen, cell) if callable(chosen) else (quantity, cell.of(THEORY))))
    if not callable(chosen) and not all(name.startswith(f"{THEORY}/") for name in cell.reads):
        return None  # of what it measures there is no theory
    reads |= cell.reads
    return values


def _per_seed(values: xr.DataArray) -> np.ndarray:
    single = [dim for dim in values.dims if dim != "seed" and values.sizes[dim] == 1]
    values = values.squeeze(single)
    if set(values.dims) - {"seed"}:
        rule = "A panel over an axis must draw one value per seed"
        raise StudyError(f"{rule}, but its quantity has dims {values.dims}.")
    return np.atleast_1d(values.values.astype(float))


def _curve(panel, values: xr.DataArray, data: Any, cell: Cell):
    """Return abscissa (x,), samples (seed, x) and the label of the abscissa of a curve."""
    dim = "step" if panel.x in ("time", "step") else panel.x
    if dim not in values.dims:
        own = [str(dim) for dim in values.dims if dim != "seed"]
        if len(own) != 1 or panel.x not in ("time", "step"):
            got = f"but has {values.dims}"
            raise StudyError(f"A panel's quantity must have the dim `{dim}`, {got}.")
        dim = own[0]  # the clock of a variant that is observed at times of its own
    extra = [dim for dim in values.dims if dim not in ("seed", dim) and values.sizes[dim] == 1]
    values = values.squeeze(extra)
    x, label = np.arange(values.sizes[dim], dtype=float), title(dim)
    time = values.coords.get("time")
    if panel.x == "time" and time is not None and time.dims == (dim,) and np.isfinite(time).any():
        x, label = time.values.astype(float), curves.axis_label(time, "Time")
    elif dim in values.coords and values[dim].dtype.kind in "fiu":
        x = values[dim].values.astype(float)
    samples = curves.by_seed(values.rename({dim: "step"}) if dim != "step" else values)
    outcome = data.get("outcome") if dim == "step" and hasattr(data, "get") else None
    return x, curves.held_to_end(samples, outcome, {}), label


def _named(part: Grid, name: str, values: list[Any]) -> list[str]:
    """Words for values of a parameter, of numbers as many digits as tell them apart."""
    if isinstance(values[0], str):
        return [NAMES.get(value) or value.replace("_", " ") for value in values]
    shown = _mathematical(rules(type(part.parameters))[name].symbol) or name.replace("_", " ")
    return [f"{shown} = {text}" for text in told_apart(values)]


def _parameter(part: Grid, name: str) -> str:
    rule = rules(type(part.parameters))[name]
    words = [title(name), _mathematical(rule.symbol)]
    return " ".join(filter(None, words)) + (f" ({rule.unit})" if rule.unit not in ("", "1") else "")


def _placed(values: xr.DataArray, dim: str, place: int, always: bool = False) -> str:
    """Words for a place along a dim: its label, behind the name of the dim where the label is a number."""
    label = curves.label_along(values, dim, place)
    named = always or not label.strip("+-.0123456789e")
    return f"{dim.replace('_', ' ')} {label}" if named else label


def _mathematical(symbol: str) -> str:
    return f"${symbol}$" if any(sign in symbol for sign in "_^\\") else symbol


def _ordinate(values: xr.DataArray) -> str:
    described = values.name is not None and "description" in values.attrs
    return curves.axis_label(values) if described else ""
