"""The figures of a study that draws none of its own: every curve that theory and simulation share, one over the other.

The first axis of the grid gives the panels, the second (or a variable's own dims, such as ``mode``) the colours.
"""

import textwrap
from collections.abc import Collection
from typing import Any

import numpy as np
from matplotlib.artist import setp
from matplotlib.colors import to_hex

from foretrain.figures import Drawing
from foretrain.figures.style import (
    PALETTE,
    Smooth,
    legend_below,
    log_ticks,
    panels,
    seed_band,
    shades,
    style,
    theory_line,
)
from foretrain.quantities import curves
from foretrain.quantities.cell import THEORY
from foretrain.vocabulary import CONVERGED, OUT_OF_STEPS
from foretrain.words import cell_words, title, told_apart

_FIGURES = 6
_PANELS = 6
_COLOURS = 5
_SINGLE_RUNS = 5
_POINTS = 300  # of a curve: more are not told apart, and every one has its interval
_CLOSE = 0.03  # of its range: theory within so much of the mean lies on it in a picture
_FLAT = 0.01  # of its values: what changes by less is drawn flat
_CUT = "cut off by the number of steps"
_BLOW_UP = 1e3  # a mean that grows to so many times its start is drawn on a logarithmic scale
_DECADES = 100  # a loss or an error whose values span such a ratio is, too
_DEEPEST = 1e-12  # of the largest value: what is lower is rounding
_REST = " Both lie on each other: what is left of each run is drawn below."
_BELOW = f" What is below {_DEEPEST:g} of the largest value is rounding and lies below the axis."


@style()
def draw(grid: Any, names: Collection[str] = ()) -> dict[str, Drawing]:
    """Draw the curves of a grid, name of each variable to its drawing, the loss first; at most six, and of `names` alone.

    They are those with a dim ``step`` that theory and simulation share; where they share none, those of the simulation.
    """
    return {name: _figure(grid, name) for name in curves.curve_names(grid, names)[:_FIGURES]}


def _figure(grid, name: str) -> Drawing:
    variable, theory = grid.simulation[name], grid.theory.get(name)
    axes = [axis for axis in grid.axes if axis in variable.dims]
    along = curves.some(grid.axes[axes[0]], _PANELS) if axes else {0: None}
    own = [dim for dim in variable.dims if dim not in (*axes, "seed", "step")]
    titles = dict(zip(along, told_apart(list(along.values())), strict=True))
    lines, fixed = _lines(grid, variable, axes)
    columns = 1 if len(along) == 1 else 2
    rows = -(-len(along) // columns)
    rest = None
    if len(along) == 1 and _close(grid, name, {**dict.fromkeys(axes[:1], 0), **fixed}, lines):
        shape = {"gridspec_kw": {"height_ratios": (3, 1)}, "sharex": True}
        figure, board = panels(2, 1, squeeze=False, height=4.7, **shape)
        rest, board = board[1, 0], board[:1]
    else:
        figure, board = panels(rows, columns, squeeze=False, height=3.2 * rows + 0.5)
    setp(board.ravel()[len(along) :], visible=False)
    long = [dim for dim in own if variable.sizes[dim] > 1]
    ordered = not long and len(lines) > 1 and not isinstance(grid.axes[axes[1]][0], str)
    colours = [to_hex(shade) for shade in shades(len(lines))] if ordered else list(PALETTE.values())
    for ax, place in zip(board.ravel(), along, strict=False):
        at = {**({axes[0]: place} if axes else {}), **fixed}
        x, label = curves.abscissa(grid.simulation, at)
        drawn = [
            _curve(ax, x, grid, name, {**at, **spot}, words, colour)
            for (words, spot), colour in zip(lines.items(), colours, strict=False)
        ]
        if not any(drawn):
            ax.text(0.5, 0.5, "no run", transform=ax.transAxes, ha="center", va="center")
        if axes:
            ax.set_title(f"{title(axes[0])} = {titles[place]}", loc="left", fontsize=12)
        ax.set_xlabel(label)
        if rest is not None:
            for spot, colour in zip(lines.values(), colours, strict=False):
                _residual(rest, x, grid, name, {**at, **spot}, colour)
            rest.axhline(0, **theory_line(linewidth=1))
            rest.set(xlabel=label, ylabel="Off theory")
            ax.set_xlabel("")
    cut = _frame(board.ravel()[: len(along)], falls="loss" in name or "error" in name)
    for ax in figure.axes:
        log_ticks(ax)
        setp(ax.get_lines(), path_effects=[Smooth()])
    setp(board[:, 0], ylabel=curves.axis_label(variable))
    legend_below(figure, columns=2)
    caption = _caption(grid, variable, theory, axes, own, len(lines))
    caption += _REST * (rest is not None) + cut
    return Drawing(figure, title(name), caption, frozenset((name, f"{THEORY}/{name}")))


def _lines(grid, variable, axes) -> tuple[dict[str, dict[str, int]], dict[str, int]]:
    fixed, lines = dict.fromkeys(axes[1:], 0), curves.lines_along(variable, axes, _COLOURS)
    if "" in lines and fixed:
        del fixed[second := axes[1]]
        chosen = curves.some(grid.axes[second], _COLOURS)
        texts = zip(chosen, told_apart(list(chosen.values())), strict=True)
        lines = {f"{second}={text}": {second: n, **lines[""]} for n, text in texts}
    return lines, fixed


def _curve(ax, x, grid, name, place, words, colour) -> bool:
    """Draw a variable at a place of all its dims but seed and step, with words if others are drawn; true if it has any."""
    variable, theory = grid.simulation[name], grid.theory.get(name)
    runs = curves.curves_at(grid, name, place)
    kept = curves.thinned(np.isfinite(runs).any(axis=0) & np.isfinite(x), _POINTS)
    if visible := bool(kept.size):
        runs = runs[:, kept]
        for run in runs[:_SINGLE_RUNS] if len(runs) > 1 else ():
            look = {"color": colour, "linewidth": 0.8, "alpha": 0.45, "zorder": 2.5}
            ax.plot(x[kept], run, label=_new(ax, "single runs"), **look)
        for run in runs[_cut_off(grid, place)[: len(runs)].nonzero()[0][:_SINGLE_RUNS]]:
            last = np.flatnonzero(np.isfinite(run))[-1:]
            look = {"color": colour, "markerfacecolor": "white", "markersize": 5, "zorder": 5}
            ax.plot(x[kept][last], run[last], "o", label=_new(ax, _CUT), **look)
        with np.errstate(over="ignore"):
            seed_band(ax, x[kept], runs, words or "simulation", color=colour)
    if theory is not None and (predicted := curves.prediction(theory, variable, place)) is not None:
        if (kept := curves.thinned(np.isfinite(predicted) & np.isfinite(x), _POINTS)).size:
            visible = True
            ax.plot(x[kept], predicted[kept], **theory_line(colour if words else None))
            ax.plot([], [], **theory_line(label=_new(ax, "theory")))
    return visible


def _close(grid, name, place, lines) -> bool:
    """Return True if theory lies on the simulation in a picture: then only the difference of both can be seen."""
    if (theory := grid.theory.get(name)) is None:
        return False
    shown, off = [], []
    for spot in lines.values():
        predicted = curves.prediction(theory, grid.simulation[name], {**place, **spot})
        if predicted is not None:
            mean = curves.mean_of_known(curves.curves_at(grid, name, {**place, **spot}))
            shown.append(mean)
            off.append(mean - predicted)
    with np.errstate(invalid="ignore", over="ignore"):
        values, left = np.concatenate(shown or [[]]), np.concatenate(off or [[]])
        values, left = values[np.isfinite(values)], left[np.isfinite(left)]
        if not left.size or np.ptp(values) < _FLAT * np.abs(values).max():
            return False
        return bool(np.abs(left).max() <= _CLOSE * np.ptp(values))


def _residual(ax, x, grid, name, place, colour) -> None:
    """Simulation minus theory, each seed less its own where theory differs by seed: the mean, in a band of its interval."""
    theory, variable = grid.theory[name], grid.simulation[name]
    if (predicted := curves.predictions(theory, variable, place)) is None:
        return
    runs = curves.curves_at(grid, name, place)
    runs = runs - (predicted if len(predicted) in (1, len(runs)) else predicted[: len(runs)])
    if (kept := curves.thinned(np.isfinite(runs).any(axis=0) & np.isfinite(x), _POINTS)).size:
        seed_band(ax, x[kept], runs[:, kept], color=colour)


def _cut_off(grid, place) -> np.ndarray:
    """Which runs of a cell took all their steps though others of the grid converged, bool (seed,)."""
    outcome = grid.simulation.get("outcome")
    if outcome is None or not (outcome == CONVERGED).any():
        return np.zeros(0, bool)
    return np.ravel(outcome.isel(place, missing_dims="ignore").values) == OUT_OF_STEPS


def _new(ax, label) -> str | None:
    return None if label in ax.get_legend_handles_labels()[1] else label


def _frame(axes, falls: bool) -> str:
    """Set one scale for all panels, which holds every line; return words on what lies below it, "" for nothing.

    A band of two or three seeds may be far wider than the lines, and would flatten all else if it set the limits.
    Where all is positive and a line grows to very many times its start, or what should fall (a loss, an error) crosses two
    decades, the scale is logarithmic. What hardly changes is drawn flat: an axis spans no less than 1% of its values.
    """
    lines = [np.asarray(line.get_ydata(), float) for ax in axes for line in ax.get_lines()]
    lines = [line[np.isfinite(line)] for line in lines]
    if not (lines := [line for line in lines if line.size]):
        return ""
    low, high = min(line.min() for line in lines), max(line.max() for line in lines)
    blown_up = any(line.max() > _BLOW_UP * line[0] for line in lines)
    if low > 0 and (blown_up or (falls and high >= _DECADES * low)):
        setp(axes, yscale="log", ylim=(max(low, _DEEPEST * high) / 1.5, high * 1.5))
        return _BELOW if low < _DEEPEST * high / 1.5 else ""
    elif low < high:
        margin = max(0.05 * (high - low), 0.005 * max(abs(low), abs(high)))
        setp(axes, ylim=(low - margin, high + margin))
    return ""


def _caption(grid, variable, theory, axes, own, lines) -> str:
    sentences = [textwrap.dedent(str(variable.attrs.get("description", ""))).strip()]
    seeds = variable.sizes.get("seed", 1)
    thin = "all" if seeds <= _SINGLE_RUNS else f"the first {_SINGLE_RUNS}"
    many = (
        f"Solid: mean over seeds of the trained networks, in a band of its 95% interval; thin and pale: {thin} runs. Runs "
        "that converged or stalled keep their last value after their end, others are left out."
    )
    sentences.append(many if seeds > 1 else "Solid: the trained network, one seed.")
    if theory is not None:
        sentences.append("Dashed: theory" + ", mean over seeds" * ("seed" in theory.dims) + ".")
    if axes and len(grid.axes[axes[0]]) > _PANELS:
        sentences.append(f"Of {len(grid.axes[axes[0]])} values of {axes[0]} {_PANELS} are drawn.")
    long = [dim for dim in own if variable.sizes[dim] > 1]
    number = int(np.prod([variable.sizes[dim] for dim in long]))
    if long and number > lines:
        sentences.append(f"Of {number} curves, along {' and '.join(long)}, {lines} are drawn.")
    elif not long and len(axes) > 1 and len(grid.axes[axes[1]]) > lines:
        sentences.append(f"Of {len(grid.axes[axes[1]])} values of {axes[1]} {lines} are drawn.")
    fixed = {axis: grid.axes[axis][0] for axis in (axes[1:] if long else axes[2:])}
    if fixed:
        sentences.append(f"Drawn at {cell_words(fixed)}.")
    return " ".join(filter(None, sentences))
