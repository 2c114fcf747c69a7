"""Figures of the study ``mask-spectrum``: outlier and bulk of random masks, and the outlier in training."""

from collections.abc import Callable
from functools import partial

import numpy as np

from foretrain.figures import Drawing, finished
from foretrain.figures.style import PALETTE, panels, simulation_line, theory_line
from foretrain.plans.grid import Grid
from foretrain.study import drawn
from foretrain.training.masked_rank_one_claims import flown


def draw(grid: Grid) -> dict[str, Callable[[], Drawing | None]]:
    """The bulk with its law, both edges against size, and mode amplitudes while the rank-one model trains."""
    part, where = grid.first(("mask_size",))
    drawings = {}
    if "mask_singular_values" in part.simulation:
        drawings = {"bulk": partial(_bulk, part, where)}
        if len(part.values("mask_size")) > 1:
            drawings["sizes"] = partial(_sizes, part, where)
    trained = flown(part).isel(mask_size=-1, missing_dims="ignore")
    if "progress" in trained:
        drawings["training"] = partial(_training, trained, where)
    return drawings


def _bulk(part, where):
    figure, axes = panels(1, 2, height=4.2, width_ratios=(2, 1))
    law, size = part.theory.isel(mask_size=-1), part.values("mask_size")[-1]
    spectrum = part.simulation["mask_singular_values"].isel(mask_size=-1).values
    spectrum = spectrum[np.isfinite(spectrum[:, 0])]
    edge, outlier = float(law["predicted_edge"]), float(law["predicted_outlier"])
    rest = spectrum[:, 1:size].ravel() / edge
    bars = {"density": True, "color": PALETTE["sky"], "alpha": 0.6}
    axes[0].hist(rest, bins=44, range=(0, 1.1), label="all but the largest", **bars)
    line = theory_line(PALETTE["blue"], label="Marchenko-Pastur law")
    axes[0].plot(law["bulk_place"], law["predicted_density"], **line)
    note = {"color": PALETTE["orange"], "linestyle": ":", "linewidth": 2.5}
    axes[0].axvline(float(law["note_edge"]) / edge, label="the note's edge", **note)
    axes[0].set(xlabel=r"Singular value $/\,2\sqrt{n p (1 - p)}$", ylabel="Density", xlim=(0, 1.1))
    bars["color"] = PALETTE["vermillion"]
    axes[1].hist(spectrum[:, 0] - outlier, bins=9, label="largest", **bars)
    axes[1].axvline(0, **theory_line(PALETTE["vermillion"], label="$np + 1 - p$"))
    axes[1].set(xlabel="Largest $- (np + 1 - p)$", ylabel="Density")
    return finished(
        figure,
        "Outlier and bulk of a random mask",
        f"Singular values of {len(spectrum)} random masks of size {size}. Left: all but the largest, in units of the bulk's "
        "edge, with the Marchenko-Pastur density: for singular values of square matrices a quarter circle. The note's edge "
        f"lacks the factor sqrt(n). Right: the largest, near {outlier:.4g}, from its predicted place.{where}",
        3,
    )


def _sizes(part, where):
    figure, ax = panels()
    sizes, values = np.array(part.values("mask_size")), part.simulation["mask_singular_values"]
    for mode, name, colour, law in (
        (0, "largest", "vermillion", ("predicted_outlier", "$np + 1 - p$")),
        (1, "second", "blue", ("predicted_second", "edge with Tracy-Widom correction")),
    ):
        points = values.isel(mode=mode)
        ax.plot(sizes, points, "o", color=PALETTE[colour], alpha=0.5, label=f"{name}, every seed")
        ax.plot(sizes, part.theory[law[0]], **theory_line(PALETTE[colour], label=law[1]))
    ax.plot(sizes, part.theory["note_edge"], ":", color=PALETTE["orange"], label="the note's edge")
    ax.set(xlabel="Size n", ylabel="Singular value", xscale="log", yscale="log")
    ax.set_xticks(sizes, [str(size) for size in sizes], minor=False)
    ax.minorticks_off()
    return finished(
        figure,
        "The gap grows with size",
        "Largest and second singular value of random masks against their size. The first grows as n, the second as "
        f"sqrt(n).{where}",
    )


def _training(trained, where):
    figure, axes = panels(1, 2, height=3.8)
    trained = trained.transpose("seed", "step", "mode", ...)
    amplitude, loss = trained["mode_amplitude"].values, trained["loss"].values
    progress = np.abs(trained["progress"].values[0])
    known = np.isfinite(progress)
    thin = {"color": PALETTE["sky"], "linewidth": 0.7, "alpha": 0.6, "label": "all others"}
    axes[0].plot(progress[known], amplitude[0, known, 1:], **thin)
    line = simulation_line(PALETTE["vermillion"], label="the outlier's mode")
    axes[0].plot(progress[known], amplitude[0, known, 0], **line)
    axes[0].set(xlabel="|S|, integral of s over time", ylabel="Mode amplitude")
    power = amplitude**2
    outside = power[..., 1:].sum(-1) / power.sum(-1)
    thin.update(color=PALETTE["vermillion"], linewidth=1, label="every seed")
    axes[1].plot((1 - loss / loss[:, :1]).T, outside.T, **thin)
    axes[1].set(xlabel="Part of the loss that is gone", ylabel="Share of other modes")
    if np.isfinite(outside).any():  # a logarithmic axis of nothing cannot be drawn
        axes[0].set_yscale("log")
        axes[1].set(xscale="log", yscale="log", xlim=(1e-8, 1.5))
    return finished(
        figure,
        "The outlier's direction in training",
        f"The rank-one model on masks of {trained.sizes['input_domain']} domains. Left: amplitudes of all singular modes in "
        "the first run. Right: share of the squared weights that lies outside the outlier's mode while the loss falls. It "
        "is least when the loss begins to fall; at the end u and v are constant, which is the outlier's direction up to the "
        f"irregularity of the mask.{where}",
    )


FIGURES = {"all": drawn(draw)}
