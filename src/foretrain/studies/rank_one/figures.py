"""Figures of the study ``rank-one``."""

import numpy as np
import xarray as xr

from foretrain.figures import Drawing
from foretrain.figures.style import (
    PALETTE,
    axis_label,
    legend_below,
    panel_letters,
    panels,
    simulation_line,
    theory_line,
)

_COLOURS = [PALETTE[name] for name in ("blue", "vermillion", "green", "purple")]
_MOST = 10  # seeds drawn; more would hide each other


def draw(tree: xr.DataTree) -> dict[str, Drawing]:
    """Loss, alignment and the gradient's two terms of the first cell; plateaus against n over the grid."""
    simulation, theory = tree["simulation"].to_dataset(), tree["theory"].to_dataset()
    drawings = {"learning": _learning(simulation, theory)}
    if "weight_decay" in simulation.dims:
        drawings["weight-decay"] = _weight_decay(simulation, theory)
    if "dimension" in simulation.dims:
        drawings["plateaus"] = _plateaus(simulation, theory)
    return drawings


def _first(data, keep=("seed", "step")):
    return data.isel({name: 0 for name in data.dims if name not in keep})


def _where(data, keep=("seed", "step")):
    names = [str(name) for name in data["loss"].dims if name not in keep]
    return "".join(f" {name} = {data[name].values[0]:g}." for name in names)


def _learning(simulation, theory):
    figure, axes = panels(1, 3, height=3.9)
    cell, predicted = _first(simulation), _first(theory)
    time = cell["time"].values
    seeds = min(cell.sizes["seed"], _MOST)
    curves = (
        (axes[0], "loss", "blue", "loss"),
        (axes[1], "alignment", "green", "alignment"),
        (axes[2], "signal", "orange", "signal"),
        (axes[2], "decay", "purple", "decay"),
    )
    for ax, name, colour, label in curves:
        for seed in range(seeds):
            shown = {"label": label} if seed == 0 else {}
            style = simulation_line(PALETTE[colour], linewidth=2, alpha=0.35, **shown)
            ax.plot(time, cell[name].isel(seed=seed).values, **style)
            shown = {"label": "four numbers"} if seed == 0 and ax is axes[0] else {}
            style = theory_line(PALETTE[colour], linewidth=0.9, **shown)
            ax.plot(predicted["time"].values, predicted[name].isel(seed=seed).values, **style)
    axes[0].set(ylabel="Loss |C - Z|²", ylim=(0, None))
    axes[1].set(ylabel="Alignment", ylim=(-0.1, 1.05))
    axes[2].set(ylabel="Length in -gradient", ylim=(0, None))
    for ax in axes:
        ax.set_xlim(0, _end(cell))
    panel_letters(axes)
    axes[1].set_xlabel(axis_label(cell["time"], "Time"))
    legend_below(figure, 5)
    return Drawing(
        figure,
        "Rank one, learned as predicted",
        f"Loss, alignment with the target, and the two terms of the gradient for x, {seeds} seeds: trained networks of "
        "2n parameters (pale) and the reduction to four numbers from the same start (dashed)."
        + _where(simulation),
    )


def _end(cell):
    """Time at which the last seed has learned all but a percent, and a little."""
    loss = cell["loss"].transpose("seed", "step").values
    late = np.nanmax(np.where(loss > loss[:, -1:] + 0.01, cell["time"].values, 0))
    return min(1.15 * late, cell["time"].values[-1])


def _weight_decay(simulation, theory):
    figure, axes = panels(1, 2, height=3.9)
    keep = ("seed", "step", "weight_decay")
    cells, predicted = _first(simulation, keep), _first(theory, keep)
    for colour, decay in zip(_COLOURS, cells["weight_decay"].values, strict=False):
        cell, theirs = cells.sel(weight_decay=decay), predicted.sel(weight_decay=decay)
        time = cell["time"].values
        for ax, name in ((axes[0], "loss"), (axes[1], "irrelevant_x")):
            mean = cell[name].mean("seed").values
            label = f"λ = {decay:g}" if ax is axes[0] else None
            ax.plot(time, mean, **simulation_line(colour, label=label))
            ax.plot(theirs["time"].values, theirs[name].mean("seed").values, **theory_line(colour))
        if decay > 0:
            axes[0].axhline(decay**2 / 4, color=colour, linewidth=0.9, linestyle=":")
    axes[0].set(ylabel="Loss, mean over seeds", yscale="log")
    axes[1].set(ylabel="Irrelevant part of x, |x⊥|²", yscale="log")
    for ax in axes:
        ax.set(ylim=(1e-6, None), xlim=(0, 1.6 * _end(cells.isel(weight_decay=0))))
        ax.set_xlabel(axis_label(cells["time"], "Time"))
    panel_letters(axes)
    legend_below(figure, 4)
    return Drawing(
        figure,
        "Weight decay",
        "Mean over seeds of loss and of the squared length of what is irrelevant in x, without and with weight decay; "
        "dashed, the reduction. Weight decay speeds the first fall, delays the second and ends at λ²/4 (dotted)."
        + _where(simulation, keep),
    )


def _plateaus(simulation, theory):
    figure, axes = panels(squeeze=False)
    ax = axes[0, 0]
    keep = ("seed", "step", "dimension", "init_scale")
    predicted = _first(theory, keep)
    if "init_scale" not in predicted.dims:
        predicted = predicted.expand_dims("init_scale")
    order = np.argsort(predicted["dimension"].values)
    sizes = predicted["dimension"].values[order]
    for colour, scale in zip(_COLOURS, predicted["init_scale"].values, strict=False):
        cell = predicted.sel(init_scale=scale).isel(dimension=order)
        lengths = cell["plateau_length"].transpose("dimension", "seed").values
        estimates = cell["plateau_estimate"].transpose("dimension", "seed").values
        ax.plot(np.repeat(sizes, lengths.shape[1]), lengths.ravel(), ".", color=colour, alpha=0.35)
        mean = np.nanmean(lengths, 1)
        ax.plot(sizes, mean, **simulation_line(colour, label=f"mean, σ = {scale:g}"))
        ax.plot(sizes, np.nanmean(estimates, 1), **theory_line(colour, label="closed form, mean"))
    ax.set(xscale="log", xlabel="n", ylabel="Plateau (time)")
    ax.set_ylim(0, None)
    legend_below(figure, 4)
    return Drawing(
        figure,
        "Length of the plateau",
        "Time from loss 1.1 to loss .9 against n: dots, the flow of the reduction from every seed's start; lines, their "
        "mean; dashed, the mean of the closed form. Ten times n adds (log 10)/4 = .58, a tenth of the scale σ twice that."
        + _where(simulation, keep),
    )
