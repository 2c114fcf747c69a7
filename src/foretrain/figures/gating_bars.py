"""Candidate gatings of one task as bars: predicted learning time, and agreement with trained gates."""

from collections.abc import Callable

import numpy as np
import xarray as xr

from foretrain.figures import finished
from foretrain.figures.style import PALETTE, panels
from foretrain.quantities.panels import drawn


def gatings(marked: str, mark: Callable[[xr.DataArray], xr.DataArray], caption: str):
    """Return the figure of all candidates the fastest on top; green where `mark` is true of the means of `marked`."""

    def draw(grid):
        cell, where = grid.first()
        names = ("gating_time", "gating_final_loss", "gating_consistent", "gating_agreement")
        parts = [data[[n for n in names if n in data]] for data in (cell.theory, cell.fits)]
        table = xr.merge(parts, join="outer", compat="no_conflicts").mean("seed")
        table = table.sortby(list(names[:2])).isel(gating=slice(None, None, -1))
        green = mark(table[marked]).values
        figure, ax = panels(height=1.4 + 0.27 * table.sizes["gating"])
        times = table["gating_time"].values
        longest, look = times[np.isfinite(times)].max(initial=1e-12), {"fontsize": 11}
        for y, time in enumerate(times):
            if np.isfinite(time):
                ax.barh(y, time, color=PALETTE["green"] if green[y] else "#b9c0c7", height=0.7)
            else:
                ax.text(0.01 * longest, y, "never", va="center", **look)
        top = len(times) - 0.3
        if "gating_agreement" in table:
            for y, value in enumerate(table["gating_agreement"].values):
                ax.text(1.1 * longest, y, f"{value:.2f}", va="center", ha="center", **look)
            ax.text(1.1 * longest, top, "agreement", ha="center", **look)
        ax.set_yticks(range(len(times)), table["gating"].values)
        ax.set(xlabel="Predicted half time (step × learning rate)", ylabel="Gating")
        ax.set(xlim=(0, 1.18 * longest), ylim=(-0.6, top + 0.6))
        words = " Agreement: of trained ReLU networks' gates with the gating. Means over seeds."
        return finished(figure, "Candidate gatings", caption + words + where)

    return drawn(draw)
