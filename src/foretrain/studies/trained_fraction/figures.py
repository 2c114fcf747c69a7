"""Figures of the study ``trained-fraction``, after Saxe, Sodhani & Lewallen (2022), Fig. 5c."""

import numpy as np
from matplotlib.colors import PowerNorm

from foretrain.figures import finished
from foretrain.figures.routes import block_map
from foretrain.figures.style import titled_panels
from foretrain.study import drawn, figure, panel

from .study import SMALLER


def _scale(cells, smaller=1):
    return rf"$\sigma_0$ = {cells.parameters.init_scale / smaller:g}"


def draw_pairs(grid):
    """Draw the error of every pair of domains: graph, own scale, small scale."""
    cells, where = grid.first(("mask", "trained_outputs"))
    # The row of the grid where the random start still matters most: the fewest outputs above one.
    chosen = sorted(cells.values("trained_outputs"), key=lambda k: (k < 2, k))[0]
    at = {"mask": cells.values("mask")[-1], "trained_outputs": chosen}
    kinds = [
        (cells.theory, "graph alone"),
        (cells.simulation, _scale(cells)),
        (cells.variants["small-init"], _scale(cells, SMALLER)),
    ]
    titles, labels = [title for _, title in kinds], ("Input domain", "Output domain")
    figure, axes = titled_panels(titles, 3.3, labels[0], xlabel=labels[1])
    trained = _of_first(cells.simulation["trained_pairs"].sel(at))
    errors = [_of_first(data["pair_error"].sel(at)) for data, _ in kinds]
    top = np.nanmax(errors, initial=1e-12)
    for ax, error in zip(axes, errors, strict=True):
        block_map(ax, error, len(error), norm=PowerNorm(0.5, 0, top))
        ax.plot(*np.nonzero(trained.T > 0), "s", color="white", markersize=3)
    figure.colorbar(axes[0].images[0], ax=axes, label="Error of the pair", shrink=0.8)
    return finished(
        figure,
        "Error pair by pair",
        f"Error of every pair of domains at the end, first seed, mask `{at['mask']}` with K = {chosen}; trained pairs carry "
        "a white square. Colours go with the root of the error. Left: what the graph of trained pairs predicts."
        + where,
    )


def _of_first(values) -> np.ndarray:
    return values.isel(seed=0).transpose("input_domain", "output_domain").values


FIGURES = {
    "error-against-fraction": figure(
        "Error against the fraction of trained outputs",
        "Error (1/2 |error|², mean over items and routes) on trained and untrained routes at the end of training, median over "
        f"seeds, from init_scale and from a {SMALLER}th of it. Dashed: what the graph of trained pairs says in the limit of "
        "small weights, mean over masks (off the axis where it is 0).",
        panel(
            {
                "trained": lambda c: c.converged_loss,
                "untrained, small weights": lambda c: c["small-init"].converged_untrained_error,
                "untrained": lambda c: c.converged_untrained_error,
            },
            x="trained_outputs",
            across="mask",
            theory={"untrained": True},
            theory_label="untrained, graph alone",
            statistic="median",
            scale="semilogy",
            ylim=(1e-9, 300),
            label="Error at the end",
        ),
        sharey=True,
    ),
    "components": figure(
        "Connected components of the trained pairs",
        "Components of the bipartite graph whose edges are the trained pairs, mean over seeds. With one component a chain of "
        "trained pairs joins any input to any output.",
        panel(
            lambda c: c.theory.component_count,
            x="trained_outputs",
            by="mask",
            theory=False,
            label="Connected components",
        ),
    ),
    "pairs": drawn(draw_pairs),
}
