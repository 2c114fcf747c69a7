"""Figures of the study ``mask-spectrum``: outlier and bulk of random masks, and the outlier in training."""

import numpy as np
import xarray as xr

from foretrain.figures import Drawing
from foretrain.figures.style import (
    PALETTE,
    legend_below,
    panel_letters,
    panels,
    simulation_line,
    theory_line,
)
from foretrain.studies.masked_rank_one.figures import along


def draw(tree: xr.DataTree) -> dict[str, Drawing]:
    """The bulk with its law, both edges against size, and mode amplitudes while the rank-one model trains."""
    drawings = {}
    if "mask_singular_values" in tree["simulation"]:
        simulation, theory, where = along(tree, "mask_size")
        drawings["bulk"] = _bulk(simulation, theory, where)
        drawings["sizes"] = _sizes(simulation, theory, where)
        trained = tree["variants/trained"].to_dataset()
    else:
        trained, where = tree["simulation"].to_dataset(), ""
    axes = [name for name in trained.dims if name in tree.attrs.get("axes", {})]
    last = {name: -1 if name == "mask_size" else 0 for name in axes}
    drawings["training"] = _training(trained.isel(last), where)
    return drawings


def _bulk(simulation, theory, where):
    figure, axes = panels(1, 2, height=4.2, width_ratios=(2, 1))
    size = int(simulation["mask_size"].values[-1])
    data, law = simulation.isel(mask_size=-1), theory.isel(mask_size=-1)
    spectrum = data["mask_singular_values"].transpose("seed", "mode").values
    edge, outlier = float(law["predicted_edge"]), float(law["predicted_outlier"])
    rest = spectrum[:, 1:]
    rest = rest[np.isfinite(rest)] / edge
    bars = {"density": True, "color": PALETTE["sky"], "alpha": 0.6}
    axes[0].hist(rest, bins=44, range=(0, 1.1), label="all but the largest", **bars)
    axes[0].plot(
        law["bulk_place"],
        law["predicted_density"],
        **theory_line(PALETTE["blue"], label="Marchenko-Pastur law"),
    )
    note = {"color": PALETTE["orange"], "linestyle": ":", "linewidth": 2.5}
    axes[0].axvline(float(law["note_edge"]) / edge, label="the note's edge", **note)
    axes[0].set(xlabel="Singular value / 2 sqrt(n p (1 - p))", ylabel="Density", xlim=(0, 1.1))
    bars["color"] = PALETTE["vermillion"]
    axes[1].hist(spectrum[:, 0] - outlier, bins=9, label="largest", **bars)
    axes[1].axvline(0, **theory_line(PALETTE["vermillion"], label="np + 1 - p"))
    axes[1].set(xlabel="Largest - (np + 1 - p)", ylabel="Density")
    panel_letters(axes)
    legend_below(figure, 3)
    return Drawing(
        figure,
        "Outlier and bulk of a random mask",
        f"Singular values of {len(spectrum)} random masks of size {size}. Left: all but the largest, in units of the bulk's "
        "edge, with the Marchenko-Pastur density: for singular values of square matrices a quarter circle. The note's edge "
        f"lacks the factor sqrt(n). Right: the largest, near {outlier:.4g}, from its predicted place."
        + where,
    )


def _sizes(simulation, theory, where):
    figure, ax = panels()
    sizes = simulation["mask_size"].values
    values = simulation["mask_singular_values"].transpose("mask_size", "seed", "mode").values
    for mode, name, colour in ((0, "largest", "vermillion"), (1, "second", "blue")):
        for row, size in enumerate(sizes):
            label = f"{name}, every seed" if row == 0 else None
            points = values[row, :, mode]
            ax.plot(
                np.full(points.size, size),
                points,
                "o",
                color=PALETTE[colour],
                alpha=0.5,
                label=label,
            )
    for variable, name, colour in (
        ("predicted_outlier", "np + 1 - p", "vermillion"),
        ("predicted_second", "edge with Tracy-Widom correction", "blue"),
    ):
        ax.plot(sizes, theory[variable].values, **theory_line(PALETTE[colour], label=name))
    ax.plot(
        sizes,
        theory["note_edge"].values,
        ":",
        color=PALETTE["orange"],
        linewidth=2,
        label="the note's edge",
    )
    ax.set(xlabel="Size n", ylabel="Singular value", xscale="log", yscale="log")
    ax.set_xticks(sizes, [str(size) for size in sizes], minor=False)
    ax.minorticks_off()
    legend_below(figure, 2)
    return Drawing(
        figure,
        "The gap grows with size",
        "Largest and second singular value of random masks against their size. The first grows as n, the second as "
        "sqrt(n)." + where,
    )


def _training(trained, where):
    figure, axes = panels(1, 2, height=3.8)
    progress = np.abs(trained["progress"].transpose("seed", "step").values)
    amplitude = trained["mode_amplitude"].transpose("seed", "step", "mode").values
    known = np.isfinite(progress[0])
    others = amplitude[0][known, 1:]
    for mode in range(others.shape[1]):
        label = "all others" if mode == 0 else None
        axes[0].plot(
            progress[0][known],
            others[:, mode],
            color=PALETTE["sky"],
            linewidth=0.7,
            alpha=0.6,
            label=label,
        )
    axes[0].plot(
        progress[0][known],
        amplitude[0][known, 0],
        **simulation_line(PALETTE["vermillion"], label="the outlier's mode"),
    )
    axes[0].set(xlabel="|S|, integral of s over time", ylabel="Mode amplitude", yscale="log")
    power = amplitude**2
    outside = power[..., 1:].sum(-1) / power.sum(-1)
    loss = trained["loss"].transpose("seed", "step").values
    for seed in range(len(outside)):
        gone = 1 - loss[seed] / loss[seed, 0]
        label = "every seed" if seed == 0 else None
        colour = PALETTE["vermillion"]
        axes[1].plot(gone, outside[seed], color=colour, linewidth=1, alpha=0.5, label=label)
    axes[1].set(
        xlabel="Part of the loss that is gone",
        ylabel="Share of other modes",
        xscale="log",
        yscale="log",
        xlim=(1e-8, 1.5),
    )
    panel_letters(axes)
    legend_below(figure, 2)
    return Drawing(
        figure,
        "The outlier's direction in training",
        f"The rank-one model on masks of {trained.sizes['input_domain']} domains. Left: amplitudes of all singular modes in "
        "the first run. Right: share of the squared weights that lies outside the outlier's mode while the loss falls. It "
        "is least when the loss begins to fall; at the end u and v are constant, which is the outlier's direction up to the "
        "irregularity of the mask." + where,
    )
