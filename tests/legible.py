"""Legibility of a figure: every text inside it, none on another, no legend on a curve, every axis and dash named."""

import itertools

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.text import Text

_SLACK = 1.0  # pixels by which boxes may overlap, for rounding
_COVERED = 0.02  # share of the points of a curve that may lie below a legend


def troubles(figure) -> list[str]:
    """Parts of a figure that cannot be read, a line each."""
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
        boxes.append((words, box, _corners(text, renderer)))
    result = [f"`{text}` is small" for text in figure.findobj(Text) if text.get_fontsize() < 9.6]
    result += [
        f"`{words}` leaves the figure"
        for words, box, _ in boxes
        if box.x0 < whole.x0 - _SLACK
        or box.y0 < whole.y0 - _SLACK
        or box.x1 > whole.x1 + _SLACK
        or box.y1 > whole.y1 + _SLACK
    ]
    for (first, item, these), (second, other, those) in itertools.combinations(boxes, 2):
        wide = min(item.x1, other.x1) - max(item.x0, other.x0)
        high = min(item.y1, other.y1) - max(item.y0, other.y0)
        if wide > _SLACK and high > _SLACK and _meet(these, those):
            result.append(f"`{first}` lies on `{second}`")
    return result + _covered(figure, renderer) + _unnamed(figure, hidden) + _unexplained(figure)


def _corners(text, renderer) -> np.ndarray:
    """Corners of a text, (4, 2), turned as it is."""
    turn = text.get_rotation()
    if turn % 90 == 0:
        return text.get_window_extent(renderer).corners()[[0, 1, 3, 2]]
    whole = text.get_window_extent(renderer)
    text.set_rotation(0)
    flat = text.get_window_extent(renderer)
    text.set_rotation(turn)
    angle = np.deg2rad(turn)
    turned = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    middle = (whole.corners().min(0) + whole.corners().max(0)) / 2
    half = np.array([[-1, -1], [-1, 1], [1, 1], [1, -1]]) * [flat.width / 2, flat.height / 2]
    return middle + half @ turned.T


def _meet(left, other) -> bool:
    """Return True where two rectangles, each (4, 2), overlap: no line along a side of either parts them."""
    for corners in (left, other):
        for side in np.diff(corners[:3], axis=0):
            across = np.array([-side[1], side[0]]) / (np.hypot(*side) or 1)
            these, those = left @ across, other @ across
            if min(these.max(), those.max()) - max(these.min(), those.min()) <= _SLACK:
                return False
    return True


def _hidden(figure) -> set[int]:
    """Texts that are not drawn: of axes that are not, and of ticks beyond the limits of their axis."""
    result = set()
    for ax in [*figure.axes, *(inner for outer in figure.axes for inner in outer.child_axes)]:
        if not ax.get_visible():
            result |= {id(text) for text in ax.findobj(Text)}
            continue
        for axis in (ax.xaxis, ax.yaxis):
            known = [*axis.majorTicks, *axis.minorTicks]
            drawn = axis._update_ticks() if axis.get_visible() and ax.axison else []
            result |= {
                id(text)
                for tick in known
                for text in (tick.label1, tick.label2)
                if tick not in drawn
            }
            if not (axis.get_visible() and ax.axison):
                result.add(id(axis.label))
    return result


def _covered(figure, renderer) -> list[str]:
    result = []
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
                result.append(f"a legend lies on the curve `{line.get_label()}`")
    return result


def _unnamed(figure, hidden) -> list[str]:
    """Axes with numbers at their ticks and no name, neither of their own nor of a panel in their row or column."""
    result = []
    for number, ax in enumerate(figure.axes):
        if not ax.get_visible() or not ax.axison or hasattr(ax, "get_zlim"):
            continue
        for axis, whole in ((ax.xaxis, figure.get_supxlabel()), (ax.yaxis, figure.get_supylabel())):
            ticks = [text for text in axis.get_ticklabels(which="both") if id(text) not in hidden]
            texts = [text.get_text().replace("mathdefault", "") for text in ticks]
            if not any(texts) or any(map(str.isalpha, "".join(texts))):
                continue  # words name themselves
            named = [getattr(item, f"get_{axis.axis_name}label")() for item in _aligned(figure, ax)]
            if not whole and not any(named):
                result.append(f"axis {axis.axis_name} of panel {number + 1} has no name")
    return result


def _aligned(figure, ax) -> list:
    """Some axes and those in their row or column."""
    spec = ax.get_subplotspec()
    return [ax] + [
        other
        for other, place in [(other, other.get_subplotspec()) for other in figure.axes]
        if spec is not None and place is not None
        if place.get_gridspec() is spec.get_gridspec()
        if place.colspan == spec.colspan or place.rowspan == spec.rowspan
    ]


def _unexplained(figure) -> list[str]:
    """Dashes that no legend shows, in panels that say nothing themselves."""
    legends = [*figure.legends, *(ax.get_legend() for ax in figure.axes)]
    message = {
        _dashes(line) for legend in legends if legend is not None for line in legend.get_lines()
    }
    return [
        f"nothing says what is drawn {line.get_linestyle()} in panel {number + 1}"
        for number, ax in enumerate(figure.axes)
        for line in ax.get_lines()
        if line.get_visible()
        and len(line.get_xdata())
        and line.get_linestyle() in ("--", ":", "-.")
        and _dashes(line) not in message
        and not ax.texts
    ]


def _dashes(line) -> str:
    return str(line._unscaled_dash_pattern)
