"""Networks of pathways as papers draw them: inputs, gated hidden pathways and outputs, joined by their weights."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from foretrain.figures.style import INK


@dataclass(frozen=True)
class Pathway:
    """One hidden pathway."""

    inputs: Sequence[int]  # which input nodes have weights to it, by number from the top
    outputs: Sequence[int]  # to which output nodes it has weights
    colour: Any  # of the pathway and its weights
    words: str = ""  # beside it, such as when its gate is open; "" for none


def draw_scheme(
    ax, inputs: Sequence[str], pathways: Sequence[Pathway], outputs: Sequence[str]
) -> None:
    """Draw nodes in three columns, each from the top, with a line for every matrix of weights; the axes' frame goes."""
    sizes = map(len, (inputs, pathways, outputs))
    left, middle, right = (np.linspace(1, 0, n) if n > 1 else np.array([0.5]) for n in sizes)
    size = 15 if len(pathways) < 6 else 7
    for pathway, height in zip(pathways, middle, strict=True):
        colour = pathway.colour
        for ends, at, x in ((pathway.inputs, left, 0), (pathway.outputs, right, 1)):
            for node in ends:
                ax.plot((x, 0.5), (at[node], height), color=colour, linewidth=1.6, alpha=0.75)
        ax.plot(0.5, height, "s", color=colour, markersize=size, markeredgecolor=INK, zorder=3)
        below = height < 0.5
        place = {"ha": "center", "va": "top" if below else "bottom", "fontsize": 10, "zorder": 4}
        white = {"facecolor": "white", "edgecolor": "none", "alpha": 0.85, "pad": 0.6}
        if pathway.words:
            at = (0.5, height), (0, -12 if below else 12)
            ax.annotate(pathway.words, *at, textcoords="offset points", bbox=white, **place)
    for names, heights, x, side in ((inputs, left, 0, "right"), (outputs, right, 1, "left")):
        for name, height in zip(names, heights, strict=True):
            ax.plot(x, height, "o", color="white", markeredgecolor=INK, markersize=12, zorder=3)
            place = {"ha": side, "va": "center", "fontsize": 11, "textcoords": "offset points"}
            ax.annotate(name, (x, height), (-11 if x == 0 else 11, 0), **place)
    ax.set(xlim=(-0.3, 1.3), ylim=(-0.15, 1.15))
    ax.set_axis_off()
