"""The one place of figure style: colours, sizes, how theory, simulation and bands are drawn.

Theory is thin, dashed and dark, drawn over simulation, which is thick, solid and pale: where the two agree both are seen.
Text is DejaVu Sans, which comes with matplotlib, and is stored in SVG as outlines: a figure looks the same everywhere.
"""

import io
import textwrap
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from string import ascii_lowercase
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib import ticker
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.path import Path
from matplotlib.rcsetup import cycler
from matplotlib.transforms import IdentityTransform

from foretrain.claims.interval import interval
from foretrain.errors import argument_error
from foretrain.words import number

INK = "#1b1f23"

# Okabe & Ito (2008), told apart with every common colour blindness; their yellow is left out, too pale for a line on white.
PALETTE = {
    "blue": "#0072b2",
    "vermillion": "#d55e00",
    "green": "#009e73",
    "purple": "#cc79a7",
    "orange": "#e69f00",
    "sky": "#56b4e9",
    "black": "#000000",
}
COLOURS = list(PALETTE.values())[:-1]  # of lines among each other: all but black
NAMES = {"sgd": "SGD", "sgd_decay": "SGD + decay", "adam": "Adam", "adamw": "AdamW"}  # in figures
NAMES |= {"mse": "squared error", "cross_entropy": "cross-entropy", "ntk": "NTK", "mup": "μP"}
SECOND_DASHES = (0, (6, 1.8, 1.2, 1.8))  # of a second theory, told apart without colour, too
SEQUENTIAL, DIVERGING = "cividis", "RdBu_r"

WIDTH = 7.2  # inches; at 96 pixels an inch the page shows it about this large, a phone at half
_DARK = 0.32  # luma, from 0 to 1
_ROW = 3.4  # inches, height of one row of panels
_MARKED = 12  # values of a swept axis up to which each has a mark

_SETTINGS = {
    "figure.figsize": (WIDTH, 4.2),
    "figure.constrained_layout.use": True,
    "figure.constrained_layout.wspace": 0.05,  # of equal panels, lest numbers below them seem one
    "savefig.dpi": 150,
    "savefig.facecolor": "white",
    "font.family": ["DejaVu Sans"],
    "mathtext.fontset": "dejavusans",
    "font.size": 12,
    "axes.titlesize": 13,
    "axes.labelsize": 13,
    **dict.fromkeys(("xtick.labelsize", "ytick.labelsize", "legend.fontsize"), 11.5),
    "legend.framealpha": 0.85,
    "legend.edgecolor": "none",
    "legend.fancybox": False,
    "legend.handlelength": 2.4,
    "axes.prop_cycle": cycler(color=list(PALETTE.values())),
    **dict.fromkeys(("axes.edgecolor", "axes.labelcolor", "text.color"), INK),
    **dict.fromkeys(("xtick.color", "ytick.color"), INK),
    "axes.linewidth": 0.9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "grid.color": "#e3e6e9",
    "grid.linewidth": 0.8,
    "lines.linewidth": 2.0,
    "image.cmap": SEQUENTIAL,
    "path.simplify_threshold": 0.3,  # pixels; keeps long trajectories small in SVG
    "svg.fonttype": "path",
    "svg.hashsalt": "foretrain",  # equal figures give equal files
}

_LEFT = {"backend", "backend_fallback", "interactive"}  # how a session shows figures is its own


@contextmanager
def style() -> Iterator[None]:
    """Context, and decorator, in which figures are made and saved, the same whatever a user's settings are."""
    default = {name: mpl.rcParamsDefault[name] for name in mpl.rcParamsDefault if name not in _LEFT}
    settings: dict[Any, Any] = {**default, **_SETTINGS}
    with mpl.rc_context(settings):
        yield


class _ShownFigure(Figure):
    """A figure that a notebook shows by itself, whether or not pyplot has been imported."""

    def _repr_png_(self) -> bytes:
        picture = io.BytesIO()
        with style():
            self.savefig(picture, format="png")
        return picture.getvalue()


def panels(
    rows: int = 1, columns: int = 1, *, height: float | None = None, **options
) -> tuple[Any, Any]:
    """Make a figure of the common width with a grid of axes.

    Args:
        rows: Panels from top to bottom.
        columns: Panels from left to right.
        height: In inches; by default 3.4 a row.
        **options: For `matplotlib.figure.Figure.subplots`, such as ``sharex``.

    Returns:
        The figure, or a part of one where `drawn_at` asks for it, and its axes: one `Axes` for a single panel, else an array
        of shape (rows, columns) without axes of length one. It is not registered with pyplot, so nothing has to close it.
    """
    ax, number, figures = _RECORD.get()
    if len(figures) == number:
        figure = _part_of(ax)
    else:
        figure = _ShownFigure(figsize=(WIDTH, height or _ROW * rows), layout="constrained")
    figures.append(figure)
    return figure, figure.subplots(rows, columns, **options)


# The figures that `panels` has made, and the number of the one that stands in the place of some axes instead.
_RECORD: ContextVar[tuple[Any, int, Any]] = ContextVar(
    "record", default=(None, -1, deque(maxlen=0))
)


def _part_of(ax: Any) -> Any:
    """Return a part of the figure of some axes, where they stand; they are taken out."""
    place, whole = ax.get_subplotspec(), ax.get_figure(root=True)
    if whole.get_layout_engine() is None:
        whole.set_layout_engine("constrained")
    ax.remove()
    return whole.add_subfigure(place)


def drawn_at(ax: Any, draw: Callable[[], Mapping[str, Any]], name: str) -> Any:
    """One of the drawings that a function makes, on a figure of its own or in the place of axes that are given.

    Args:
        ax: Axes made by ``subplots``, which the drawing replaces, drawn twice. None for a figure of its own.
        draw: Makes drawings by name, each on a figure of `panels`.
        name: Which of them.

    Raises:
        ArgumentError: the axes are no subplot, or the drawing is made in another way than by `panels`.
    """
    if ax is not None and (not isinstance(ax, Axes) or ax.get_subplotspec() is None):
        raise argument_error("ax", "be axes made by `subplots`", f"is {type(ax).__name__}")
    with style():
        if ax is None:
            return draw()[name]
        figures: list = []
        token = _RECORD.set((None, -1, figures))
        try:
            if (wanted := draw()[name].figure) not in figures:
                raise argument_error("ax", f"be left out for `{name}`", "is given")
            _RECORD.set((ax, figures.index(wanted), []))
            return draw()[name]
        finally:
            _RECORD.reset(token)


def titled_panels(
    titles: Sequence[str], height: float, ylabel: str = "", **options
) -> tuple[Any, Any]:
    """Make a figure with a row of panels of one ordinate, one for each title; `options` are for ``Axes.set`` of all."""
    figure, axes = panels(1, len(titles), sharey=True, height=height, squeeze=False)
    for ax, title in zip(axes[0], titles, strict=True):
        ax.set_title(title, loc="left")
        ax.set(**options)
    axes[0, 0].set_ylabel(ylabel)
    return figure, axes[0]


def shades(number: int) -> np.ndarray:
    """So many colours from dark to pale, without the palest, which would not be seen on white."""
    return mpl.colormaps[SEQUENTIAL](np.linspace(0, 0.87, number))


def theory_line(color=None, **overrides) -> dict:
    """Keywords of ``Axes.plot`` for a predicted curve: thin, dashed, on top.

    `color` is that of its simulation, drawn darker here; lighter where it is so dark that darker could not be seen on it.
    """
    shade = INK if color is None else tuple(0.45 * channel for channel in to_rgb(color))
    if color is not None and np.dot((0.299, 0.587, 0.114), to_rgb(color)) < _DARK:
        shade = tuple(0.5 + 0.5 * channel for channel in to_rgb(color))
    return {"color": shade, "linestyle": (0, (4, 2.2)), "linewidth": 1.5, "zorder": 4} | overrides


def simulation_line(color=None, **overrides) -> dict:
    """Keywords of ``Axes.plot`` for a simulated curve: thick, solid, pale, below theory."""
    shape = {"linestyle": "-", "linewidth": 3.2, "alpha": 0.65, "solid_capstyle": "round"}
    return {**({} if color is None else {"color": color}), **shape, "zorder": 3, **overrides}


class Smooth:
    """Path effect of a curve over time: no corners at its records, between two of which it is monotone on the paper."""

    def draw_path(self, renderer, gc, path, place, face=None) -> None:
        """Draw a path through all of its points where these ascend in x, any other as it is."""
        from scipy.interpolate import PchipInterpolator

        x, y = path.transformed(place).vertices.T
        if x.size > 2 and np.isfinite(y).all() and (np.diff(x) > 0).all():
            at = np.interp(np.arange(0, x.size - 0.9, 0.1), np.arange(x.size), x)
            path = Path(np.column_stack([at, PchipInterpolator(x, y)(at)]))
            place = IdentityTransform()
        renderer.draw_path(gc, path, place, face)


def seed_band(
    ax: Axes,
    x,
    samples,
    label: str = "",
    *,
    color=None,
    statistic: Callable[[np.ndarray], float] = np.mean,
    fraction: bool | None = None,
):
    """Draw a statistic over seeds as a line, in a band that says what it is, with marks at the x where these are few.

    The mean of what is 0 or 1 is a fraction of seeds, and its band is that of a fraction.

    Args:
        ax: Where to draw.
        x: Abscissa, shape (x,).
        samples: One curve per seed, shape (seed, x). At each x, values that are not finite are left out; where none is left
            the line has a gap, where one is left there is no band.
        label: Of the line, in the legend.
        color: By default the next of the palette.
        statistic: `numpy.mean` or `numpy.median`, along a 1-d array.
        fraction: Whether samples say yes or no, as 1 or 0. By default they do if they are booleans or hold both.

    Returns:
        The line and the band (None if no x has two seeds), whose legend entry is `band_label`, once per axes.

    Raises:
        ArgumentError: `samples` is not 2-d or does not fit `x`.
    """
    values = np.asarray(samples)
    if fraction is None:
        fraction = values.dtype == bool or set(np.unique(values[np.isfinite(values)])) == {0, 1}
    x, samples = np.asarray(x, dtype=float), np.asarray(values, dtype=float)
    name = "fraction" if fraction and statistic is np.mean else statistic.__name__
    if samples.ndim != 2 or samples.shape[1:] != x.shape:
        rule = f"have shape (seed, {x.size})" if x.ndim == 1 else "have shape (seed, x) with x 1-d"
        raise argument_error("samples", rule, f"has shape {samples.shape}")
    centre, low, high = np.full((3, x.size), np.nan)
    counts = np.isfinite(samples).sum(axis=0)
    for index, column in enumerate(samples.T):
        kept = column[np.isfinite(column)]
        if kept.size:
            centre[index] = statistic(kept)
        if kept.size > 1:
            ends = interval(kept, name)
            low[index], high[index] = ends.low, ends.high
    look = simulation_line(color, label=label or None, alpha=1, linewidth=2.2)
    marks = {"marker": "o", "markersize": 4.5} if x.size <= _MARKED else {}
    (line,) = ax.plot(x, centre, **look, **marks)
    if not (counts > 1).any():
        return line, None
    text = band_label(counts[counts > 0], name)
    if text in ax.get_legend_handles_labels()[1]:
        text = "_nolegend_"
    look = {"color": line.get_color(), "alpha": 0.25, "linewidth": 0, "zorder": 2}
    if x.size == 1:  # a band without width would not be seen
        return line, ax.vlines(x, low, high, label=text, **{**look, "linewidth": 7})
    return line, ax.fill_between(x, low, high, label=text, **look)


def band_label(counts, statistic: str = "mean") -> str:
    """Return the words for the band of `seed_band`; `counts` is the number of seeds at each x."""
    fewest, most = int(np.min(counts)), int(np.max(counts))
    seeds = f"{most} seeds" if fewest == most else f"{fewest} to {most} seeds"
    return f"band: 95% interval of the {statistic} over {seeds}"


def legend_below(figure: Any, columns: int = 3):
    """Put one legend for all panels below them, each label once, where it covers no curve.

    It has at most so many columns, fewer where they would be wider than the figure; labels that are still too wide for it
    are wrapped. Dashed and dotted lines come behind the solid ones of their panel, bands, one entry, last.
    """
    entries = {}
    for ax in figure.axes:
        for handle, label in zip(*ax.get_legend_handles_labels(), strict=True):
            entries.setdefault(label, handle)
    if not entries:
        return None
    entries = _one_band(entries)

    def rank(label):
        dashed = getattr(entries[label], "get_linestyle", str)() in ("--", ":")
        return label.startswith("band: "), label[:3] if label[1:3] == ": " else "", dashed

    tries = [(ncols, 1000) for ncols in range(min(columns, len(entries)), 0, -1)]
    if len(entries) > 4:  # two lines of one cost less than a column
        tries[-1:-1] = [(ncols, 34) for ncols, _ in tries[:-1]]
    tries += [(1, wide) for wide in (70, 50, 30)]
    while True:
        ncols, wide = tries.pop(0)
        texts = {textwrap.fill(label, wide): entries[label] for label in sorted(entries, key=rank)}
        place = {"loc": "outside lower center", "ncols": ncols}
        legend = figure.legend(list(texts.values()), list(texts), **place)
        if not tries or legend.get_window_extent().width <= figure.bbox.width:
            return legend
        legend.remove()


def _one_band(entries: dict[str, Any]) -> dict[str, Any]:
    """One entry for all bands of `seed_band`: their statistics, and the fewest and most seeds of all."""
    bands = {label: handle for label, handle in entries.items() if label.startswith("band: 95%")}
    if len(bands) < 2:
        return entries
    statistics = dict.fromkeys(label.split(" of the ")[1].split(" over ")[0] for label in bands)
    counts = [int(word) for label in bands for word in label.split() if word.isdigit()]
    others = {label: handle for label, handle in entries.items() if label not in bands}
    words = band_label(counts, " or ".join(statistics))
    if len(bands) == len(counts) == 2:  # each band has one number of seeds at all x
        words = words.replace(" to ", " or ")
    return {**others, words: next(iter(bands.values()))}


def log_ticks(ax: Axes) -> None:
    """Write labels of logarithmic axes, at most three of less than two decades, and of far numbers without powers of ten.

    A power would be too small; the one above an axis of very small or large numbers would stand in its title.
    """
    for axis in (ax.xaxis, ax.yaxis):
        formatter, (low, high) = axis.get_major_formatter(), sorted(axis.get_view_interval())
        log = isinstance(formatter, ticker.LogFormatter)
        far = not 1e-4 <= max(abs(low), abs(high)) < 1e6
        if not log and not (far and isinstance(formatter, ticker.ScalarFormatter)):
            continue
        axis.set_major_formatter(ticker.FuncFormatter(lambda value, _: number(value)))
        axis.set_minor_formatter(ticker.NullFormatter())
        if log and 0 < 1000 * low <= high:  # too many to be told apart
            axis.set_minor_locator(ticker.NullLocator())
        if not (log and 0 < low < high < 90 * low):
            continue
        decade = 10.0 ** np.floor(np.log10(low))
        places = decade * np.outer((1, 10, 100), (1, 1.5, 2, 3, 5, 7)).ravel()
        if not (inside := places[(places >= low) & (places <= high)]).size:
            continue
        even = np.geomspace(inside[0], inside[-1], min(3, len(inside)))
        nearest = np.abs(np.log(inside) - np.log(even)[:, None]).argmin(1)
        axis.set_major_locator(ticker.FixedLocator(inside[np.unique(nearest)]))


def panel_letters(axes) -> None:
    """Put a bold a, b, c, ... at the upper left of each panel, before a title that stands there."""
    for letter, ax in zip(ascii_lowercase, np.ravel(axes), strict=False):
        ax.set_title(rf"$\mathbf{{{letter}}}$   {ax.get_title(loc='left')}".rstrip(), loc="left")
