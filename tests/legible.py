"""Whether a figure can be read: every text inside it, no text on another, no legend on a curve."""

import itertools

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.text import Text

_SLACK = 1.0  # pixels by which boxes may overlap, for rounding
_COVERED = 0.02  # share of the points of a curve that may lie below a legend


def troubles(figure) -> list[str]:
    """What cannot be read in a figure, a line each."""
    FigureCanvasAgg(figure)
    figure.draw_without_rendering()
    renderer = figure.canvas.get_renderer()
    whole = figure.bbox
    boxes, hidden = [], _hidden(figure)
    for text in figure.findobj(Text):
        if not text.get_visible() or not text.get_text().strip() or id(text) in hidden:
            continue
        box = text.get_window_extent(renderer)
        words = " ".join(text.get_text().split())[:40]
        boxes.append((words, box))
    found = [
        f"`{words}` leaves the figure"
        for words, box in boxes
        if box.x0 < whole.x0 - _SLACK
        or box.y0 < whole.y0 - _SLACK
        or box.x1 > whole.x1 + _SLACK
        or box.y1 > whole.y1 + _SLACK
    ]
    for (first, one), (second, other) in itertools.combinations(boxes, 2):
        wide = min(one.x1, other.x1) - max(one.x0, other.x0)
        high = min(one.y1, other.y1) - max(one.y0, other.y0)
        if wide > _SLACK and high > _SLACK:
            found.append(f"`{first}` lies on `{second}`")
    return found + _covered(figure, renderer)


def _hidden(figure) -> set[int]:
    """Texts that are not drawn: of axes that are not, and of ticks beyond the limits of their axis."""
    found = set()
    for ax in [*figure.axes, *(inner for outer in figure.axes for inner in outer.child_axes)]:
        if not ax.get_visible():
            found |= {id(text) for text in ax.findobj(Text)}
            continue
        for axis in (ax.xaxis, ax.yaxis):
            known = [*axis.majorTicks, *axis.minorTicks]
            drawn = axis._update_ticks() if axis.get_visible() and ax.axison else []
            found |= {
                id(text)
                for tick in known
                for text in (tick.label1, tick.label2)
                if tick not in drawn
            }
            if not (axis.get_visible() and ax.axison):
                found.add(id(axis.label))
    return found


def _covered(figure, renderer) -> list[str]:
    found = []
    for ax in figure.axes:
        legend = ax.get_legend()
        if legend is None or not ax.get_visible():
            continue
        box = legend.get_window_extent(renderer)
        for line in ax.get_lines():
            if not line.get_visible() or len(line.get_xdata()) < 3:
                continue
            with np.errstate(all="ignore"):
                places = line.get_transform().transform(np.column_stack(line.get_data()))
            below = (
                (places[:, 0] > box.x0)
                & (places[:, 0] < box.x1)
                & (places[:, 1] > box.y0)
                & (places[:, 1] < box.y1)
            )
            if below.mean() > _COVERED:
                found.append(f"a legend lies on the curve `{line.get_label()}`")
    return found
