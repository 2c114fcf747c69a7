"""Candidate gatings of one task as bars: predicted learning time, and agreement with trained gates."""

import numpy as np
import xarray as xr

from foretrain.figures.style import PALETTE, panels
from foretrain.plans.grid import Grid


def gating_table(cell: Grid) -> xr.Dataset:
    """What is known of every candidate gating, mean over seeds; agreement only where gates were trained."""
    names = ("gating_time", "gating_final_loss", "gating_consistent")
    found = {name: cell.theory[name] for name in names if name in cell.theory}
    found |= {name: cell.fits[name] for name in ("gating_agreement",) if name in cell.fits}
    return xr.Dataset(found).mean("seed")


def draw_gating_bars(table: xr.Dataset, marked: np.ndarray):
    """Draw every candidate, the fastest on top; agreement is written at the right where it is known.

    Args:
        table: ``gating_time``, ``gating_final_loss`` and perhaps ``gating_agreement`` along ``gating``, one number each.
        marked: Which bars are green, bool of shape (gating,).

    Returns:
        The figure.
    """
    infinite = table["gating_time"].where(np.isfinite(table["gating_time"]), np.inf).values
    order = np.lexsort((table["gating_final_loss"].values, infinite))[::-1]
    table, marked = table.isel(gating=order), np.asarray(marked)[order]
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
    ax.set(xlabel="Predicted time to half the loss (step × learning rate)")
    ax.set(xlim=(0, 1.18 * longest), ylim=(-0.6, top + 0.6))
    return figure
