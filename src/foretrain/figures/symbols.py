"""Symbols as numbers in the plane, joined by a line: the look of embeddings."""

import numpy as np

from foretrain.figures.style import PALETTE


def draw_symbols(ax, place, order, words=None, frame=None) -> None:
    """Draw symbols at places (symbol, 2), few with words or numbers that do not meet, and a line; axes hold a `frame`."""
    small = min(1, 12 / len(place)) ** 0.5
    ax.plot(*place[order].T, color="#9aa0a6", linewidth=1)
    ax.scatter(*place.T, s=520 if words else 170 * small**2, color=PALETTE["sky"], zorder=3)
    for number, word in enumerate(words or range(len(place)) if small == 1 else ()):
        if (np.hypot(*(place[:number] - place[number]).T) > 0.08 * np.ptp(place)).all():
            ax.text(*place[number], word, ha="center", va="center", fontsize=9.7, zorder=4)
    frame = np.reshape(place if frame is None else frame, (-1, 2))
    middle = (frame.max(0) + frame.min(0)) / 2
    ax.update_datalim(middle + 1.2 * (frame - middle))  # an equal aspect may eat margins
    ax.margins(0)
    ax.set_aspect("equal", "datalim")
