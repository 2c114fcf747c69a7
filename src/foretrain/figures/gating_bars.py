"""Candidate gatings of one task as bars: predicted learning time, and agreement with trained gates."""

from collections.abc import Callable

import numpy as np
import xarray as xr

from foretrain.figures import Drawing, finished
from foretrain.figures.style import PALETTE, panels
from foretrain.plans.grid import Grid


def draw_gatings(cell: Grid, mark: Callable[[xr.Dataset], xr.DataArray], caption: str) -> Drawing:
    """Draw every candidate of a cell, the fastest on top; agreement is at the right where gates were trained.

    Args:
        cell: With ``gating_time``, ``gating_final_loss`` and perhaps ``gating_agreement``: means over seeds are drawn.
        mark: Which bars are green, of these means.
        caption: Of the figure.
    """
    names = ("gating_time", "gating_final_loss", "gating_consistent", "gating_agreement")
    known = {
        name: data[name] for data in (cell.theory, cell.fits) for name in names if name in data
    }
    table = xr.Dataset(known).mean("seed")
    infinite = table["gating_time"].where(np.isfinite(table["gating_time"]), np.inf).values
    order = np.lexsort((table["gating_final_loss"].values, infinite))[::-1]
    table = table.isel(gating=order)
    marked = mark(table).values
    figure, ax = panels(height=1.4 + 0.27 * len(order))
    times = table["gating_time"].values
    longest = times[np.isfinite(times)].max(initial=1e-12)
    for y, time in enumerate(times):
        if np.isfinite(time):
            ax.barh(y, time, color=PALETTE["green"] if marked[y] else "#b9c0c7", height=0.7)
        else:
            ax.text(0.01 * longest, y, "never", va="center", fontsize=11)
    top = len(times) - 0.3
    if "gating_agreement" in table:
        for y, value in enumerate(table["gating_agreement"].values):
            ax.text(1.1 * longest, y, f"{value:.2f}", va="center", ha="center", fontsize=11)
        ax.text(1.1 * longest, top, "agreement", ha="center", fontsize=11)
    ax.set_yticks(range(len(times)), table["gating"].values)
    ax.set(xlabel="Predicted half time (step × learning rate)", ylabel="Gating")
    ax.set(xlim=(0, 1.18 * longest), ylim=(-0.6, top + 0.6))
    return finished(figure, "Candidate gatings", caption)
