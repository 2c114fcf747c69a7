"""The figures: labelled results in, pictures out.

A study declares its own, see `foretrain.quantities.panels`; one that declares none gets those of `foretrain.figures.curves`.
A figure draws what is in the grid: it never trains, computes theory or reads files. Nothing here needs pyplot or a screen.
"""

import csv
import io
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from foretrain.figures.headless import Line2D, PathCollection, QuadMesh, as_svg
from foretrain.figures.short_svg import short_svg
from foretrain.figures.style import legend_below, log_ticks, panel_letters, style
from foretrain.results.files import write_atomic

# Of a figure that is drawn of lines alone; each takes a hundred characters of the SVG.
_MOST_MARKS = 2000
_LARGE = 250_000  # characters of an SVG
_FEW = 50  # marks of one series that stay lines even then


@dataclass(frozen=True)
class Drawing:
    """One figure with its words."""

    figure: Any  # A `matplotlib.figure.Figure`, not registered with pyplot, or a part of one
    title: str  # A few words
    # What is drawn and what is seen in it, in sentences; what bands and error bars are.
    caption: str
    reads: frozenset[str] = frozenset()  # variables that are drawn, such as "loss" or "flow/loss"


def finished(figure: Any, title: str, caption: str, columns: int = 2) -> Drawing:
    """The drawing of a figure: its panels get letters if they are several, its labels a legend of so many columns below.

    Logarithmic axes that have no ticks of their own get those of `foretrain.figures.style.log_ticks`.
    """
    board = [ax for ax in figure.axes if ax.get_label() != "<colorbar>"]
    if len(board) > 1:
        panel_letters(board)
    for ax in board:
        log_ticks(ax)
    legend_below(figure, columns)
    return Drawing(figure, title, caption)


def points(drawing: Drawing) -> str:
    """Return lines and points of a figure as CSV with columns panel, series, x, y; "" where a figure has neither."""
    rows = []
    for number, ax in enumerate(drawing.figure.axes):
        panel = ax.get_title(loc="left") or ax.get_title() or ax.get_ylabel() or str(number + 1)
        series = [(line.get_label(), line.get_xydata()) for line in ax.get_lines()]
        series += [
            (dots.get_label(), np.ma.getdata(dots.get_offsets()))
            for dots in ax.collections
            if isinstance(dots, PathCollection)
        ]
        for label, places in series:
            places = np.asarray(places, float)
            places = places[~np.isnan(places).all(1)]
            name = "" if str(label).startswith("_") else label
            rows += [(panel, name, f"{x:.6g}", f"{y:.6g}") for x, y in places]
    if not rows:
        return ""
    table = io.StringIO()
    csv.writer(table, lineterminator="\n").writerows([("panel", "series", "x", "y"), *rows])
    return table.getvalue()


def save(drawings: Mapping[str, Drawing], folder: str | Path) -> dict[str, Path]:
    """Write every drawing as ``<name>.svg`` and its points as ``.csv``.

    What has thousands of marks, a cloud of runs or a surface, stands in the SVG as a picture of 300 dots an inch, of 100
    where the file would be large. Equal drawings give equal SVG files: they hold neither a date nor random ids.

    Returns:
        Name to the path of the SVG.
    """
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    paths = {}
    for name, drawing in drawings.items():
        _lighten(drawing.figure)
        with style():
            text = as_svg(drawing.figure)  # drawn whole before the file is touched
            if len(text) > _LARGE and "<image" in text:
                text = as_svg(drawing.figure, 100)
        paths[name] = folder / f"{name}.svg"
        write_atomic(paths[name], short_svg(text).encode())
        if table := points(drawing):
            write_atomic(folder / f"{name}.csv", table.encode())
    return paths


def _lighten(figure: Any) -> None:
    """Let what has very many marks be a picture in the SVG, among texts and lines that stay as they are."""
    drawn = (artist for ax in figure.axes for artist in (*ax.lines, *ax.collections))
    marks = {artist: _marks(artist) for artist in drawn}
    if sum(marks.values()) > _MOST_MARKS:
        for artist, number in marks.items():
            if number > _FEW:
                artist.set_rasterized(True)


def _marks(artist: Any) -> int:
    if isinstance(artist, Line2D):
        marked = artist.get_marker() not in ("None", "none", None, "")
        return np.shape(artist.get_xydata())[0] if marked else 0
    if isinstance(artist, QuadMesh):
        return np.asanyarray(artist.get_array()).size
    offsets = np.shape(artist.get_offsets())[0] if isinstance(artist, PathCollection) else 0
    return max(offsets, len(artist.get_paths()))
