"""The picture of a `CurveComparison`."""

from typing import Any

import numpy as np

from foretrain.explain.curve_comparison import CurveComparison
from foretrain.figures import Drawing
from foretrain.figures.style import (
    INK,
    PALETTE,
    legend_below,
    panels,
    style,
    theory_line,
)

_DASHES = ((0, (5, 2)), (0, (1.5, 1.5)), (0, (6, 1.8, 1.2, 1.8)))


def measured_and_expected(comparison: CurveComparison) -> Drawing:
    """Draw the measured runs over the theories."""
    with style():
        figure, ax = panels(height=4.4)
        colours = [colour for name, colour in PALETTE.items() if name != "black"]
        shown = [
            name
            for name in comparison.curves
            if not name.startswith("explained") or name == comparison.nearest
        ]
        for place, name in enumerate(shown):
            losses = comparison.curves[name]
            line = theory_line(colours[place % 6], linestyle=_DASHES[place % 3])
            top = 2 * losses[:, 0].mean()
            curve = np.minimum(losses.mean(0), top)
            ax.plot(np.maximum(comparison.at, 0.5), curve, **line, label=name)
        measured_line(ax, comparison)
        ax.set(xlabel="Step", ylabel="Loss, training", xscale="log", ylim=(0, None))
        legend_below(figure, 2)
    caption = "Measured runs, and means over starts of what was predicted, the training itself, and the nearest theory."
    return Drawing(figure, "Measured and expected", caption)


def measured_line(ax: Any, comparison: CurveComparison) -> None:
    """Draw circles at the mean of measured runs, in the band from the lowest to the highest where there are several."""
    steps, losses = np.maximum(comparison.measured.steps, 0.5), comparison.measured.losses
    losses = np.where(np.isfinite(losses), losses, np.nan)
    several = len(losses) > 1
    label = f"measured: mean and range of {len(losses)} runs" if several else "measured"
    circles = {"color": INK, "markerfacecolor": "white", "markersize": 4, "zorder": 5}
    ax.plot(steps, losses.mean(0), "o", **circles, label=label)
    if several:
        low, high = losses.min(0), losses.max(0)
        ax.fill_between(steps, low, high, color=INK, alpha=0.12, linewidth=0)
