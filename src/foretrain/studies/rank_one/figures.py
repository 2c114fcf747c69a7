"""Figures of the study ``rank-one``."""

from collections.abc import Callable
from functools import partial
from itertools import cycle

from foretrain.figures import Drawing, finished
from foretrain.figures.seed_curves import draw_seed_curves, learned_at
from foretrain.figures.style import PALETTE, panels, simulation_line, theory_line
from foretrain.plans.grid import Grid
from foretrain.quantities.curves import axis_label
from foretrain.study import drawn

_COLOURS = [PALETTE[name] for name in ("blue", "vermillion", "green", "purple")]
_MOST = 10  # seeds drawn; more would hide each other


def draw(grid: Grid) -> dict[str, Callable[[], Drawing | None]]:
    """Loss, alignment and the gradient's two terms of the first cell; plateaus against n over the grid."""
    drawings = {"learning": partial(_learning, *grid.first())}
    if "weight_decay" in grid.axes:
        drawings["weight-decay"] = partial(_weight_decay, *grid.first(("weight_decay",)))
    if "dimension" in grid.axes and "plateau_length" in grid.theory:
        drawings["plateaus"] = partial(_plateaus, *grid.first(("init_scale", "dimension")))
    return drawings


def _learning(cell, words):
    figure, axes = panels(1, 3, height=3.9)
    networks, theory = (
        data.isel(seed=slice(_MOST), missing_dims="ignore")
        for data in (cell.simulation, cell.theory)
    )
    for place, name, colour in (
        (0, "loss", "blue"),
        (1, "alignment", "green"),
        (2, "signal", "orange"),
        (2, "decay", "purple"),
    ):
        curves = networks[name], theory.get(name)
        draw_seed_curves(axes[place], *curves, colour, name, "reduction to four numbers")
    axes[0].set(ylabel="Loss |C - Z|²", ylim=(0, None))
    axes[1].set(ylabel="Alignment", ylim=(-0.1, 1.05))
    axes[2].set(ylabel="Length in -gradient", ylim=(0, None))
    for ax in axes:
        ax.set_xlim(0, _end(cell.simulation))
    axes[1].set_xlabel(axis_label(cell.simulation["time"], "Time"))
    return finished(
        figure,
        "Rank one, learned as predicted",
        f"Loss, alignment with the target, and the two terms of the gradient for x, {min(cell.seeds, _MOST)} seeds: trained "
        "networks of 2n parameters (pale) and the reduction to four numbers from the same start (dashed), for the seeds whose "
        f"curve is lowest, in the middle and highest.{words}",
        5,
    )


def _end(data) -> float:
    """Time at which the last seed has learned all but a percent, and a little."""
    time = float(data["time"][-1])
    return min(1.15 * learned_at(data["loss"]), time) or time or 1.0


def _weight_decay(cells, words):
    figure, axes = panels(1, 2, height=3.9)
    for colour, decay in zip(cycle(_COLOURS), cells.values("weight_decay"), strict=False):
        for data, look in (
            (cells.simulation, simulation_line(colour, label=f"λ = {decay:g}")),
            (cells.theory, theory_line(colour, label="reduction to four numbers")),
        ):
            for ax, name in zip(axes, ("loss", "irrelevant_x"), strict=True):
                if name in data:
                    mean = data[name].sel(weight_decay=decay).mean("seed")
                    ax.plot(data["time"], mean, **look)
        if decay > 0:
            line = {"color": colour, "linewidth": 1.4, "linestyle": ":", "label": "λ²/4"}
            axes[0].axhline(decay**2 / 4, **line)
    axes[0].set(ylabel="Loss, mean over seeds", yscale="log")
    axes[1].set(ylabel="Irrelevant part of x, |x⊥|²", yscale="log")
    until = 1.6 * _end(cells.simulation.isel(weight_decay=0))
    for ax in axes:
        ax.set(ylim=(5e-7, None), xlim=(0, until))
        ax.set_xlabel(axis_label(cells.simulation["time"], "Time"))
    return finished(
        figure,
        "Weight decay",
        "Mean over seeds of loss and of the squared length of what is irrelevant in x, without and with weight decay; "
        "dashed, the reduction. Weight decay speeds the first fall, delays the second and ends at λ²/4 (dotted)."
        + words,
        4,
    )


def _plateaus(laid, words):
    figure, ax = panels()
    sizes = laid.values("dimension")
    for colour, scale in zip(cycle(_COLOURS), laid.values("init_scale"), strict=False):
        cell = laid.theory.sel(init_scale=scale)
        lengths = cell["plateau_length"].transpose("dimension", "seed")
        ax.plot(sizes, lengths.values, ".", color=colour, alpha=0.35)
        line = simulation_line(colour, label=f"mean, σ = {scale:g}")
        ax.plot(sizes, lengths.mean("seed"), **line)
        line = theory_line(colour, label="closed form, mean")
        ax.plot(sizes, cell["plateau_estimate"].mean("seed"), **line)
    ax.set(xscale="log", xlabel="Dimension n", ylabel="Length of the plateau", ylim=(0, None))
    return finished(
        figure,
        "Length of the plateau",
        "Time from loss 1.1 to loss .9 against n: dots, the flow of the reduction from every seed's start; lines, their "
        "mean; dashed, the mean of the closed form. Ten times n adds (log 10)/4 = .58, a tenth of the scale σ twice that."
        + words,
        4,
    )


FIGURES = {"all": drawn(draw)}
