"""The figure of every sweep: what was measured for each claim, cell by cell, over the axes of the grid."""

import numpy as np
from matplotlib.colors import LogNorm
from matplotlib.lines import Line2D

from foretrain.claims import FAILS, HOLDS, INCONCLUSIVE, Claim
from foretrain.figures import Drawing
from foretrain.figures.style import INK, PALETTE, legend_below, panels
from foretrain.results.claim_cells import by_claim, over_axes

_FEWEST = 4  # values of an axis from which a claim is drawn over it
_PANELS = 6
_WIDE = 30.0  # from this ratio of its ends on a measured value is drawn on a logarithmic scale
_MARKS = {FAILS: ("x", PALETTE["vermillion"]), INCONCLUSIVE: (".", "#ffffff")}


def draw(claims: list[Claim], axes: dict[str, list]) -> dict[str, Drawing]:
    """Claims that were judged along an axis of numbers: a curve over one such axis, a map over two.

    Args:
        claims: All claims of a result.
        axes: Parameter to its values.

    Returns:
        ``cells`` to the drawing, with a panel for each of at most six such claims; empty if there are none.
    """
    shown = []
    for group in by_claim(claims):
        along, places = over_axes(group, axes)
        names = sorted(filter(lambda n: _is_drawn(along[n]), along), key=lambda n: -len(along[n]))
        if names:
            shown.append(
                (group, _slice(along, places, names[:2]), {n: along[n] for n in names[:2]})
            )
    if not shown:
        return {}
    # Those that do not hold everywhere say more than those that do.
    chosen = sorted(range(len(shown)), key=lambda n: shown[n][0].verdict == HOLDS)[:_PANELS]
    drawn = [shown[n] for n in sorted(chosen)]
    columns = min(2, len(drawn))
    rows = -(-len(drawn) // columns)
    figure, grid = panels(rows, columns, squeeze=False, height=3.2 * rows + 0.4)
    for ax in grid.ravel()[len(drawn) :]:
        ax.set_visible(False)
    for ax, (group, held, along) in zip(grid.ravel(), drawn, strict=False):
        (_map if len(along) == 2 else _curve)(ax, held, along)
        ax.set_title(group.id, loc="left")
    if any(ax.get_legend_handles_labels()[1] for ax in figure.axes):
        legend_below(figure)
    return {"cells": Drawing(figure, "Claims over the grid", _caption(drawn, len(shown), axes))}


def _is_drawn(values) -> bool:
    numbers = [isinstance(value, int | float) and not isinstance(value, bool) for value in values]
    return all(numbers) and len(values) >= _FEWEST


def _slice(along, places, names):
    """Index per drawn axis to claim, every other axis at its first value; drawn axes in the order of `names`."""
    order = list(along)
    found = {}
    for index, claim in places.items():
        at = dict(zip(order, index, strict=True))
        if all(at[name] == 0 for name in order if name not in names):
            found[tuple(at[name] for name in names)] = claim
    return found


def _curve(ax, held, along):
    ((name, values),) = along.items()
    claims = [held[index] for index in sorted(held, key=lambda i: values[i[0]])]
    x = np.array(sorted(values[index[0]] for index in held), float)
    measured = np.array([claim.measured for claim in claims])
    intervals = np.array([claim.uncertainty or (np.nan, np.nan) for claim in claims])
    allowed = np.array([claim.tolerance for claim in claims])
    predicted = np.array([claim.predicted for claim in claims])
    colour = PALETTE["blue"]
    if np.isfinite(intervals).any():
        label = "band: 95% bootstrap interval over seeds"
        ax.fill_between(x, *intervals.T, color=colour, alpha=0.25, linewidth=0, label=label)
    ax.plot(x, measured, color=colour, marker="o", markersize=4, linewidth=1.8, label="measured")
    for ends, label in ((allowed[:, 0], "allowed"), (allowed[:, 1], "allowed")):
        if np.isfinite(ends).all():
            ax.plot(x, ends, color=INK, linestyle=":", linewidth=1.2, label=label)
    wide = _is_wide(measured[np.isfinite(measured)])
    if (predicted > (0 if wide else -np.inf)).any():
        ax.plot(x, predicted, color=INK, linestyle=(0, (4, 2.2)), linewidth=1.5, label="predicted")
    _mark(ax, x, measured, claims)
    if _is_geometric(x):
        ax.set_xscale("log")
    if wide:
        ax.set_yscale("log")
    ax.set(xlabel=name, ylabel=_measured(claims[0]))


def _map(ax, held, along):
    (across, x), (up, y) = along.items()
    values = np.full((len(y), len(x)), np.nan)
    for (column, row), claim in held.items():
        values[row, column] = claim.measured
    right, above = np.argsort(x), np.argsort(y)
    values = np.ma.masked_invalid(values[np.ix_(above, right)])
    wide = _is_wide(values.compressed())
    mesh = ax.pcolormesh(
        np.sort(x), np.sort(y), values, shading="nearest", norm=LogNorm() if wide else None
    )
    ax.set_facecolor("#d8dde2")  # where nothing was measured
    some = next(iter(held.values()))
    ax.figure.colorbar(mesh, ax=ax, label=_measured(some))
    at = np.array([(x[column], y[row]) for column, row in held], float)
    _mark(ax, *at.T, list(held.values()), size=max(2.0, 60.0 / max(len(x), len(y))))
    if _is_geometric(x):
        ax.set_xscale("log")
    if _is_geometric(y):
        ax.set_yscale("log")
    ax.set(xlabel=across, ylabel=up)


def _mark(ax, x, y, claims, size=7.0):
    """Mark the cells in which a claim does not hold."""
    for verdict, (marker, colour) in _MARKS.items():
        here = np.array([claim.verdict == verdict for claim in claims])
        if here.any():
            edge = {"markeredgecolor": INK, "markeredgewidth": 0.4} if marker == "." else {}
            options = {"linestyle": "", "color": colour, "marker": marker, "markersize": size}
            ax.plot(np.asarray(x)[here], np.asarray(y)[here], zorder=5, **options, **edge)
            # The legend's mark keeps its size, however many cells there are.
            ax.add_line(Line2D([], [], label=verdict, **{**options, "markersize": 7}, **edge))


def _is_geometric(values) -> bool:
    """Whether the values of an axis lie more evenly on a logarithmic scale than on a linear one."""
    values = np.sort(np.asarray(values, float))
    if values[0] <= 0:
        return False
    steps, ratios = np.diff(values), np.diff(np.log(values))
    return bool(ratios.std() / ratios.mean() < steps.std() / steps.mean())


def _is_wide(values) -> bool:
    values = np.asarray(values, float)
    return values.size > 0 and values.min() > 0 and values.max() >= _WIDE * values.min()


def _measured(claim: Claim) -> str:
    return "Measured" if claim.unit in ("1", "") else f"Measured ({claim.unit})"


def _caption(drawn, number, axes) -> str:
    text = "What was measured for each claim that is judged along an axis of the grid."
    kinds = {len(along) for _, _, along in drawn}
    if 1 in kinds:
        text += (
            " Dotted lines bound what is allowed; the bands are 95% bootstrap intervals over seeds."
        )
    if 2 in kinds:
        text += " Colour is the measured value; grey cells have none."
    text += " Crosses mark cells in which the claim fails, dots those in which it is inconclusive."
    fixed = [name for name in axes if not all(name in along for _, _, along in drawn)]
    if fixed:
        text += f" Axes that a panel does not show ({', '.join(fixed)}) are at their first value."
    if number > len(drawn):
        text += f" Of {number} such claims {len(drawn)} are drawn, those first that do not hold everywhere."
    return text
