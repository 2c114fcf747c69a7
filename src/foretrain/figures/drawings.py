"""Pictures of the figures that a study declares, see `foretrain.quantities.panels`."""

import textwrap
from collections.abc import Callable, Collection, Mapping
from dataclasses import fields, replace
from pathlib import Path
from string import ascii_lowercase
from typing import Any, cast

import numpy as np
from matplotlib.artist import setp
from matplotlib.ticker import MaxNLocator

from foretrain.figures import Drawing, curves, finished
from foretrain.figures.boards import Board, Line, boards
from foretrain.figures.measurements import measurements
from foretrain.figures.style import Smooth, panels, seed_band, simulation_line, style, theory_line
from foretrain.plans.card import StudyError
from foretrain.plans.grid import Grid
from foretrain.plans.study import Study
from foretrain.quantities.cell import Cell
from foretrain.quantities.curves import thinned
from foretrain.quantities.panels import FigureRow, Panel
from foretrain.quantities.watched import newly_read, watched

Lost = Callable[[str, BaseException], None]

_POINTS = 300  # of a curve: more are not told apart
_COLUMN = 0.5  # width of a column of lines, where columns are 1 apart
_STATISTICS = {"mean": np.mean, "median": np.median, "fraction": np.mean}


def drawings(study: Study, grid: Grid, lost: Lost | None = None) -> dict[str, Drawing]:
    """Draw the figures of a study by name, in its order; where it declares none, its curves and what it measures.

    `lost` takes the name of a figure and what it raised, and the others are drawn; without it that is raised.
    Raises `StudyError` where a figure is declared in a way that cannot be drawn.
    """
    if study.figures is None:
        drawn, row = curves.draw(grid), measurements(grid) if study.computes else None
        with style():
            drawing = row and _declared(row, grid)
        return drawn | ({"measurements": drawing} if drawing else {})
    drawn: dict[str, Drawing] = {}
    with watched(_Once(**{part.name: getattr(grid, part.name) for part in fields(grid)})) as seen:
        for name, row in study.figures.items():
            try:
                with style():
                    more = _drawn(study, seen, name, row)
                for key, drawing in more.items():
                    _check(key, drawing)
                drawn |= more
            except (Exception, SystemExit) as error:
                if lost is None:
                    raise
                lost(name, error)
    return drawn


class _Once(Grid):
    """A grid whose part along some axes, from which most figures draw, is made once for all of them."""

    def first(self, keep: Collection[str] = ()) -> tuple[Grid, str]:
        known = vars(self).setdefault("known", {})
        if (axes := tuple(keep)) not in known:
            known[axes] = super().first(keep)
        return known[axes]


def _check(name: Any, drawing: Any) -> None:
    if not isinstance(name, str) or not name or Path(name).name != name:
        raise StudyError(f"`FIGURES` must name files without a folder, but names {name!r}.")
    if not isinstance(drawing, Drawing):
        got = type(drawing).__name__
        raise StudyError(f"The figure `{name}` must be a Drawing, but is {got}.")


def _drawn(study: Study, grid: Grid, name: str, row: FigureRow) -> dict[str, Any]:
    """The drawings of one figure of a study, of which a function may make several; none where it does not apply."""
    if row.where is not None and not row.where(Cell(next(grid.cells())).blind()):
        return {}
    if row.function is None:
        drawing = _declared(row, grid)
        return {} if drawing is None else {name: drawing}
    drawn: dict[str, Any] = {}
    newly_read()
    several = row.function(grid)
    for key, entry in (several if isinstance(several, Mapping) else {name: several}).items():
        if (drawing := entry() if callable(entry) else entry) is not None:
            if isinstance(drawing, Drawing):
                reads = drawing.reads or newly_read()
                drawing = replace(drawing, reads=frozenset((*reads, *row.reads)))
            drawn[key] = drawing
    return drawn


def _declared(row: FigureRow, grid: Grid) -> Drawing | None:
    if not (evaluated := [board for panel in row.panels for board in boards(panel, grid)]):
        return None
    columns = min(row.columns or 3, len(evaluated))
    rows, log = -(-len(evaluated) // columns), ("semilogy", "loglog")
    height = row.height or 3.6 * rows + 0.6
    # What is one quantity in all panels has one ordinate.
    share = row.sharey or len({(b.ylabel, b.panel.scale in log) for b in evaluated}) == 1
    figure, axes = panels(rows, columns, height=height, squeeze=False, sharey=share)
    setp(axes.ravel()[len(evaluated) :], visible=False)
    lines = [line for board in evaluated for line in board.lines]
    if any(line.theory for line in lines) and not any(line.label for line in lines):
        lines[0].label = "measured"
    for place, (ax, board) in enumerate(zip(axes.ravel(), evaluated, strict=False)):
        _draw_board(ax, board, label=not share or place % columns == 0)
    _label_abscissas(axes, evaluated)
    cell = Cell(next(grid.cells()))
    title, caption = (
        str(words(cell) if callable(words) else words) for words in (row.title, row.caption)
    )
    places: dict[str, str] = {}
    for letter, board in zip(ascii_lowercase, evaluated, strict=False):
        if board.words:
            places[board.words] = ", ".join(filter(None, (places.get(board.words), letter)))
    where = "".join(places)
    if len(places) > 1:  # said once, with the panels of each place
        parts = [f"{letters}{at.removeprefix(' Drawn')[:-1]}" for at, letters in places.items()]
        where = f" Drawn: {'; '.join(parts)}."
    drawing = finished(figure, title, caption + where, row.legend)
    return replace(drawing, reads=frozenset().union(*(board.reads for board in evaluated)))


def _draw_board(ax, board: Board, label: bool) -> None:
    panel, columns = board.panel, board.columns
    for place, line in enumerate(board.lines):
        # In a column lines stand beside each other.
        shift = _COLUMN * ((place + 0.5) / len(board.lines) - 0.5)
        _draw_line(ax, panel, line, shift if columns else None)
    if any(line.theory is not None for line in board.lines):
        ax.plot([], [], **theory_line(label=panel.theory_label))
    for text, level in (panel.levels or {}).items():
        value = level(board.cell.blind()) if callable(level) else level
        ax.axhline(value, **theory_line(linestyle=":", linewidth=1.2, label=text or None))
    places = {place for line in board.lines for place in line.x}
    if panel.scale in ("semilogx", "loglog") and len(places) > 1:
        ax.set_xscale("log")
    if panel.scale in ("semilogy", "loglog"):
        ax.set_yscale("log")
    for name in ("xlim", "ylim"):
        ends = getattr(panel, name)
        ends = cast(Any, ends(board.cell) if callable(ends) else ends) or (None, None)
        known = np.isfinite([end for end in ends if end is not None]).all()
        if name == "ylim":
            _frame(ax, ends[1] if known else None)
        if known and ends != (None, None):
            getattr(ax, f"set_{name}")(*ends)
    if panel.x in ("time", "step"):
        setp(ax.get_lines(), path_effects=[Smooth()])
    if panel.x in ("time", "step") and panel.xlim is None and ax.get_xscale() == "linear":
        ends = min(line.x.min() for line in board.lines), max(_end(panel, of) for of in board.lines)
        if ends[0] < ends[1]:
            ax.set_xlim(*ends)
    if columns:
        ax.set_xticks(range(len(columns)), columns)
        ax.set_xlim(-0.5, len(columns) - 0.5)
    elif len(places) == 1:
        ax.set_xticks([*places], [f"{place:g}" for place in places])
    elif ax.get_xscale() == "linear" and all(x % 1 == 0 for x in places if np.isfinite(x)):
        ax.xaxis.set_major_locator(MaxNLocator("auto", steps=[1, 2, 2.5, 5, 10], integer=True))
    ax.set_xlabel(board.xlabel)
    ax.set_ylabel(board.ylabel if label else "")
    if board.title:
        ax.set_title(textwrap.fill(board.title, 56 // ax.get_gridspec().ncols - 1), loc="left")


def _end(panel: Panel, line: Line) -> float:
    """The last place at which a run is known; of a mean the last of half of its runs, since one of few says little."""
    counts = np.isfinite(line.samples).sum(0)
    share = 0 if panel.statistic == "runs" else 0.499
    return line.x[counts > share * counts.max(initial=0)].max(initial=line.x.min())


def _frame(ax, top: float | None) -> None:
    """Set an ordinate that holds every line up to `top`: a band over two or three seeds may be far wider, and flatten all."""
    log = ax.get_yscale() == "log"
    together = ax.get_shared_y_axes().get_siblings(ax)
    lines = [np.ravel(line.get_ydata()) for other in together for line in other.get_lines()]
    values = np.concatenate([[], *lines])
    known = values[np.isfinite(values) & ((values > 0) | (not log))]
    known = np.minimum(known, np.inf if top is None else top)
    if known.size and known.min() < known.max():
        ends = np.log(known) if log else known
        # A logarithmic axis spans a factor of two at least, to have a round number to be labelled with.
        margin = max(0.06 * np.ptp(ends), (np.log(2) - np.ptp(ends)) / 2 if log else 0)
        low, high = ends.min() - margin, ends.max() + margin
        ax.set_ylim(*(np.exp((low, high)) if log else (low, high)))


def _label_abscissas(axes: np.ndarray, boards: list[Board]) -> None:
    """Label the abscissa in the middle of three narrow panels alone, lest equal labels run into each other."""
    if axes.shape[1] < 3 or len({board.xlabel for board in boards}) > 1:
        return
    for row in axes:
        shown = [ax for ax in row if ax.get_visible()]
        for ax in np.delete(shown, len(shown) // 2):
            ax.set_xlabel("")


def _draw_line(ax, panel: Panel, line: Line, shift: float | None) -> None:
    """Draw a line; as columns, shifted to the right by so much, where `shift` is not None."""
    known = np.isfinite(line.samples).any(0) & np.isfinite(line.x)
    if "log" in panel.scale and panel.scale != "semilogx":
        known &= (line.samples > 0).any(0)
    log = panel.scale in ("semilogx", "loglog")
    if log:
        known &= line.x > 0
    kept, right = thinned(known, _POINTS, line.x if log else None), shift or 0
    if panel.points:
        look = {"color": line.colour, "markersize": 3.5, "alpha": 0.45, "zorder": 2.5}
        runs = ax.plot(line.x[kept] + right, line.samples[:, kept].T, "o", **look)
        runs[0].set_label("single runs")
    if kept.size and panel.statistic == "runs":
        look = simulation_line(line.colour, linewidth=1.2, alpha=0.5)
        for number, run in enumerate(line.samples[:, kept]):
            ax.plot(line.x[kept], run, **look, label=line.label if number == 0 else None)
    elif kept.size:
        look = {"color": line.colour, "statistic": _STATISTICS[panel.statistic]}
        look["fraction"] = panel.statistic == "fraction" or None
        for part in [kept] if shift is None else kept[:, None]:
            seed_band(ax, line.x[part] + right, line.samples[:, part], line.label, **look)
    if line.theory is not None:
        x, values = line.theory
        there = np.isfinite(values) & np.isfinite(x) & ((x > 0) | (not log))
        there = thinned(there, _POINTS, x if log else None)
        x, values = x[there] + right, values[there]
        if shift is not None:
            x, values = x + _COLUMN * np.array([[-0.5], [0.5]]), np.stack([values, values])
        ax.plot(x, values, **theory_line(line.colour, marker="_" if x.size == 1 else None))
