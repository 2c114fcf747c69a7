"""A layered graph: layers as columns, edges as thick as they are strong, nodes and edges in the colour of their module."""

from collections.abc import Sequence

import numpy as np
from matplotlib.collections import LineCollection
from matplotlib.colors import to_rgb

from foretrain.figures import Drawing
from foretrain.figures.style import COLOURS, INK, legend_below, panels
from foretrain.words import number

MOST = 10_000  # edges; more are not told apart
_BETWEEN, _ALONE = "#9aa0a6", "#d5d9dd"
# Further modules come round again.
_COLOURS = [*COLOURS, "#8c6d31", "#5254a3", "#637939", "#ad494a"]


def drawn_edges(
    strengths: Sequence[np.ndarray], threshold: float | None = None, most: int = MOST
) -> tuple[list[np.ndarray], float]:
    """Return masks of the edges that are drawn, of the shapes of `strengths`, and the strength above which they are.

    By default that is a hundredth of the largest strength; of more edges than `most`, the strongest are drawn.
    """
    whole = np.concatenate([np.ravel(part) for part in strengths])
    bound = float(whole.max(initial=0)) / 100 if threshold is None else threshold
    if (whole > bound).sum() > most:
        bound = max(bound, float(np.sort(whole)[-most - 1]))
    return [np.asarray(part) > bound for part in strengths], bound


def layered_graph(
    strengths: Sequence[np.ndarray],
    modules: Sequence[np.ndarray],
    *,
    names: Sequence[str] | None = None,
    threshold: float | None = None,
    title: str = "Interactions between layers",
) -> Drawing:
    """Draw a layered graph; nodes stand by module, those without a drawn edge are small and pale.

    `strengths` holds an array (to, from) between neighbouring layers, not negative, `modules` for each layer the module of
    every node, -1 for none. An edge is drawn if it is stronger than `threshold`, by default a hundredth of the strongest.
    """
    sizes = [strengths[0].shape[1], *(len(part) for part in strengths)]
    if names is None:
        names = ["input", *(f"layer {at}" for at in range(1, len(sizes) - 1)), "output"]
    masks, bound = drawn_edges(strengths, threshold)
    drawn = sum(int(mask.sum()) for mask in masks)
    heights = [_heights(module) for module in modules]
    figure, ax = panels(height=min(8.0, 3.0 + 0.06 * max(sizes)))
    top = max((float(part.max(initial=0)) for part in strengths), default=1) or 1
    shares, ends, colours, met = [], [], [], [np.zeros(size, bool) for size in sizes]
    for at, (part, mask) in enumerate(zip(strengths, masks, strict=True)):
        above, below = np.nonzero(mask)
        met[at][below] = met[at + 1][above] = True
        pairs = zip(heights[at][below], heights[at + 1][above], strict=True)
        ends += [((at, left), (at + 1, right)) for left, right in pairs]
        shares.append(part[above, below] / top)
        colours.append(_tones(modules[at][below], modules[at + 1][above]))
    share, lines = np.concatenate(shares), np.reshape(ends, (-1, 2, 2))
    order = np.argsort(share, kind="stable")  # the strongest on top
    tones = np.column_stack([np.concatenate(colours), 0.12 + 0.83 * np.sqrt(share)])[order]
    look = {"linewidths": 0.25 + 3.5 * share[order], "colors": tones, "capstyle": "round"}
    ax.add_collection(LineCollection([*lines[order]], rasterized=drawn > 1000, **look))
    dot = float(np.clip(900 / max(sizes), 6, 60))
    for at, (height, module) in enumerate(zip(heights, modules, strict=True)):
        tones = np.where(met[at][:, None], _tones(module, module), to_rgb(_ALONE))
        look = {"s": np.where(met[at], dot, 4), "c": tones, "zorder": 3, "linewidths": 0.5}
        ax.scatter(np.full(len(height), at), height, edgecolors="white", **look)
    known = sorted(set(np.concatenate(modules).tolist()), key=lambda module: (module < 0, module))
    for module in known if len(known) > 1 else ():
        label = f"module {module + 1}" if module >= 0 else "in no module"
        ax.plot([], [], "o", color=_colour(module), label=label)
    ax.set(xlim=(-0.15, len(sizes) - 0.85), ylim=(-0.04, 1.04), yticks=[])
    words = [f"{name}\n{size}" for name, size in zip(names, sizes, strict=True)]
    ax.set_xticks(range(len(sizes)), words)
    ax.spines[:].set_visible(False)
    ax.tick_params(length=0, colors=INK)
    legend_below(figure, 4)
    total = sum(part.size for part in strengths)
    caption = (
        "Columns are layers, most important directions of a module at its top; an edge is as thick as it is strong, the root "
        f"mean square of a direction's part in one of the next layer. Drawn are the {drawn:,} of {total:,} edges above "
        f"{number(bound)}; the strongest is {number(top)}."
    )
    if len(known) > 1:
        caption += " Colours are modules, grey edges lead from one to another."
    return Drawing(figure, title, caption)


def _heights(module):
    module = np.asarray(module)
    order = np.argsort(np.where(module < 0, module.max(initial=0) + 1, module), kind="stable")
    gaps = np.concatenate([[0], np.cumsum(np.diff(module[order]) != 0)])
    place = np.arange(len(module)) + gaps * max(1.0, len(module) / 20)
    height = np.empty(len(module))
    height[order] = 1 - place / place[-1] if len(module) > 1 else 0.5
    return height


def _colour(module):
    return _BETWEEN if module < 0 else _COLOURS[module % len(_COLOURS)]


def _tones(first, second):
    pairs = zip(first, second, strict=True)
    return np.reshape([to_rgb(_colour(a) if a == b else _BETWEEN) for a, b in pairs], (-1, 3))
