"""Figures of the study ``trained-fraction``, after Saxe, Sodhani & Lewallen (2022), Fig. 5c."""

import numpy as np
from matplotlib.colors import PowerNorm

from foretrain.figures import Drawing, finished
from foretrain.figures.routes import block_map
from foretrain.figures.style import (
    PALETTE,
    panels,
    seed_band,
    simulation_line,
    theory_line,
    titled_panels,
)
from foretrain.plans.grid import Grid
from foretrain.studies.trained_fraction.study import SMALLER

_TITLES = {
    "circulant": "Circulant band",
    "random_rows": "Random outputs",
    "biregular": "Random biregular",
    "islands": "Two islands",
}
SHOWS = {
    "error-against-fraction": ("trained", "threshold", "generalises-at-40%", "few-outputs"),
    "pairs": ("connectivity", "connectivity-small-init"),
}


def draw(grid: Grid) -> dict[str, Drawing]:
    """Errors against the fraction of trained outputs, connected components, and errors pair by pair."""
    cells, where = grid.first(("mask", "trained_outputs"))
    fractions = np.array(cells.values("trained_outputs")) / cells.parameters.domains
    drawings = {}
    if fractions.size > 1:
        drawings["error-against-fraction"] = _errors(cells, fractions, where)
        drawings["components"] = _components(cells, fractions, where)
    drawings["pairs"] = _pairs(cells, where)
    return drawings


def _scale(cells, smaller=1):
    return rf"$\sigma_0$ = {cells.parameters.init_scale / smaller:g}"


def _errors(cells, x, where):
    masks, runs = cells.values("mask"), cells.simulation
    labels = {"ylabel": "Error at the end", "xlabel": "Trained fraction K/M", "yscale": "log"}
    titles = [_TITLES[mask] for mask in masks]
    figure, axes = titled_panels(titles, 3.9, **labels, xlim=(0, 1), ylim=(1e-9, 300))
    untrained, small = "converged_untrained_error", cells.variants["small-init"]
    curves = (
        (runs["converged_loss"], "trained", "blue"),
        (small[untrained], f"untrained, {_scale(cells, SMALLER)}", "orange"),
        (runs[untrained], f"untrained, {_scale(cells)}", "vermillion"),
    )
    for ax, mask in zip(axes, masks, strict=True):
        for values, text, colour in curves:
            error, style = _rows(values.sel(mask=mask)), {"color": PALETTE[colour]}
            line = simulation_line(**style, label=text, linewidth=2.2)
            ax.plot(x, np.median(error, axis=0), **line)
            ax.plot(x, error.T, ".", **style, alpha=0.5, markersize=4)
        predicted = _rows(cells.theory[untrained].sel(mask=mask)).mean(0)
        ax.plot(x, np.maximum(predicted, 1e-12), **theory_line(label="untrained, graph alone"))
        ax.axvline(0.4, color="#9aa0a6", linewidth=1, zorder=0, label="40%")
    return finished(
        figure,
        "Error against the fraction of trained outputs",
        "Error (1/2 |error|², mean over items and routes) on trained and untrained routes at the end of training. Lines: "
        "median over seeds; points: every seed; dashed: what the graph of trained "
        "pairs says in the limit of small weights, mean over masks (off the axis where it is 0). The thin line marks 40%."
        + where,
    )


def _rows(values) -> np.ndarray:
    return values.transpose("seed", "trained_outputs").values.astype(float)


def _components(cells, x, where):
    figure, ax = panels()
    for colour, mask in zip(PALETTE.values(), cells.values("mask"), strict=False):
        count = _rows(cells.theory["component_count"].sel(mask=mask))
        seed_band(ax, x, count, _TITLES[mask], color=colour)
    ax.axhline(1, color=PALETTE["black"], linewidth=0.8, alpha=0.4)
    ax.set(
        xlabel="Trained fraction K/M", ylabel="Connected components", ylim=(0, None), xlim=(0, 1)
    )
    return finished(
        figure,
        "Connected components of the trained pairs",
        "Components of the bipartite graph whose edges are the trained pairs, mean over seeds. With one component a chain "
        "of trained pairs joins any input to any output." + where,
    )


def _pairs(cells, where):
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
