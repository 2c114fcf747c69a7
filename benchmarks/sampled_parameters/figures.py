"""Figures of ``sampled-parameters``."""

import numpy as np

from foretrain.figures import finished
from foretrain.figures.style import PALETTE, panels
from foretrain.study import drawn

from .claims import WITHIN


def draw_estimates(grid):
    """Sampled over known values with their intervals, and their distances in standard errors, by network."""
    figure, (left, right) = panels(1, 2, height=7.2, width_ratios=(1, 1))
    line = {"color": "#c5c9cd", "linewidth": 1, "zorder": 0}
    cell = next(iter(grid.cells(keep=("network",)))).along("network")
    data = cell.simulation.transpose("network", "seed", ...)
    names = [str(name) for name in data["network"].values]
    sampled, known = data["parameters_sampled"].values, data["parameters_known"].values
    error = np.hypot(data["parameters_error"].values, data["reference_error"].values)
    trusted, trap = data["believed"].values == 1, data["trap"].values == 1
    row = np.broadcast_to(np.arange(len(names))[:, None], sampled.shape)
    looks = {
        "trusted": (trusted & ~trap, PALETTE["blue"], "o"),
        "not trusted": (~trusted & ~trap, PALETTE["orange"], "s"),
        "trap, not trusted": (~trusted & trap, PALETTE["black"], "^"),
        "trap, trusted": (trusted & trap, PALETTE["vermillion"], "x"),
    }
    for label, (where, colour, mark) in looks.items():
        if not where.any():
            continue
        look = {"fmt": mark, "color": colour, "label": label, "markersize": 4}
        ratio = sampled[where] / known[where]
        spread = WITHIN * error[where] / abs(known[where])
        left.errorbar(np.clip(ratio, 0.5, 1.9), row[where], xerr=spread, **look)
        distance = (sampled - known)[where] / error[where]
        right.plot(np.clip(distance, -6, 6), row[where], mark, color=colour, markersize=4)
    left.axvline(1, **line)
    for at in (-WITHIN, 0, WITHIN):
        right.axvline(at, **line)
    left.set(xlabel="Sampled / known, clipped", xlim=(0.5, 2), yticks=range(len(names)))
    left.set_yticklabels(names, fontsize=9.5)
    right.set(xlabel="Gap in standard errors", xlim=(-6.5, 6.5), yticks=[])
    for ax in (left, right):
        ax.set_ylim(len(names) - 0.3, -0.7)
    words = "Left: estimates with their 95% intervals. Right: distance from the known value; lines at 1.96 standard errors."
    return finished(figure, "Sampled numbers of effective parameters", words)


FIGURES = {"estimates": drawn(draw_estimates)}
