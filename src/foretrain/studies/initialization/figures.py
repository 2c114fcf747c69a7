"""Figures of the study ``initialization``, after Saxe, Sodhani & Lewallen (2022), Fig. 6."""

import json

import numpy as np
import xarray as xr

from foretrain.figures import Drawing
from foretrain.figures.style import (
    DIVERGING,
    PALETTE,
    axis_label,
    legend_below,
    panel_letters,
    panels,
    seed_band,
    simulation_line,
    theory_line,
)


def draw(tree: xr.DataTree) -> dict[str, Drawing]:
    """Loss curves with both theories, errors and change of weights against the scale, representations and outputs."""
    config = json.loads(tree.attrs["config"])["parameters"]
    axes = dict(tree.attrs.get("axes", {}))
    simulation, theory = tree["simulation"].to_dataset(), tree["theory"].to_dataset()
    extra = [name for name in axes if name != "init_scale"]
    where = "".join(f" {name} = {simulation[name].values[0]}." for name in extra)
    simulation, theory = (
        data.isel({name: 0 for name in extra if name in data.dims}) for data in (simulation, theory)
    )
    if "init_scale" not in simulation.dims:
        scale = [config["init_scale"]]
        simulation, theory = (
            data.drop_vars("init_scale", errors="ignore").expand_dims(init_scale=scale)
            for data in (simulation, theory)
        )
    simulation, theory = (
        data.sortby("init_scale").transpose("init_scale", "seed", ...)
        for data in (simulation, theory)
    )
    scales = simulation["init_scale"].values
    three = list(dict.fromkeys(scales[[0, len(scales) // 2, -1]]))
    drawings = {"loss": _loss(simulation, theory, three, where)}
    if len(scales) > 1:
        drawings["error-against-scale"] = _errors(simulation, theory, where)
    drawings["representations"] = _representations(simulation, three, where)
    return drawings


def _loss(simulation, theory, three, where):
    figure, axes = panels(1, len(three), height=3.7, squeeze=False)
    for ax, scale in zip(axes[0], three, strict=True):
        run, both = simulation.sel(init_scale=scale), theory.sel(init_scale=scale)
        # Time has a scale of its own in every cell: the step of descent goes with the scale.
        time, loss = run["time"].values, run["loss"].transpose("seed", "step").values
        for curve in loss:
            line = simulation_line(PALETTE["vermillion"], label="network", linewidth=1.6)
            ax.plot(time[: curve.size], curve, **line)
        along = both["time"].values[: both.sizes["step"]]
        for name, text, colour in (
            ("race_loss", "race, closed form", "blue"),
            ("lazy_loss", "linearised at its start", "green"),
        ):
            values = both[name].isel(seed=0).values
            ax.plot(along, values, **theory_line(PALETTE[colour], label=text))
        low = np.nanmax(np.where(loss > 0.01 * loss[:, :1], time[None, : loss.shape[1]], 0))
        ax.set(xlim=(0, 1.3 * low), ylim=(0, 1.1 * np.nanmax(loss)))
        ax.set_title(rf"$\sigma_0$ = {scale:g}", loc="left")
    axes[0, 0].set_ylabel("Training loss")
    axes[0, len(three) // 2].set_xlabel(axis_label(simulation["time"], "Time"))
    panel_letters(axes[0])
    legend_below(figure, 3)
    return Drawing(
        figure,
        "Loss while learning, from small to large weights",
        "Training loss of networks from random weights (every seed drawn), of the race from wide random weights in closed "
        "form, and of the network linearised at its start (first seed). Nothing is fitted." + where,
    )


def _errors(simulation, theory, where):
    figure, axes = panels(1, 2, height=4.2)
    scale = simulation["init_scale"].values
    for name, text, colour in (
        ("converged_loss", "trained", "blue"),
        ("converged_untrained_error", "untrained", "vermillion"),
    ):
        values = simulation[name].transpose("seed", "init_scale")
        seed_band(axes[0], scale, values, text, color=PALETTE[colour], statistic=np.median)
    limit = theory["lazy_limit"].mean("seed").values
    axes[0].plot(
        scale, limit, **theory_line(PALETTE["green"], label="untrained, linearised network")
    )
    largest = simulation["converged_untrained_error"].median("seed").values[0]
    axes[0].plot(
        scale,
        largest * (scale / scale[0]) ** 6,
        ":",
        color=PALETTE["black"],
        linewidth=1.2,
        label=r"$\propto \sigma_0^6$",
    )
    axes[0].set(xscale="log", yscale="log", ylabel="Error at the end", ylim=(None, 300))
    for name, text, colour in (
        ("rich_deviation", "loss against the reduction, fitted", "blue"),
        ("race_deviation", "loss against the race, closed form", "purple"),
        ("lazy_deviation", "loss against the linearised network", "green"),
    ):
        values = theory[name].transpose("seed", "init_scale")
        seed_band(axes[1], scale, values, text, color=PALETTE[colour], statistic=np.median)
    change = simulation["weight_change"].sel(layer="encoders").transpose("seed", "init_scale")
    line = "change of the encoders"
    seed_band(axes[1], scale, change, line, color=PALETTE["orange"], statistic=np.median)
    axes[1].axhline(0.05, color=PALETTE["black"], linewidth=0.8, alpha=0.4)
    axes[1].set(xscale="log", yscale="log", ylabel="Deviation or change")
    for ax in axes:
        ax.set_xlabel(r"Initial scale $\sigma_0$")
        for part in ax.collections:  # described in the caption
            part.set_label("_nolegend_")
    panel_letters(axes)
    legend_below(figure, 2)
    return Drawing(
        figure,
        "Errors and theories against the initial scale",
        "a: error (1/2 |error|², mean over items and routes) on trained and untrained routes at the end of training, the "
        "untrained error that the linearised network ends with, and the sixth power of the scale through the first point. "
        "b: mean deviation of the loss curve from the reduction (its start fitted), and from the race in closed form and the "
        "linearised network (nothing fitted), over the initial loss, the thin line at 5%; and how far the encoders move, "
        "over their initial size. Medians over seeds in 95% bootstrap intervals." + where,
    )


def _representations(simulation, three, where):
    figure, axes = panels(2, len(three), height=6.6, squeeze=False)
    for column, scale in enumerate(three):
        run = simulation.sel(init_scale=scale).isel(seed=0)
        dots = run["similarity"].values
        norm = np.sqrt(np.diagonal(dots))
        image = axes[0, column].imshow(dots / np.outer(norm, norm), cmap=DIVERGING, vmin=-1, vmax=1)
        domains = run.sizes["input_domain"]
        items = len(dots) // domains
        for edge in range(1, domains):
            axes[0, column].axhline(edge * items - 0.5, color="white", linewidth=0.4)
            axes[0, column].axvline(edge * items - 0.5, color="white", linewidth=0.4)
        axes[0, column].set_title(rf"$\sigma_0$ = {scale:g}", loc="left")
        outputs = run["outputs"].transpose("output_domain", "feature", "input_domain", "item")
        values = outputs.values.reshape(outputs.shape[0] * outputs.shape[1], -1)
        shown = axes[1, column].imshow(
            values, cmap=DIVERGING, vmin=-6, vmax=6, aspect="auto", interpolation="nearest"
        )
        centres = (np.arange(domains) + 0.5) * items - 0.5
        for ax in axes[:, column]:
            ax.set_xticks(centres, np.arange(1, domains + 1))
        axes[0, column].set_yticks(centres, np.arange(1, domains + 1))
        features = outputs.shape[1]
        rows = (np.arange(domains) + 0.5) * features - 0.5
        axes[1, column].set_yticks(rows, np.arange(1, domains + 1))
        axes[1, column].set_xlabel("Input domain")
        trained = run["trained_pairs"].transpose("input_domain", "output_domain").values
        for source, output in np.argwhere(trained > 0):
            axes[1, column].plot(
                source * items + np.array([-0.5, items - 0.5, items - 0.5, -0.5, -0.5]),
                output * features + np.array([-0.5, -0.5, features - 0.5, features - 0.5, -0.5]),
                color="black",
                linewidth=0.8,
            )
    axes[0, 0].set_ylabel("Input domain")
    axes[1, 0].set_ylabel("Output domain")
    figure.colorbar(image, ax=axes[0], label="Cosine", shrink=0.8)
    figure.colorbar(shown, ax=axes[1], label="Output", shrink=0.8)
    panel_letters(axes)
    return Drawing(
        figure,
        "Representations and outputs from small to large weights",
        "Above: cosine of first-hidden-layer activity between all items of all input domains at the end of training. Below: "
        "output on every route; framed routes were trained. First seed." + where,
    )
