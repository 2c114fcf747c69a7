"""Figures of the study ``trained-fraction``, after Saxe, Sodhani & Lewallen (2022), Fig. 5c."""

import json

import numpy as np
import xarray as xr
from matplotlib.colors import PowerNorm

from foretrain.figures import Drawing
from foretrain.figures.style import (
    PALETTE,
    SEQUENTIAL,
    legend_below,
    panel_letters,
    panels,
    seed_band,
    theory_line,
)

_TITLES = {
    "circulant": "Circulant band",
    "random_rows": "Random outputs",
    "biregular": "Random biregular",
}


def draw(tree: xr.DataTree) -> dict[str, Drawing]:
    """Errors against the fraction of trained outputs, connected components, and errors pair by pair."""
    axes = dict(tree.attrs.get("axes", {}))
    config = json.loads(tree.attrs["config"])["parameters"]
    simulation, theory = tree["simulation"].to_dataset(), tree["theory"].to_dataset()
    small = tree["variants/small-init"].to_dataset()
    parts = [_full(data, config) for data in (simulation, small, theory)]
    extra = [name for name in axes if name not in ("mask", "trained_outputs")]
    where = "".join(f" {name} = {parts[0][name].values[0]}." for name in extra)
    parts = [data.isel({name: 0 for name in extra if name in data.dims}) for data in parts]
    drawings = {}
    if parts[0].sizes["trained_outputs"] > 1:
        drawings["error-against-fraction"] = _errors(*parts, config, where)
        drawings["components"] = _components(parts[2], config, where)
    drawings["pairs"] = _pairs(*parts, config, where)
    return drawings


def _full(data, config):
    for name in ("mask", "trained_outputs"):
        if name not in data.dims:
            data = data.drop_vars(name, errors="ignore").expand_dims({name: [config[name]]})
    return data


def _fraction(data, config):
    return data["trained_outputs"].values / config["domains"]


def _errors(simulation, small, theory, config, where):
    masks = simulation["mask"].values
    figure, grid = panels(1, len(masks), sharey=True, height=3.9, squeeze=False)
    for ax, mask in zip(grid[0], masks, strict=True):
        x = _fraction(simulation, config)
        scale = config["init_scale"]
        here = simulation.sel(mask=mask)
        seed_band(
            ax, x, here["converged_loss"], "trained", color=PALETTE["blue"], statistic=np.median
        )
        for data, text, colour in (
            (here, rf"untrained, $\sigma_0$ = {scale:g}", "vermillion"),
            (small.sel(mask=mask), rf"untrained, $\sigma_0$ = {scale / 8:g}", "orange"),
        ):
            error = data["converged_untrained_error"].transpose("seed", "trained_outputs")
            seed_band(ax, x, error, text, color=PALETTE[colour], statistic=np.median)
            if colour == "vermillion":
                points = np.broadcast_to(x, error.shape)
                ax.plot(points, error.values, ".", color=PALETTE[colour], alpha=0.5, markersize=4)
        predicted = theory.sel(mask=mask)["converged_untrained_error"].mean("seed").values
        ax.plot(x, np.maximum(predicted, 1e-12), **theory_line(label="untrained, graph alone"))
        ax.axvline(0.4, color=PALETTE["black"], linewidth=0.8, alpha=0.4)
        ax.set_title(_TITLES.get(mask, mask), loc="left")
        ax.set(xlabel="K/M", xlim=(0, 1), ylim=(1e-9, 300), yscale="log")
    grid[0, 0].set_ylabel("Error at the end")
    panel_letters(grid[0])
    for ax in grid[0]:  # what the bands are stands in the caption: they differ in their seeds
        for part in ax.collections:
            part.set_label("_nolegend_")
    legend_below(figure, 2)
    return Drawing(
        figure,
        "Error against the fraction of trained outputs",
        "Error (1/2 |error|², mean over items and routes) on trained and untrained routes at the end of training. Lines: "
        "median over seeds, in 95% bootstrap intervals; points: every seed at the study's own scale; dashed: what the "
        "graph of trained pairs says in the limit of small weights, mean over masks (off the axis where it is 0). The "
        "thin line marks 40%." + where,
    )


def _components(theory, config, where):
    figure, ax = panels()
    x = _fraction(theory, config)
    colours = list(PALETTE.values())
    for number, mask in enumerate(theory["mask"].values):
        count = theory["component_count"].sel(mask=mask).transpose("seed", "trained_outputs")
        seed_band(ax, x, count.astype(float), _TITLES.get(mask, mask), color=colours[number])
    ax.axhline(1, color=PALETTE["black"], linewidth=0.8, alpha=0.4)
    ax.set(xlabel="K/M", ylabel="Connected components", ylim=(0, None), xlim=(0, 1))
    ax.legend()
    return Drawing(
        figure,
        "Connected components of the trained pairs",
        "Components of the bipartite graph whose edges are the trained pairs, mean over seeds. With one component a chain "
        "of trained pairs joins any input to any output." + where,
    )


def _pairs(simulation, small, theory, config, where):
    # The row of the grid where the random start still matters most: the fewest outputs above one.
    values = simulation["trained_outputs"].values
    chosen = int(sorted(values, key=lambda k: (k < 2, k))[0])
    mask = simulation["mask"].values[-1]
    at = {"mask": mask, "trained_outputs": chosen}
    kinds = [
        (theory, "graph alone"),
        (simulation, rf"$\sigma_0$ = {config['init_scale']:g}"),
        (small, rf"$\sigma_0$ = {config['init_scale'] / 8:g}"),
    ]
    figure, axes = panels(1, 3, sharey=True, height=3.3)
    trained = simulation["trained_pairs"].sel(at).isel(seed=0)
    trained = trained.transpose("input_domain", "output_domain").values
    top = max(float(np.nanmax(data["pair_error"].sel(at).isel(seed=0).values)) for data, _ in kinds)
    for ax, (data, title) in zip(axes, kinds, strict=True):
        error = data["pair_error"].sel(at).isel(seed=0)
        error = error.transpose("input_domain", "output_domain").values
        image = ax.imshow(error, cmap=SEQUENTIAL, norm=PowerNorm(0.5, 0, max(top, 1e-12)))
        rows, columns = np.nonzero(trained)
        ax.plot(columns, rows, "s", color="white", markersize=3)
        ax.set_title(title, loc="left")
        ticks = np.arange(0, len(error), max(1, len(error) // 5))
        ax.set_xticks(ticks, ticks + 1)
        ax.set_yticks(ticks, ticks + 1)
        ax.set_xlabel("Output domain")
    axes[0].set_ylabel("Input domain")
    panel_letters(axes)
    figure.colorbar(image, ax=axes, label="Error of the pair", shrink=0.8)
    return Drawing(
        figure,
        "Error pair by pair",
        f"Error of every pair of domains at the end, first seed, mask `{mask}` with K = {chosen}; trained pairs carry a "
        "white square. Colours go with the root of the error. Left: what the graph of trained pairs predicts."
        + where,
    )
