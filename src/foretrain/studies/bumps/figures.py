"""Figures of the study ``bumps``."""

import json

import numpy as np
import xarray as xr

from foretrain.claims.claim import bootstrap_interval
from foretrain.figures import Drawing
from foretrain.figures.style import (
    INK,
    OPTIMISER_COLOURS,
    OPTIMISER_NAMES,
    PALETTE,
    legend_below,
    panel_letters,
    panels,
    simulation_line,
)
from foretrain.measures.competition import matched_bumps, mean_over_cells
from foretrain.measures.stability import is_stable
from foretrain.studies.bumps.study import AXES
from foretrain.studies.s_curves.figures import with_axes


def draw(tree: xr.DataTree) -> dict[str, Drawing]:
    """Bumps against everything, what competition does, and the loss at full rank."""
    fixed = json.loads(tree.attrs["config"])["parameters"]
    data = with_axes(tree["simulation"].to_dataset(), fixed, AXES)
    drawings = {"bumps": _bumps(data)}
    if "/variants/exchanged" in tree.groups and 2 in data["rank"].values:
        partner = with_axes(tree["variants/exchanged"].to_dataset(), fixed, AXES)
        drawings["competition"] = _competition(data, partner)
    if fixed["dimension"] in data["rank"].values:
        drawings["full-rank"] = _full_rank(data.sel(rank=fixed["dimension"]))
    return drawings


def _point(ax, x, samples, **style):
    samples = samples[np.isfinite(samples)]
    if not samples.size:
        return
    mean = samples.mean()
    low, high = bootstrap_interval(samples) if samples.size > 1 else (mean, mean)
    ax.errorbar(x, mean, [[max(mean - low, 0)], [max(high - mean, 0)]], **style)


def _bumps(data):
    ranks, scales = data["rank"].values, data["init_scale"].values
    figure, axes = panels(1, len(ranks), height=4.2, sharey=True, squeeze=False)
    rates = data["relative_rate"].values
    places = np.log10(rates)
    count = data["component_bumps"].mean("component")
    for ax, rank in zip(axes[0], ranks, strict=True):
        for offset, name in enumerate(data["optimiser"].values):
            for number, scale in enumerate(scales):
                colour = OPTIMISER_COLOURS[str(name)]
                marker = "osD^v"[number % 5]
                for index, place in enumerate(places):
                    cell = count.sel(optimiser=name, rank=rank, init_scale=scale)
                    samples = cell.isel(relative_rate=index).values
                    losses = data["relative_loss"].sel(optimiser=name, rank=rank, init_scale=scale)
                    losses = losses.isel(relative_rate=index).transpose("seed", "step").values
                    if not is_stable(losses):
                        continue
                    style = {
                        "color": colour,
                        "marker": marker,
                        "markersize": 5,
                        "capsize": 2,
                        "linestyle": "none",
                    }
                    _point(ax, place + 0.05 * (offset - 1) + 0.015 * number, samples, **style)
        ax.set_title(f"rank {rank}", loc="left")
        ax.set_xticks(places, [f"{rate:g}" for rate in rates])
    for name in data["optimiser"].values:
        colour = OPTIMISER_COLOURS[str(name)]
        axes[0, 0].plot([], [], color=colour, linewidth=4, label=OPTIMISER_NAMES[str(name)])
    for number, scale in enumerate(scales):
        shape = {"marker": "osD^v"[number % 5], "color": INK, "linestyle": "none"}
        axes[0, 0].plot([], [], **shape, label=f"σ = {scale:g}")
    axes[0, 0].set_ylabel("Bumps per component")
    axes[0, 0].set_ylim(0, None)
    columns = max(len(scales), len(data["optimiser"]))
    axes[0, len(ranks) // 2].set_xlabel("Learning rate over the reference (SGD .05, Adam .01)")
    panel_letters(axes)
    legend_below(figure, columns)
    return Drawing(
        figure,
        "Bumps per component",
        "Alignments of a component with a target that rise and fall by .1 or more and are given up, per component; mean "
        "over seeds with its 95% bootstrap interval. Learning rates outside an optimiser's stable range are left out.",
    )


def _competition(data, partner):
    figure, axes = panels(height=3.6, squeeze=False)
    ax = axes[0, 0]
    names = data["optimiser"].values
    labels = "both first align with one target", "each first aligns with its own"
    for place, name in enumerate(names):
        sides = zip((-0.12, 0.12), ("vermillion", "blue"), labels, strict=True)
        found = _matched(data, partner, name)
        for (shift, colour, label), samples in zip(sides, found, strict=True):
            _point(
                ax,
                place + shift,
                samples,
                color=PALETTE[colour],
                marker="o",
                capsize=4,
                linestyle="none",
                label=label if place == 0 else "_nolegend_",
            )
    ax.set_xticks(np.arange(len(names)), [OPTIMISER_NAMES[str(name)] for name in names])
    ax.set(ylabel="Bumps per run, rank two", ylim=(0, None), xlim=(-0.5, len(names) - 0.5))
    legend_below(figure, 2)
    return Drawing(
        figure,
        "Competition for a target",
        "Pairs of runs that differ in one thing: the second component's starting overlaps with the two targets are "
        "exchanged. Of the pairs in which this decides whether both components first align with the same target, the "
        "bumps of either run; mean over seeds with its 95% bootstrap interval, all stable learning rates and start scales.",
    )


def _matched(data, partner, name):
    """Bumps of the runs that share and of their partners that do not, mean over the stable cells, shape (seed,) each."""
    order = ("init_scale", "relative_rate", "seed", ...)
    pair = [item.sel(optimiser=name, rank=2).transpose(*order) for item in (data, partner)]
    calm = np.array(
        [[is_stable(rate) for rate in scale] for scale in pair[0]["relative_loss"].values]
    )
    counts = [
        item[variable].values[calm]
        for item in pair
        for variable in ("first_target", "component_bumps")
    ]
    return [mean_over_cells(side) for side in matched_bumps(*counts)]


def _full_rank(data):
    rates, scales = data["relative_rate"].values, data["init_scale"].values
    names = [name for name in data["optimiser"].values if str(name) in ("sgd", "adam")]
    figure, axes = panels(len(scales), len(names), squeeze=False, height=2.9 * len(scales))
    colours = [PALETTE[name] for name in ("sky", "blue", "green", "orange", "vermillion", "purple")]
    for row, scale in enumerate(scales):
        for column, name in enumerate(names):
            ax = axes[row, column]
            for rate, colour in zip(rates, colours, strict=False):
                cell = data.sel(optimiser=name, init_scale=scale, relative_rate=rate)
                step = cell["step"].values
                curves = cell["relative_loss"].transpose("seed", "step").values
                time = step[1:] * rate
                for seed, curve in enumerate(curves[:6]):
                    label = f"relative rate {rate:g}" if seed == row == column == 0 else None
                    style = simulation_line(colour, linewidth=1.1, alpha=0.7, label=label)
                    ax.plot(time, curve[1:], **style)
            ax.set(xscale="log", ylim=(0, 1.3))
            ax.set_title(f"{OPTIMISER_NAMES[str(name)]}, σ = {scale:g}", loc="left")
        axes[row, 0].set_ylabel("Loss over |C|²")
    for ax in axes[-1]:
        ax.set_xlabel("Step × relative rate")
    panel_letters(axes)
    legend_below(figure, 3)
    return Drawing(
        figure,
        "Full rank",
        "Loss at full rank over that of the zero matrix, six seeds, for every learning rate. A plateau is a stretch on "
        "which the loss stands still before it falls.",
    )
