"""The routing task as a picture: the gated network, and how many routes pass each edge."""

from typing import Any

import numpy as np
from matplotlib.patches import Rectangle

from foretrain.figures import finished
from foretrain.figures.style import INK, PALETTE, panels
from foretrain.training.routing import mask

_MOST = 12  # domains; more nodes would run into each other
_WIDEST = 11.0  # points, of the edge that all routes pass


def draw_task(grid):
    """Draw the network and the paths of the first seed."""
    cell, where = grid.first()
    pairs = mask(cell.parameters, cell.seed(0))
    figure, axes = panels(1, 2, height=3.5)
    _gates(axes[0], pairs)
    _paths(axes[1], pairs)
    return finished(
        figure,
        "Task and gates",
        "a: domains come in through encoders of their own and go out through decoders of their own; for every example the "
        "gates let one of each through (filled squares), the hidden matrix is always on. b: so many of the trained routes "
        "pass an edge, which is as thick as they are many: the hidden matrix has all of them and learns faster."
        + where,
    )


def _nodes(pairs):
    """Yield side, number, abscissas and ordinates of the edge of every domain that is shown."""
    for side, xs in enumerate(((0, 1), (3, 2))):
        shown = min(pairs.shape[side], _MOST)
        heights = np.linspace(0.94, 0.06, shown) if shown > 1 else np.array([0.5])
        for number, y in enumerate(heights):
            yield side, number, xs, (y, 0.5 + 0.36 * (y - 0.5))


def _layers(ax: Any, title: str, colour: str, width: float) -> None:
    """Draw the two hidden layers, the matrix between them and the names of all columns."""
    ax.set(xlim=(-0.32, 3.32), ylim=(-0.16, 1.06), xticks=[], yticks=[])
    ax.set_title(title, loc="left")
    ax.spines[:].set_visible(False)
    ax.plot([1, 2], [0.5, 0.5], color=colour, linewidth=width, zorder=2, solid_capstyle="butt")
    for x in (1, 2):
        look = {"facecolor": "white", "edgecolor": INK, "linewidth": 1.2, "zorder": 3}
        ax.add_patch(Rectangle((x - 0.05, 0.28), 0.1, 0.44, **look))
    for x, text in enumerate(("inputs", "hidden", "hidden", "outputs")):
        ax.text(x, -0.12, text, ha="center", va="center", fontsize=11)


def _gates(ax: Any, pairs) -> None:
    """Draw the gates of one example of the first trained route."""
    _layers(ax, "Gates of one example", PALETTE["vermillion"], 2.6)
    route = np.minimum(np.argwhere(pairs > 0)[0], _MOST - 1)
    for side, number, xs, ys in _nodes(pairs):
        on = number == route[side]
        colour = PALETTE["vermillion"] if on else "#c9ced3"
        ax.plot(xs, ys, color=colour, linewidth=2.6 if on else 1.2, zorder=1 + on)
        look = {"color": colour if on else "white", "markeredgecolor": colour, "markersize": 5.5}
        ax.plot(np.mean(xs), np.mean(ys), "s", zorder=4, **look)
        ax.plot(xs[0], ys[0], "o", color=colour, markersize=8, zorder=4)


def _paths(ax: Any, pairs) -> None:
    """Draw how many of the trained routes pass each edge."""
    blue, total = PALETTE["blue"], int(pairs.sum())
    _layers(ax, "Trained routes per edge", blue, _WIDEST)
    ax.text(1.5, 0.62, str(total), ha="center", va="bottom", fontsize=12)
    for side, number, xs, ys in _nodes(pairs):
        count = int(pairs.sum(1 - side)[number])
        ax.plot(xs, ys, color=blue, linewidth=max(_WIDEST * count / total, 0.4), zorder=1)
        ax.plot(xs[0], ys[0], "o", color=blue, markersize=8, zorder=4)
        place = {"ha": "left" if side else "right", "va": "center", "fontsize": 11}
        ax.text(xs[0] + (0.1 if side else -0.1), ys[0], str(count), **place)
