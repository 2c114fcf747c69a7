"""What the figures of every study of the masked rank-one model have in common."""

import numpy as np

from foretrain.figures.style import PALETTE, seed_band
from foretrain.vocabulary import CONVERGED


def outcome_scatter(ax, runs, abscissa: str, shown) -> None:
    """Error of untrained pairs of the runs of `shown` against another number of each, on logarithmic axes."""
    done = (runs["outcome"] == CONVERGED) & shown
    points = 0
    for chosen, name, colour, marker in (
        (done, "converged", "green", "o"),
        (~done & shown, "stuck", "vermillion", "x"),
    ):
        x = runs[abscissa].where(chosen).values.ravel()
        y = runs["final_untrained_error"].where(chosen).values.ravel()
        known = np.isfinite(x) & np.isfinite(y)
        points += known.sum()
        look = {"s": 14, "alpha": 0.5, "linewidths": 0 if marker == "o" else 1, "marker": marker}
        y = np.maximum(y[known], 1e-20)
        ax.scatter(x[known], y, color=PALETTE[colour], label=name, **look)
    if points:  # a logarithmic axis of nothing cannot be drawn
        ax.set(xscale="log", yscale="log")


def one_band_label(ax, x, values, label, *, last: bool, **options) -> None:
    """A `seed_band` of several in one panel, of which only the last says in the legend what a band is."""
    _, band = seed_band(ax, x, values.transpose("seed", ...), label, **options)
    if band is not None and not last:
        band.set_label("_nolegend_")
