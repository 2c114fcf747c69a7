"""The routing task as a picture: the gated network, how many routes pass each edge, the items, the trained routes."""

from typing import Any

import numpy as np
from matplotlib.patches import Rectangle

from foretrain.figures import Drawing, finished
from foretrain.figures.style import INK, PALETTE, SEQUENTIAL, panels

_PALE = "#c9ced3"
_MOST = 12  # domains; more nodes would run into each other


def task_drawing(targets, trained_pairs, where: str = "") -> Drawing:
    """Draw the task of a routing network.

    Args:
        targets: Features of every item, shape (feature, item).
        trained_pairs: T, shape (input_domain, output_domain).
        where: Ends the caption.
    """
    pairs = np.asarray(trained_pairs)
    figure, axes = panels(2, 2, height=6.6)
    _network(axes[0, 0], pairs)
    _paths(axes[0, 1], pairs)
    _items(axes[1, 0], np.asarray(targets))
    _routes(axes[1, 1], pairs)
    return finished(
        figure,
        "Task and gates",
        "a: domains come in through encoders of their own and go out through decoders of their own; for every example the "
        "gates let one of each through (filled squares), the hidden matrix is always on. b: so many of the trained routes "
        "pass an edge, which is as thick as they are many: the hidden matrix has all of them and learns faster. c: what is "
        "asked of every item, on every route. d: the trained routes are dark, the others are never seen."
        + where,
    )


def _heights(number: int) -> np.ndarray:
    return np.linspace(0.94, 0.06, number) if number > 1 else np.array([0.5])


def _bare(ax: Any, title: str) -> None:
    ax.set(xlim=(-0.32, 3.32), ylim=(-0.16, 1.06), xticks=[], yticks=[])
    ax.set_title(title, loc="left")
    ax.spines[:].set_visible(False)


def _layers(ax: Any) -> None:
    """The two hidden layers and what stands below every column."""
    for x in (1, 2):
        bar = Rectangle(
            (x - 0.05, 0.28), 0.1, 0.44, facecolor="white", edgecolor=INK, linewidth=1.2, zorder=3
        )
        ax.add_patch(bar)
    for x, text in ((0, "inputs"), (1, "hidden"), (2, "hidden"), (3, "outputs")):
        ax.text(x, -0.12, text, ha="center", va="center", fontsize=11)


def _network(ax: Any, pairs) -> None:
    _bare(ax, "Gates of one example")
    route = tuple(np.argwhere(pairs > 0)[0])
    for side, (number, chosen) in enumerate(zip(pairs.shape, route, strict=True)):
        node, inner = (0, 1) if side == 0 else (3, 2)
        for at, y in enumerate(_heights(min(number, _MOST))):
            on = at == min(chosen, _MOST - 1)
            colour = PALETTE["vermillion"] if on else _PALE
            end = 0.5 + 0.36 * (y - 0.5)
            ax.plot(
                [node, inner], [y, end], color=colour, linewidth=2.6 if on else 1.2, zorder=1 + on
            )
            middle = node + 0.5 * (inner - node), (y + end) / 2
            face = colour if on else "white"
            ax.plot(*middle, "s", color=face, markeredgecolor=colour, markersize=5.5, zorder=4)
            ax.plot(node, y, "o", color=colour, markersize=8, zorder=4)
    ax.plot([1, 2], [0.5, 0.5], color=PALETTE["vermillion"], linewidth=2.6, zorder=2)
    _layers(ax)


def _paths(ax: Any, pairs) -> None:
    total = int(pairs.sum())
    _bare(ax, "Trained routes per edge")
    widest = 11.0
    for side in (0, 1):
        counts = pairs.sum(1 - side)
        shown = counts[: min(len(counts), _MOST)]
        node, inner = (0, 1) if side == 0 else (3, 2)
        for count, y in zip(shown, _heights(len(shown)), strict=True):
            end = 0.5 + 0.36 * (y - 0.5)
            width = max(widest * count / total, 0.4)
            ax.plot([node, inner], [y, end], color=PALETTE["blue"], linewidth=width, zorder=1)
            ax.plot(node, y, "o", color=PALETTE["blue"], markersize=8, zorder=4)
            text = node - 0.1 if side == 0 else node + 0.1
            ax.text(
                text,
                y,
                str(int(count)),
                ha="right" if side == 0 else "left",
                va="center",
                fontsize=11,
            )
    ax.plot(
        [1, 2], [0.5, 0.5], color=PALETTE["blue"], linewidth=widest, zorder=1, solid_capstyle="butt"
    )
    ax.text(1.5, 0.62, str(total), ha="center", va="bottom", fontsize=12)
    _layers(ax)


def _items(ax: Any, targets) -> None:
    image = ax.imshow(targets, cmap=SEQUENTIAL, aspect="auto")
    features, items = targets.shape
    ax.set_xticks(range(items), [str(at + 1) for at in range(items)])
    ax.set_yticks(range(features), [str(at + 1) for at in range(features)])
    ax.set(xlabel="Item", ylabel="Feature")
    ax.set_title("Items", loc="left")
    ax.figure.colorbar(image, ax=ax, label="Target")


def _routes(ax: Any, pairs) -> None:
    ax.imshow(pairs, cmap="Greys", vmin=0, vmax=1.25, aspect="equal")
    for axis, size in ((ax.xaxis, pairs.shape[1]), (ax.yaxis, pairs.shape[0])):
        ticks = np.arange(0, size, max(1, size // 8))
        axis.set_ticks(ticks, [str(at + 1) for at in ticks])
    ax.set(xlabel="Output domain", ylabel="Input domain")
    ax.set_title("Trained routes", loc="left")
