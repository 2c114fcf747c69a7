"""Falling curves of every seed, with what theory says of the lowest, the middle and the highest one."""

import numpy as np
import xarray as xr
from matplotlib.axes import Axes

from foretrain.figures.style import PALETTE, simulation_line, theory_line


def draw_seed_curves(
    ax: Axes,
    measured: xr.DataArray,
    predicted: xr.DataArray | None,
    colour: str,
    label: str,
    theory: str = "reduction, start derived",
) -> None:
    """Draw curves with dims ``seed`` and ``step`` against their coordinate ``time``.

    Args:
        ax: Where to draw.
        measured: Curves of the networks.
        predicted: Those of the reduction; the steps may differ. None where they are not known.
        colour: Name in the palette.
        label: Of the measured curves, in the legend.
        theory: Of the predicted ones.
    """
    line = simulation_line(PALETTE[colour], linewidth=1, alpha=0.4, label=label)
    ax.plot(measured["time"], measured.transpose("step", "seed"), **line)
    if predicted is None:
        return
    curves = predicted.transpose("step", "seed").values
    order = np.argsort(curves.sum(0))
    shown = [order[place] for place in sorted({0, len(order) // 2, len(order) - 1})]
    line = theory_line(PALETTE[colour], linewidth=1.2, label=theory)
    ax.plot(predicted["time"], curves[:, shown], **line)


def learned_at(curves: xr.DataArray, left: float = 0.01) -> float:
    """Time at which the last of some falling curves has only this share of its fall to go; 0 if none falls."""
    time, values = curves["time"].values, curves.transpose("seed", "step").values
    least = np.fmin.reduce(values, axis=1, keepdims=True)
    learning = values > least + left * (values[:, :1] - least)
    return float(time[learning.any(0)].max(initial=0))
