"""What the figures of every study of the masked rank-one model have in common."""

import numpy as np

from foretrain.figures.style import INK, PALETTE
from foretrain.vocabulary import CONVERGED


def outcome_scatter(ax, runs, abscissa, bound: float, label: str) -> None:
    """Error of untrained pairs of all runs on connected masks against another number of each, which is bounded, in logs."""
    shown = runs["connected"] == 1
    done = (runs["outcome"] == CONVERGED) & shown
    points = 0
    for chosen, name, colour, marker in (
        (done, "converged", "green", "o"),
        (~done & shown, "stuck", "vermillion", "x"),
    ):
        x = abscissa.where(chosen).values.ravel()
        y = runs["final_untrained_error"].where(chosen).values.ravel()
        known = np.isfinite(x) & np.isfinite(y)
        points += known.sum()
        look = {"s": 14, "alpha": 0.5, "linewidths": 0 if marker == "o" else 1, "marker": marker}
        y = np.maximum(y[known], 1e-20)
        ax.scatter(x[known], y, color=PALETTE[colour], label=name, **look)
    if points:  # a logarithmic axis of nothing cannot be drawn
        ax.set(xscale="log", yscale="log")
    ax.axvline(bound, color=INK, linewidth=0.8, linestyle=":", label=label)
    ax.set(xlabel=abscissa.name, ylabel="Error of untrained pairs")
