"""The figures of a study that draws none of its own: every curve that theory and simulation share, one over the other.

The first axis of the grid gives the panels, the second (or a variable's own dims, such as ``mode``) the colours.
"""

import textwrap
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np
import xarray as xr

from foretrain.claims.claim import cell_label, value_text
from foretrain.figures import Drawing
from foretrain.figures.style import (
    PALETTE,
    axis_label,
    legend_below,
    panels,
    seed_band,
    style,
    theory_line,
)
from foretrain.vocabulary import CONVERGED, STALLED

_FIGURES = 6
_PANELS = 6
_COLOURS = 5
_SINGLE_RUNS = 5
_POINTS = 300  # of a curve: more are not told apart, and every one has its interval
_LARGEST = 1e30  # beyond it a run is blowing up, and would flatten all else
_BLOW_UP = 1e3  # a mean that grows to so many times its start is drawn on a logarithmic scale


def draw(grid: Any, names: Collection[str] = ()) -> dict[str, Drawing]:
    """Draw the curves of a grid.

    Args:
        grid: A `foretrain.plans.grid.Grid`.
        names: Variables that are drawn where there are curves of them; by default all.

    Returns:
        Name of each variable to its drawing, the loss first: those with a dim ``step`` that `grid.theory` and
        `grid.simulation` share; where they share none, those of the simulation. At most six.
    """
    with style():
        return {name: _figure(grid, name) for name in _names(grid, names)}


def _names(grid, chosen) -> list[str]:
    def with_step(data):
        return [str(name) for name, array in data.data_vars.items() if "step" in array.dims]

    own = [
        name for name in with_step(grid.simulation) if grid.simulation[name].dtype.kind in "fiub"
    ]
    shared = [name for name in own if name in with_step(grid.theory)]
    found = [name for name in shared or own if name in (chosen or [name])]
    return sorted(found, key=lambda name: name != "loss")[:_FIGURES]


def _figure(grid, name: str) -> Drawing:
    variable, theory = grid.simulation[name], grid.theory.get(name)
    axes = [axis for axis in grid.axes if axis in variable.dims]
    along = _some(grid.axes[axes[0]], _PANELS) if axes else {0: None}
    own = [dim for dim in variable.dims if dim not in (*axes, "seed", "step")]
    lines, fixed = _lines(grid, variable, axes, own)
    columns = 1 if len(along) == 1 else 2
    rows = -(-len(along) // columns)
    figure, board = panels(rows, columns, squeeze=False, height=3.2 * rows + 0.5)
    for ax in board.ravel()[len(along) :]:
        ax.set_visible(False)
    for ax, (place, value) in zip(board.ravel(), along.items(), strict=False):
        first = {axes[0]: place} if axes else {}
        x, label = _abscissa(grid.simulation, {**first, **fixed})
        drawn = [
            _curve(ax, x, grid, name, {**first, **fixed, **place}, words, colour)
            for (words, place), colour in zip(lines.items(), PALETTE.values(), strict=False)
        ]
        if any(drawn):
            _frame(ax)
        else:
            ax.text(0.5, 0.5, "no run", transform=ax.transAxes, ha="center", va="center")
        if axes:
            ax.set_title(cell_label({axes[0]: value}), loc="left", fontsize=12)
        ax.set_xlabel(label)
    for row in board:
        row[0].set_ylabel(axis_label(variable))
    if any(ax.get_legend_handles_labels()[1] for ax in figure.axes):
        legend_below(figure, columns=2)
    return Drawing(figure, _title(name), _caption(grid, variable, theory, axes, own, len(lines)))


def _some(values: Sequence, most: int) -> dict[int, Any]:
    """Place to value of at most so many values, in ascending order, evenly spread with both ends."""
    order = list(range(len(values)))
    if not isinstance(values[0], str):
        order.sort(key=lambda place: values[place])
    chosen = np.linspace(0, len(order) - 1, min(most, len(order))).round().astype(int)
    return {order[n]: values[order[n]] for n in chosen}


def _lines(grid, variable, axes, own) -> tuple[dict[str, dict[str, int]], dict[str, int]]:
    """Words to place of every colour, and the place on the axes that are neither panels nor colours."""
    fixed = dict.fromkeys(axes[1:], 0)
    single = {dim: 0 for dim in own if variable.sizes[dim] == 1}
    long = [dim for dim in own if dim not in single]
    lines: dict[str, dict[str, int]] = {"": {}}
    if long:
        spots = list(np.ndindex(*(variable.sizes[dim] for dim in long)))
        found = [dict(zip(long, spots[n], strict=True)) for n in _some(spots, _COLOURS)]
        words = [[f"{dim} {_label(variable, dim, n)}" for dim, n in spot.items()] for spot in found]
        lines = dict(zip(map(", ".join, words), found, strict=True))
    elif len(axes) > 1:
        second = axes[1]
        del fixed[second]
        some = _some(grid.axes[second], _COLOURS)
        lines = {cell_label({second: value}): {second: n} for n, value in some.items()}
    return {words: {**place, **single} for words, place in lines.items()}, fixed


def _label(variable, dim, place) -> str:
    """The label of a place along a dim; its number where there is none, or where cells of the grid differ in it."""
    if dim not in variable.coords:
        return str(place)
    values = np.ravel(variable[dim].isel({dim: place}).values).tolist()
    padding = (-1, "") if len(values) > 1 else ()
    found = {value for value in values if value == value and value not in padding}
    return value_text(found.pop()) if len(found) == 1 else str(place)


def _abscissa(data: xr.Dataset, place: Mapping[str, int]) -> tuple[np.ndarray, str]:
    """Time of every stored step in a cell where it is known, else the step, and the label of the axis."""
    if "time" in data.coords and "step" in data["time"].dims:
        time = data["time"].isel(place, missing_dims="ignore")
        if time.dims == ("step",) and np.isfinite(time.values).any():
            return time.values.astype(float), axis_label(time, "Time")
    if "step" in data.coords:
        return data["step"].values.astype(float), "Step"
    return np.arange(data.sizes["step"], dtype=float), "Stored step"


def _curve(ax, x, grid, name, place, words, colour) -> bool:
    """Draw a variable at a place of all its dims but seed and step, with words if others are drawn; whether it is there."""
    variable, theory = grid.simulation[name], grid.theory.get(name)
    runs = _by_seed(variable.isel(place, missing_dims="ignore"))
    runs = _held(runs, grid.simulation.get("outcome"), place)
    kept = _thinned(np.isfinite(runs).any(axis=0) & np.isfinite(x))
    found = bool(kept.size)
    if found:
        runs = runs[:, kept]
        for number, run in enumerate(runs[:_SINGLE_RUNS] if len(runs) > 1 else ()):
            label = "single runs" if number == 0 and not _has(ax, "single runs") else None
            ax.plot(x[kept], run, color=colour, linewidth=0.8, alpha=0.45, zorder=2.5, label=label)
        with np.errstate(over="ignore"):
            seed_band(ax, x[kept], runs, words or "simulation", color=colour)
    if theory is not None and (predicted := _predicted(theory, variable, place)) is not None:
        kept = _thinned(np.isfinite(predicted) & np.isfinite(x))
        if kept.size:
            found = True
            ax.plot(x[kept], predicted[kept], **theory_line(colour if words else None))
            if not _has(ax, "theory"):
                ax.plot([], [], **theory_line(label="theory"))
    return found


def _has(ax, label) -> bool:
    return label in ax.get_legend_handles_labels()[1]


def _by_seed(array: xr.DataArray) -> np.ndarray:
    """Values of shape (seed, step), with nan for what is too large to be drawn, and for the padding of whole numbers."""
    if "seed" not in array.dims:
        array = array.expand_dims("seed")
    stored = array.transpose("seed", "step").values
    values = np.where(stored == array.attrs.get("padding", np.nan), np.nan, stored.astype(float))
    return np.where(np.abs(values) < _LARGEST, values, np.nan)  # nan and infinity too


def _held(runs, outcome, place) -> np.ndarray:
    """The runs, of shape (seed, step), those that converged or stalled with their last value after their end.

    A mean over those that are left would rise where the quick ones end.
    """
    if outcome is None:
        return runs
    ended = np.isin(outcome.isel(place, missing_dims="ignore").values, (CONVERGED, STALLED))
    if ended.shape != runs.shape[:1]:
        return runs
    runs = runs.copy()
    for number in np.flatnonzero(ended):
        run = runs[number]
        known = np.flatnonzero(np.isfinite(run))
        if known.size:
            run[known[-1] + 1 :] = run[known[-1]]
    return runs


def _predicted(theory, variable, place) -> np.ndarray | None:
    """The prediction at the steps of the simulation, mean over seeds where it differs by seed; None if there is none."""
    array = theory.isel(place, missing_dims="ignore")
    if "step" in array.coords and "step" in variable.coords:
        array = array.reindex(step=variable["step"].values)
    if array.sizes["step"] != variable.sizes["step"] or set(array.dims) - {"seed", "step"}:
        return None
    values = _by_seed(array)
    known = np.isfinite(values)
    total = np.where(known, values, 0).sum(axis=0)
    return np.where(known.any(axis=0), total / np.maximum(known.sum(axis=0), 1), np.nan)


def _thinned(mask: np.ndarray) -> np.ndarray:
    """Places where it is true, evenly thinned to at most `_POINTS`, the last among them."""
    places = np.flatnonzero(mask)
    if places.size <= _POINTS:
        return places
    return places[np.linspace(0, places.size - 1, _POINTS).round().astype(int)]


def _frame(ax) -> None:
    """Limits that hold every line: a band of two or three seeds may be far wider, and would flatten all else.

    Where all is positive and a line grows to very many times its start, the scale is logarithmic. What hardly changes is
    drawn flat: an axis spans no less than 1% of its values.
    """
    lines = [np.asarray(line.get_ydata(), float) for line in ax.get_lines()]
    lines = [line[np.isfinite(line)] for line in lines]
    lines = [line for line in lines if line.size]
    low, high = min(line.min() for line in lines), max(line.max() for line in lines)
    if low > 0 and any(line.max() > _BLOW_UP * line[0] for line in lines):
        ax.set_yscale("log")
        ax.set_ylim(low / 1.5, high * 1.5)
    elif low < high:
        margin = max(0.05 * (high - low), 0.005 * max(abs(low), abs(high)))
        ax.set_ylim(low - margin, high + margin)


def _title(name: str) -> str:
    return name.replace("_", " ").capitalize()


def _caption(grid, variable, theory, axes, own, lines) -> str:
    sentences = [textwrap.dedent(str(variable.attrs.get("long_name", ""))).strip()]
    seeds = variable.sizes.get("seed", 1)
    if seeds > 1:
        sentences.append(
            "Solid: mean over seeds of the trained networks, in a band of its 95% interval; thin and pale:"
            f" {'all' if seeds <= _SINGLE_RUNS else f'the first {_SINGLE_RUNS}'} runs. Runs that converged or"
            " stalled keep their last value after their end, others are left out."
        )
    else:
        sentences.append("Solid: the trained network, one seed.")
    if theory is not None:
        by_seed = ", mean over seeds" if "seed" in theory.dims else ""
        sentences.append(f"Dashed: theory{by_seed}.")
    if axes and len(grid.axes[axes[0]]) > _PANELS:
        sentences.append(f"Of {len(grid.axes[axes[0]])} values of {axes[0]} {_PANELS} are drawn.")
    long = [dim for dim in own if variable.sizes[dim] > 1]
    number = int(np.prod([variable.sizes[dim] for dim in long]))
    if long and number > lines:
        sentences.append(f"Of {number} curves, along {' and '.join(long)}, {lines} are drawn.")
    elif not long and len(axes) > 1 and len(grid.axes[axes[1]]) > lines:
        sentences.append(f"Of {len(grid.axes[axes[1]])} values of {axes[1]} {lines} are drawn.")
    held = {axis: grid.axes[axis][0] for axis in (axes[1:] if long else axes[2:])}
    if held:
        sentences.append(f"Drawn at {cell_label(held)}.")
    return " ".join(filter(None, sentences))
