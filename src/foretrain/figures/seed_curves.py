"""Curves of every seed, with what theory says of the lowest, the middle and the highest one."""

import numpy as np
from matplotlib.axes import Axes

from foretrain.figures.style import PALETTE, simulation_line, theory_line


def draw_seed_curves(
    ax: Axes,
    measured: tuple[np.ndarray, np.ndarray],
    predicted: tuple[np.ndarray, np.ndarray],
    colour: str,
    labels: tuple[str, str],
) -> None:
    """Draw falling curves.

    Args:
        ax: Where to draw.
        measured: Time, shape (step,), and curves, shape (seed, step).
        predicted: Likewise; the numbers of steps may differ.
        colour: Name in the palette.
        labels: Of the measured and of the predicted curves, in the legend.
    """
    time, curves = measured
    for number, curve in enumerate(curves):
        style = {"linewidth": 1, "alpha": 0.4, "label": labels[0] if number == 0 else None}
        ax.plot(time, curve, **simulation_line(PALETTE[colour], **style))
    time, curves = predicted
    order = np.argsort(curves.sum(1))
    for place in sorted({0, len(order) // 2, len(order) - 1}):
        style = {"linewidth": 1.2, "label": None if place else labels[1]}
        ax.plot(time, curves[order[place]], **theory_line(PALETTE[colour], **style))
