"""Figures of the study ``trained-fraction``, after Saxe, Sodhani & Lewallen (2022), Fig. 5c."""

import numpy as np
from matplotlib.colors import PowerNorm

from foretrain.figures import finished
from foretrain.figures.routes import block_maps
from foretrain.figures.style import panels
from foretrain.study import drawn, figure, panel

from .study import SMALLER


def draw_pairs(grid):
    cells, where = grid.first(("mask", "trained_outputs"))
    # The row of the grid where the random start still matters most: the fewest outputs above one.
    chosen = sorted(cells.values("trained_outputs"), key=lambda k: (k < 2, k))[0]
    at = {"mask": cells.values("mask")[-1], "trained_outputs": chosen, "seed": 0}
    scale, order = cells.parameters.init_scale, ("input_domain", "output_domain")
    kinds = {
        "graph alone": cells.theory,
        rf"$\sigma_0$ = {scale:g}": cells.simulation,
        rf"$\sigma_0$ = {scale / SMALLER:g}": cells.variants["small-init"],
    }
    errors = {name: of["pair_error"].sel(at).transpose(*order).values for name, of in kinds.items()}
    trained = cells.simulation["trained_pairs"].sel(at).transpose(*order).values
    drawing, axes = panels(1, 3, height=3.3, sharey=True)
    norm = PowerNorm(0.5, 0, np.nanmax(list(errors.values()), initial=1e-12))
    words = "Error of the pair", "Output domain", "Input domain"
    block_maps(axes, errors, len(trained), words, norm=norm)
    for ax in axes:
        ax.plot(*np.nonzero(trained.T > 0), "s", color="white", markersize=3)
    return finished(
        drawing,
        "Error pair by pair",
        f"Error of every pair of domains at the end, first seed, mask `{at['mask']}` with K = {chosen}; trained pairs carry "
        "a small square. Colours go with the root of the error. Left: what the graph of trained pairs predicts."
        + where,
    )


FIGURES = {
    "error-against-fraction": figure(
        "Error against the fraction of trained outputs",
        "Error (1/2 |error|², mean over items and routes) at the end of training, median over seeds, from init_scale and from "
        "an eighth of it. Dashed: the limit of small weights (off the axis where it is 0).",
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
