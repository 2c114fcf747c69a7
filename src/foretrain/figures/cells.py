"""The figure of every sweep: what was measured for each claim, cell by cell, over the axes of the grid."""

import textwrap
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.colors import LogNorm
from matplotlib.lines import Line2D
from matplotlib.patheffects import withStroke
from matplotlib.ticker import NullLocator

from foretrain.claims.cells import gather, over_axes
from foretrain.claims.claim import FAILS, HOLDS, INCONCLUSIVE, NOT_CLAIMED, Claim
from foretrain.figures import Drawing
from foretrain.figures.style import INK, PALETTE, legend_below, log_ticks, panels, style
from foretrain.words import title

_FEWEST = 4  # values of an axis from which a claim is drawn over it
_PANELS = 6
_TICKS = {"x": 5, "y": 8}  # at most, where their labels do not meet
_WIDE = 30.0  # from this ratio of its ends on a measured value is drawn on a logarithmic scale
_LINES = 3  # at most, of the sentence above a panel
_HALO = withStroke(linewidth=3.2, foreground="white")  # a cross is seen on every colour
_CROSS = {"color": PALETTE["vermillion"], "markeredgewidth": 1.8, "path_effects": [_HALO]}
_DOT = {"color": "#ffffff", "markeredgecolor": INK, "markeredgewidth": 0.6}
_RULE = {"color": INK, "markeredgewidth": 1.4, "path_effects": [_HALO]}
_MARKS = {
    FAILS: {"marker": "x", **_CROSS},
    INCONCLUSIVE: {"marker": ".", **_DOT},
    NOT_CLAIMED: {"marker": "_", **_RULE},
}


@dataclass(frozen=True)
class _Panel:
    """A claim along the one or two axes on which it is drawn."""

    id: str  # its id without a cell
    along: dict[str, list]  # the drawn axes, the one with most values first
    claims: dict[tuple[int, ...], Claim]  # index per drawn axis to claim
    fixed: tuple[str, ...]  # axes that the claim's cells name and that are not drawn


@style()
def draw_cells(claims: Iterable[Claim], axes: Mapping[str, Sequence]) -> dict[str, Drawing]:
    """Claims that were judged along an axis of numbers: a curve over one such axis, a map over two.

    Returns:
        ``cells`` to the drawing, with a panel for each of at most six such claims; empty if there are none.
    """
    shown = [panel for group in gather(claims) if (panel := _panel(group, axes)) is not None]
    if not shown:
        return {}
    # Those that do not hold everywhere say more than those that do.
    fine = [{c.verdict for c in panel.claims.values()} <= {HOLDS, NOT_CLAIMED} for panel in shown]
    drawn = [shown[n] for n in sorted(sorted(range(len(shown)), key=fine.__getitem__)[:_PANELS])]
    columns = min(2, len(drawn))
    rows = -(-len(drawn) // columns)
    figure, grid = panels(rows, columns, squeeze=False, height=3.7 * rows + 0.4)
    for ax in grid.ravel()[len(drawn) :]:
        ax.set_visible(False)
    for ax, panel in zip(grid.ravel(), drawn, strict=False):
        (_map if len(panel.along) == 2 else _curve)(ax, panel)
        log_ticks(ax)
        wide = 33 if columns == 2 else 66
        statement = next(iter(panel.claims.values())).statement
        words = textwrap.wrap(statement, wide, max_lines=_LINES, placeholder=" ...")
        text = "\n".join([*textwrap.wrap(panel.id, wide), *words]).replace("$", r"\$")
        ax.set_title(text, loc="left", fontsize=10.5, pad=9)
    legend_below(figure)
    return {"cells": Drawing(figure, "Claims over the grid", _caption(drawn, len(shown)))}


def _panel(group, axes):
    """The claims of a group along its longest axes of numbers; None if it has no such axis."""
    along, places = over_axes(group, axes)
    numeric = [name for name in along if all(type(value) in (int, float) for value in along[name])]
    names = [name for name in numeric if len(along[name]) >= _FEWEST]
    names = sorted(names, key=lambda name: -len(along[name]))[:2]
    order = list(along)
    drawn = [order.index(name) for name in names]
    fixed = [position for position in range(len(order)) if position not in drawn]
    if not names or not places:
        return None
    # The first place on the other axes at which the claim was judged most often.
    at = lambda index, positions: tuple(index[position] for position in positions)  # noqa: E731
    place = Counter(at(index, fixed) for index in sorted(places)).most_common(1)[0][0]
    shown = {at(i, drawn): claim for i, claim in places.items() if at(i, fixed) == place}
    if sum(np.isfinite(claim.measured) for claim in shown.values()) == 1 or len(shown) < 2:
        return None  # a panel with one dot says nothing
    return _Panel(group.id, {n: list(along[n]) for n in names}, shown, at(order, fixed))


def _curve(ax, panel):
    ((name, values),) = panel.along.items()
    order = sorted(panel.claims, key=lambda index: values[index[0]])
    claims = [panel.claims[index] for index in order]
    x = np.array([values[index[0]] for index in order], float)
    measured = np.array([claim.measured for claim in claims])
    intervals = np.array([claim.uncertainty or (np.nan, np.nan) for claim in claims])
    predicted = np.array([claim.predicted for claim in claims])
    colour = PALETTE["blue"]
    if np.isfinite(intervals).any():
        ax.fill_between(x, *intervals.T, color=colour, alpha=0.25, lw=0, label="95% interval")
    ax.plot(x, measured, color=colour, marker="o", markersize=4, linewidth=1.8, label="measured")
    for ends in np.array([claim.allowed for claim in claims]).T:
        if np.isfinite(ends).any():
            ax.plot(x, ends, color=INK, linestyle=":", linewidth=1.2, label="allowed")
    wide = _is_wide(measured[np.isfinite(measured)])
    if (predicted > (0 if wide else -np.inf)).any():
        ax.plot(x, predicted, color=INK, linestyle=(0, (4, 2.2)), linewidth=1.5, label="predicted")
    if wide:
        ax.set_yscale("log")
    _scale(ax.xaxis, ax.set_xscale, x)
    _mark(ax, x, measured, claims)
    ax.set(xlabel=title(name), ylabel=_measured(claims[0]))


def _map(ax, panel):
    (across, x), (up, y) = panel.along.items()
    values = np.full((len(y), len(x)), np.nan)
    for (column, row), claim in panel.claims.items():
        values[row, column] = claim.measured
    values = np.ma.masked_invalid(values[np.ix_(np.argsort(y), np.argsort(x))])
    norm = LogNorm() if _is_wide(values.compressed()) else None
    mesh = ax.pcolormesh(_edges(x), _edges(y), values, norm=norm)
    ax.set_facecolor("#d8dde2")  # where nothing was measured
    _scale(ax.xaxis, ax.set_xscale, x)
    _scale(ax.yaxis, ax.set_yscale, y)
    bar = ax.figure.colorbar(mesh, ax=ax, label=_measured(next(iter(panel.claims.values()))))
    log_ticks(bar.ax)
    at = np.array([(x[column], y[row]) for column, row in panel.claims], float)
    _edge(ax, panel, _edges(x), _edges(y), np.argsort(x), np.argsort(y))
    size = float(np.clip(60.0 / max(len(x), len(y)), 2.0, 7.0))
    _mark(ax, at[:, 0], at[:, 1], list(panel.claims.values()), size)
    ax.set(xlabel=title(across), ylabel=title(up))


def _edge(ax, panel, x, y, columns, rows) -> None:
    """The line between cells whose measured value is allowed and those whose is not."""
    inside = np.full((len(rows), len(columns)), np.nan)
    for (column, row), claim in panel.claims.items():
        low, high = claim.allowed
        if np.isfinite(claim.measured):
            inside[row, column] = low <= claim.measured <= high
    inside = inside[np.ix_(rows, columns)]
    with np.errstate(invalid="ignore"):
        left, above = (np.abs(np.diff(inside, axis=axis)) == 1 for axis in (1, 0))
    pieces = [([x[j + 1]] * 2, y[i : i + 2]) for i, j in np.argwhere(left)]
    pieces += [(x[j : j + 2], [y[i + 1]] * 2) for i, j in np.argwhere(above)]
    if pieces:
        points = np.array([[*zip(*ends, strict=True), (np.nan, np.nan)] for ends in pieces])
        halo = withStroke(linewidth=4.5, foreground=INK)
        line = {"color": "white", "linewidth": 2, "path_effects": [halo]}
        ax.plot(*points.reshape(-1, 2).T, label="edge of what is allowed", zorder=4, **line)


def _mark(ax, x, y, claims, size=7.0):
    """Mark the cells in which a claim does not hold; where nothing was measured, at the lower edge."""
    for verdict, look in _MARKS.items():
        if not (here := np.array([claim.verdict == verdict for claim in claims])).any():
            continue
        options = {"linestyle": "", "markersize": size, **look}
        seen = np.isfinite(y)
        ax.plot(x[here & seen], y[here & seen], zorder=5, **options)
        if (lost := here & ~seen).any():
            low = {"transform": ax.get_xaxis_transform(), "clip_on": False, "in_layout": False}
            ax.plot(x[lost], np.full(lost.sum(), 0.04), zorder=5, **options, **low)
        # The legend's mark keeps its size, however many cells there are.
        ax.add_line(Line2D([], [], label=verdict, **{**options, "markersize": 8}))


def _scale(axis, set_scale, values):
    """Scale of an axis, and ticks at evenly spread values of it."""
    values = np.sort(np.asarray(values, float))
    if _is_geometric(values):
        set_scale("log")
    some = values[:: max(1, -(-(len(values) - 1) // (_TICKS[axis.axis_name] - 1)))]
    if axis.axis_name == "x":
        some = _distinct(some, np.log if _is_geometric(values) else np.asarray, axis)
    axis.set_ticks(some, [f"{value:.3g}" for value in some])
    axis.set_minor_locator(NullLocator())


def _distinct(values, scale, axis) -> list[float]:
    low, high = scale(axis.get_view_interval())
    places = (scale(values) - low) / (high - low)
    wide = np.array([0.027 * len(f"{value:.3g}") for value in values])
    for every in range(1, len(values)):
        if (np.diff(places[::every]) - wide[::every][1:] - wide[::every][:-1] > 0).all():
            return list(values[::every])
    return [values[0]]


def _edges(values) -> np.ndarray:
    """Edges of the cells of an axis: halfway between its values, on the scale on which it is drawn."""
    values = np.sort(np.asarray(values, float))
    log = _is_geometric(values)
    at = np.log(values) if log else values
    between = (at[1:] + at[:-1]) / 2
    edges = np.concatenate([[2 * at[0] - between[0]], between, [2 * at[-1] - between[-1]]])
    return np.exp(edges) if log else edges


def _is_geometric(values) -> bool:
    if len(values) < 3 or values[0] <= 0:
        return False
    steps, ratios = np.diff(values), np.diff(np.log(values))
    return bool(ratios.std() / ratios.mean() < steps.std() / steps.mean())


def _is_wide(values) -> bool:
    return values.size > 0 and bool(values.min() > 0 and values.max() >= _WIDE * values.min())


def _measured(claim: Claim) -> str:
    return "Measured" if claim.unit in ("1", "") else f"Measured\n({claim.unit})"


def _caption(drawn, number) -> str:
    text = "What was measured for each claim that is judged along an axis of the grid."
    kinds = {len(panel.along) for panel in drawn}
    if 1 in kinds:
        text += " Dotted lines bound what is allowed; the bands are 95% intervals over seeds."
        text += " Marks at the lower edge stand where nothing was measured."
    if 2 in kinds:
        text += " Colour is the measured value; grey cells have none. Lines part what is allowed from what is not."
    text += " Crosses mark cells where the claim fails, dots where it is inconclusive, dashes where it is not claimed."
    if fixed := dict.fromkeys(name for panel in drawn for name in panel.fixed):
        text += f" Axes that a panel does not show ({', '.join(fixed)}) are at the first value it was judged at."
    if number > len(drawn):
        text += f" Of {number} such claims {len(drawn)} are drawn, those first that do not hold everywhere."
    return text
