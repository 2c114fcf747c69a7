"""Figures as rows over quantities: which quantity is drawn against which axis, without a picture yet.

A study's ``figures.py`` lists its figures by name, ``FIGURES = {"ratio": figure(title, caption, panel(quantity, by=...))}``,
or has a function draw one, ``drawn(draw_task)``; see ``docs/extending.md``.

`foretrain.figures.drawings` makes pictures of them. Lines are thick with a band over seeds, theory is dashed over them, and
labels of axes come from the vocabulary and from the parameters' symbols.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from foretrain.errors import ForetrainError

SCALES = ("linear", "semilogx", "semilogy", "loglog")
STATISTICS = ("mean", "median", "fraction", "runs")


class FigureError(ForetrainError, TypeError):
    """A figure is declared in a way that cannot be drawn."""


@dataclass(frozen=True)
class Panel:
    """One panel of a figure; made by `panel`.

    Attributes:
        quantities: Label to quantity; a single one has the label "".
        x: "time" (training steps where no time is known), "step", an axis of the grid, or another dim of the quantity;
            "" for one column.
        by: Axis of the grid or dim of the quantity that gives the colours; None for one colour.
        across: Axis of the grid or dim of the quantity that gives a panel of its own for each value; None for one panel.
        of: Label to network, "" being the study's own; each is drawn.
        theory: Draw the same quantity of the theory (True), nothing (False), another quantity of the cell, or label to one of
            these for each of `quantities`.
        theory_label: Label of the dashed lines in the legend.
        statistic: "mean", "median" or, of what is 0 or 1, "fraction" over seeds, in a band of its 95% interval, or "runs" for
            every run as a thin line.
        points: Draw every run as a small point, too.
        scale: One of `SCALES`.
        label: Ordinate, in words; by default the meaning of the variable.
        xlabel: Abscissa, in words; by default that of `x`.
        title: Title of the panel.
        xlim, ylim: Limits (low, high), or a function of the cell that gives them; None for those of the data.
        levels: Label to a value, or to a function of the cell that gives one, drawn as a horizontal dotted line.
        most: Largest number of values of `by` and of `across` that are drawn.
    """

    quantities: Mapping[str, Callable[[Any], Any]]
    x: str = "time"
    by: str | None = None
    across: str | None = None
    of: Mapping[str, str] | None = None
    theory: bool | Callable[[Any], Any] | Mapping[str, Any] = True
    theory_label: str = "theory"
    statistic: str = "mean"
    points: bool = False
    scale: str = "linear"
    label: str = ""
    xlabel: str = ""
    title: str = ""
    xlim: Any = None
    ylim: Any = None
    levels: Mapping[str, Any] | None = None
    most: int = 6

    def __post_init__(self):
        for name, known in (("scale", SCALES), ("statistic", STATISTICS)):
            if (got := getattr(self, name)) not in known:
                raise FigureError(f"A panel's `{name}` must be one of {known}, but is {got!r}.")
        for label, quantity in self.quantities.items():
            if not isinstance(label, str) or not callable(quantity):
                raise FigureError(
                    f"A panel must draw functions of the cell by their label, but draws {quantity!r}."
                )


def panel(quantity: Any, **options: Any) -> Panel:
    """Declare a panel that draws one quantity, or several by their labels; `options` are the attributes of `Panel`.

    Raises:
        FigureError: an option cannot be drawn.
    """
    if isinstance(options.get("of"), str):
        options["of"] = {"": options["of"]}
    try:
        return Panel(quantity if isinstance(quantity, Mapping) else {"": quantity}, **options)
    except TypeError as error:
        if isinstance(error, FigureError):
            raise
        raise FigureError(f"A panel cannot be declared so: {error}.") from None


@dataclass(frozen=True)
class FigureRow:
    """One figure of a study; made by `figure`, or by `drawn` where a function draws it.

    Attributes:
        title: A few words, or a function of the cell that gives them.
        caption: What is drawn and what is seen in it, in sentences, or a function of the cell that gives them.
        panels: Its panels, left to right.
        where: Cells for which it is drawn, a function of the cell; None for all.
        columns: Panels in a row; by default all panels, at most three.
        height: In inches; by default 3.6 for each row.
        sharey: Whether all panels have one ordinate, as those of one quantity do, or ``row`` if those of a row have.
        legend: Columns of the legend.
        function: Draws the figure from a grid in place of `panels`: gives a `foretrain.figures.Drawing`, several by their
            names, each made or a function without arguments that makes it, or None where there is nothing to draw.
        reads: Variables that are seen in what `function` draws, besides those that it reads.
    """

    title: Any = ""
    caption: Any = ""
    panels: tuple[Panel, ...] = ()
    where: Callable[[Any], Any] | None = None
    columns: int | None = None
    height: float | None = None
    sharey: bool | str = False
    legend: int = 2
    function: Callable[[Any], Any] | None = None
    reads: tuple[str, ...] = ()


def figure(title: Any, caption: Any, *panels: Panel, **options: Any) -> FigureRow:
    """Declare a figure of some panels; `options` are the attributes of `FigureRow`."""
    for row in panels:
        if not isinstance(row, Panel):
            raise FigureError(f"A figure must have panels made by `panel(...)`, but has {row!r}.")
    if not panels:
        raise FigureError("A figure must have a panel, but has none.")
    return FigureRow(title, caption, panels, **options)


def drawn(
    function: Callable[[Any], Any], *reads: str, where: Callable[[Any], Any] | None = None
) -> FigureRow:
    """Declare a figure that a function draws from the grid: matrices, graphs, a scatter of runs.

    Args:
        function: As in `FigureRow`.
        *reads: Variables that are seen in it though the function reads others, such as "within" or "flow/loss".
        where: As in `FigureRow`.
    """
    return FigureRow(function=function, reads=reads, where=where)
