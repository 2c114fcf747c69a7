"""Networks of pathways as papers draw them: inputs, gated hidden pathways and outputs, joined by their weights."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from foretrain.figures.style import INK

_X = (0.0, 0.5, 1.0)


@dataclass(frozen=True)
class Pathway:
    """One hidden pathway.

    Attributes:
        inputs: Which input nodes have weights to it, by number from the top.
        outputs: To which output nodes it has weights.
        colour: Of the pathway and its weights.
        words: Beside it, such as when its gate is open; "" for none.
    """

    inputs: Sequence[int]
    outputs: Sequence[int]
    colour: Any
    words: str = ""


def draw_scheme(
    ax, inputs: Sequence[str], pathways: Sequence[Pathway], outputs: Sequence[str]
) -> None:
    """Draw nodes in three columns, from the left, with a line for every matrix of weights; the axes' frame goes.

    Args:
        ax: Where.
        inputs: Names of the input nodes, from the top.
        pathways: The hidden pathways, from the top.
        outputs: Names of the output nodes.
    """
    left, middle, right = (_heights(len(column)) for column in (inputs, pathways, outputs))
    for pathway, height in zip(pathways, middle, strict=True):
        for ends, at, x in ((pathway.inputs, left, _X[0]), (pathway.outputs, right, _X[2])):
            for node in ends:
                line = {"color": pathway.colour, "linewidth": 1.6, "alpha": 0.75, "zorder": 1}
                ax.plot((x, _X[1]), (at[node], height), **line)
        look = {
            "color": pathway.colour,
            "markeredgecolor": INK,
            "markeredgewidth": 0.8,
            "zorder": 3,
        }
        ax.plot(_X[1], height, "s", markersize=(15 if len(pathways) < 6 else 7), **look)
        if pathway.words:
            below = height < 0.5
            place = {"textcoords": "offset points", "ha": "center", "fontsize": 10, "zorder": 4}
            place |= {"va": "top" if below else "bottom"}
            place |= {
                "bbox": {"facecolor": "white", "edgecolor": "none", "alpha": 0.85, "pad": 0.6}
            }
            ax.annotate(pathway.words, (_X[1], height), (0, -12 if below else 12), **place)
    for names, heights, x, side in ((inputs, left, _X[0], -1), (outputs, right, _X[2], 1)):
        for name, height in zip(names, heights, strict=True):
            look = {"color": "white", "markeredgecolor": INK, "markeredgewidth": 1.2, "zorder": 3}
            ax.plot(x, height, "o", markersize=12, **look)
            place = {"ha": "right" if side < 0 else "left", "va": "center", "fontsize": 11}
            ax.annotate(name, (x, height), (side * 11, 0), textcoords="offset points", **place)
    ax.set(xlim=(-0.3, 1.3), ylim=(-0.15, 1.15))
    ax.set_axis_off()


def _heights(number: int) -> np.ndarray:
    return np.linspace(1, 0, number) if number > 1 else np.array([0.5])
