"""Figures of the study ``masked-rank-one``: escape from small weights, in closed form and simulated."""

import json

import numpy as np
import xarray as xr

from foretrain.figures import Drawing
from foretrain.figures.style import (
    INK,
    PALETTE,
    legend_below,
    panel_letters,
    panels,
    seed_band,
    simulation_line,
    theory_line,
)

CONVERGED = 1  # as in `foretrain.dynamics.program`, whose names stand in the attrs of `outcome`
_STAGE_COLOURS = {0: "sky", 1: "blue", 2: "vermillion"}
_SHOWN_SCALE = 1e-4


def draw(tree: xr.DataTree) -> dict[str, Drawing]:
    """One escape, escape times, alignment, and how runs end, along the initial scales."""
    simulation, theory, where = along(tree, "init_scale")
    drawings = {"escape": _escape(simulation, theory, where)}
    if simulation.sizes["init_scale"] > 1:
        drawings["escape-time"] = _escape_time(simulation, theory, where)
        drawings["alignment"] = _alignment(simulation, theory, where)
    drawings["outcomes"] = _outcomes(simulation, where)
    return drawings


def along(tree: xr.DataTree, name: str, *kept: str) -> tuple[xr.Dataset, xr.Dataset, str]:
    """Simulation and theory along one axis (and those of `kept`), others at their first value, and a sentence of these."""
    axes = [axis for axis in tree.attrs.get("axes", {}) if axis in tree["simulation"].dims]
    others = {axis: 0 for axis in axes if axis not in (name, *kept)}
    values = tree["simulation"]
    where = "".join(f" {axis} = {values[axis].values[0]:g}." for axis in others)
    parts = []
    for group in ("simulation", "theory"):
        data = tree[group].to_dataset()
        data = data.isel({axis: 0 for axis in others if axis in data.dims})
        for axis in (name, *kept):
            if axis in data.dims:
                data = data.sortby(axis)
            else:
                value = json.loads(tree.attrs["config"])["parameters"][axis]
                data = data.expand_dims({axis: [value]})
        parts.append(data)
    return parts[0], parts[1], where


def _escape(simulation, theory, where):
    scales = simulation["init_scale"].values
    place = int(np.abs(np.log(scales / _SHOWN_SCALE)).argmin())
    run, predicted = simulation.isel(init_scale=place), theory.isel(init_scale=place)
    followed = np.flatnonzero(np.isfinite(predicted["early_scale"]).any("step").values)
    turns = predicted["turns"].values.astype(bool)
    straight = [seed for seed in followed if not turns[seed]][:1]
    turning = [seed for seed in followed if turns[seed]][:1]
    figure, axes = panels(1, 2, height=3.8)
    sigma = scales[place]
    for seeds, colour, name in (
        (straight, "blue", "s keeps its sign"),
        (turning, "vermillion", "s turns"),
    ):
        for seed in seeds:
            _scale_curve(axes[0], run, predicted, seed, sigma, PALETTE[colour], name)
    seed = (straight or turning or [0])[0]
    _mode_curves(axes[1], run, predicted, seed, sigma)
    axes[0].axhline(0, color=INK, linewidth=0.6)
    axes[0].set(xlabel="Time × init_scale", ylabel="Shared scale s / init_scale", yscale="symlog")
    axes[1].set(
        xlabel="|S|, integral of s over time", ylabel="Mode amplitude / init_scale", yscale="log"
    )
    panel_letters(axes)
    legend_below(figure, 3)
    return Drawing(
        figure,
        "Escape from small weights",
        f"Left: the shared scale s of two starts at init_scale = {sigma:g}, one of which changes sign on its way. Right: "
        "amplitudes of the first four singular modes of the mask against the integral S of s. Solid: the simulated flow; "
        "dashed: the linearised flow in closed form, drawn until half of the loss is gone." + where,
    )


def _scale_curve(ax, run, predicted, seed, sigma, colour, name):
    time = run["solver_time"].isel(seed=seed).values * sigma
    shown = predicted["early_scale"].isel(seed=seed).values / sigma
    until = np.isfinite(shown)
    until[: until.size] |= np.concatenate([[False], until[:-1]])
    scale = run["shared_scale"].isel(seed=seed).values / sigma
    ax.plot(time[until], scale[until], **simulation_line(colour, label=name))
    ax.plot(time, shown, **theory_line(colour))


def _mode_curves(ax, run, predicted, seed, sigma):
    progress = np.abs(run["progress"].isel(seed=seed).values)
    shown = predicted["early_mode_amplitude"].isel(seed=seed).values / sigma
    until = np.isfinite(shown[:, 0])
    until |= np.concatenate([[False], until[:-1]])
    values = run["mode_amplitude"].isel(seed=seed).values / sigma
    for mode, colour in zip(
        range(values.shape[1]), ("black", "green", "purple", "orange"), strict=False
    ):
        name = f"mode {mode + 1}"
        ax.plot(
            progress[until], values[until, mode], **simulation_line(PALETTE[colour], label=name)
        )
        label = "linearised flow" if mode == 0 else None
        ax.plot(progress, shown[:, mode], **theory_line(PALETTE[colour], label=label))


def _escape_time(simulation, theory, where):
    figure, ax = panels(height=4.4)
    sigma = simulation["init_scale"].values
    times = simulation["stage_time"].isel(stage=-1).transpose("seed", "init_scale")
    seed_band(
        ax,
        sigma,
        times,
        "simulated, until half of the loss is gone",
        color=PALETTE["blue"],
        statistic=np.median,
    )
    predicted = theory["blow_up_time"].median("seed").values
    ax.plot(
        sigma,
        predicted,
        **theory_line(PALETTE["blue"], label="c / sigma, linearised flow (median)"),
    )
    small = sigma < 0.2
    logs = np.log(1 / sigma[small])
    anchor = predicted[small][-1] / logs[-1]
    ax.plot(
        sigma[small],
        anchor * logs,
        ":",
        color=PALETTE["vermillion"],
        label="log(1/sigma), as in the note",
    )
    ax.set(xlabel="init_scale sigma", ylabel="Escape time", xscale="log", yscale="log")
    legend_below(figure, 1)
    return Drawing(
        figure,
        "Escape takes a time of order 1/sigma",
        "Time at which half of the loss of zero weights is gone, median over seeds, against the time after which the "
        "linearised flow is infinite. The note's logarithm, dotted, is drawn through the first point below 0.2."
        + where,
    )


def _alignment(simulation, theory, where):
    figure, ax = panels(height=4.4)
    sigma = simulation["init_scale"].values
    exponent = float(theory["alignment_exponent"].median())
    for stage, level in enumerate(simulation["stage"].values):
        values = simulation["stage_misalignment"].isel(stage=stage).transpose("seed", "init_scale")
        colour = PALETTE[_STAGE_COLOURS[stage % 3]]
        name = f"{100 * level:g}% of the loss gone"
        _, band = seed_band(ax, sigma, values, name, color=colour, statistic=np.median)
        if band is not None and stage:
            band.set_label("_nolegend_")
    first = simulation["stage_misalignment"].isel(stage=0).median("seed").values
    middle = len(sigma) // 2
    law = first[middle] * (sigma / sigma[middle]) ** exponent
    name = f"sigma^(1 - s_2/s_1), exponent {exponent:.2f} (median mask)"
    ax.plot(sigma, law, **theory_line(label=name))
    ax.set(
        xlabel="init_scale sigma",
        ylabel="Misalignment",
        xscale="log",
        yscale="log",
        ylim=(None, 1.5),
    )
    legend_below(figure, 1)
    return Drawing(
        figure,
        "Alignment is a power of the initial scale",
        "Relative distance of u v^T from the best rank-one fit of the mask, median over seeds, at three stages of the "
        "escape. The law is drawn through the middle point of the earliest stage. Later stages end on a floor: there the "
        "flow is no longer linear, and on a mask that is not regular it leaves the first singular vectors."
        + where,
    )


def _outcomes(simulation, where):
    figure, axes = panels(1, 2, height=3.8)
    sigma = simulation["init_scale"].values
    connected = simulation["connected"].astype(bool)
    done = (simulation["outcome"] == CONVERGED).where(connected)
    agrees = simulation["stage_agrees"].isel(stage=1).astype(bool).where(connected)
    for values, name, colour in (
        (done, "training succeeds", "blue"),
        (agrees, "all signs agree when 1% of the loss is gone", "orange"),
    ):
        seed_band(
            axes[0], sigma, values.transpose("seed", "init_scale"), name, color=PALETTE[colour]
        )
    axes[0].set(
        xlabel="init_scale sigma", ylabel="Fraction of seeds", xscale="log", ylim=(-0.03, 1.03)
    )
    scatter(axes[1], simulation, "final_loss", connected)
    axes[1].axvline(0.5, color=INK, linewidth=0.8, linestyle=":", label="loss 1/2")
    axes[1].set(xlabel="Training loss at the end", ylabel="Error of untrained pairs")
    panel_letters(axes)
    legend_below(figure, 2)
    return Drawing(
        figure,
        "Every failure is stuck training",
        "Left: fraction of runs on connected masks that reach zero training loss, and of runs whose products s u_i v_j are "
        "all positive early on, which is sufficient. Right: every run on a connected mask. None has zero training loss and "
        "a large error on untrained pairs, and none ends with a loss between the tolerance and one half."
        + where,
    )


def scatter(ax, simulation, abscissa: str, shown) -> None:
    """Untrained error of the runs of `shown` against another final value, on logarithmic axes."""
    done = (simulation["outcome"] == CONVERGED) & shown
    points = 0
    for chosen, name, colour, marker in (
        (done, "converged", "green", "o"),
        (~done & shown, "stuck", "vermillion", "x"),
    ):
        x = simulation[abscissa].where(chosen).values.ravel()
        y = simulation["final_untrained_error"].where(chosen).values.ravel()
        known = np.isfinite(x) & np.isfinite(y)
        points += known.sum()
        fill = {"s": 14, "alpha": 0.5, "linewidths": 0 if marker == "o" else 1}
        ax.scatter(
            x[known],
            np.maximum(y[known], 1e-20),
            marker=marker,
            color=PALETTE[colour],
            label=name,
            **fill,
        )
    if points:  # a logarithmic axis of nothing cannot be drawn
        ax.set(xscale="log", yscale="log")
