"""Figures of the study ``optimizers``."""

from collections.abc import Callable
from functools import partial
from itertools import cycle

import numpy as np

from foretrain.figures import Drawing, finished
from foretrain.figures.style import (
    OPTIMISER_COLOURS,
    OPTIMISER_NAMES,
    PALETTE,
    few_log_ticks,
    panels,
    shades,
    simulation_line,
    theory_line,
)
from foretrain.plans.grid import Grid
from foretrain.quantities.learning_time import crossing_time
from foretrain.quantities.trajectory import curves
from foretrain.studies.optimizers.study import STRONG, forgotten, relative
from foretrain.study import drawn
from foretrain.theory.published_rules import forgetting

_COLOURS = [PALETTE[name] for name in ("blue", "vermillion", "green", "purple")]
_MOST = 10  # seeds drawn; more would hide each other


def draw(grid: Grid) -> dict[str, Callable[[], Drawing | None]]:
    """Losses on two clocks; what strong decay leaves; how alike components learn under descent and Adam."""
    drawn = {"rescaled": partial(_rescaled, *grid.first(("init_scale", "optimizer")))}
    names = set(grid.values("optimizer"))
    if "adamw" in names and "strong_decay" in grid.variants:
        drawn["forgotten"] = partial(_forgotten, *grid.first(("rank", "init_scale", "optimizer")))
    if {"sgd", "adam"} <= names and max(grid.values("rank")) > 1:
        drawn["rates"] = partial(
            _rates, *grid.first(("rank", "init_scale", "optimizer", "learning_rate"))
        )
    return drawn


def _rescaled(cells, words):
    scales, names = cells.values("init_scale"), cells.values("optimizer")
    figure, axes = panels(len(scales), 2, squeeze=False)
    for row, scale in zip(axes, scales, strict=True):
        longest = 0.0
        for name in names:
            runs = cells.simulation.sel(optimizer=name, init_scale=scale)
            style = simulation_line(OPTIMISER_COLOURS[name], linewidth=1.3, alpha=0.5)
            row[0].plot([], [], **{**style, "alpha": 1}, label=OPTIMISER_NAMES[name])
            for step, curve in list(curves(runs))[:_MOST]:
                half = float(crossing_time(step, -curve, -0.5)) if step.size else 0.0
                row[0].plot(step, curve, **style)
                if half > 0:
                    row[1].plot(step / half, curve, **style)
                    longest = max(longest, half)
        row[0].set(xlim=(0, 2 * longest or None), ylabel=f"σ = {scale:g}: loss |C - Z|²")
        row[1].set(xlim=(0, 2))
        for ax in row:
            ax.set_ylim(0, None)
    axes[-1, 0].set_xlabel("Step")
    axes[-1, 1].set_xlabel("Step over step of loss ½")
    covered = " AdamW is drawn over Adam and covers it where they agree." * ("adamw" in names)
    return finished(
        figure,
        "One time-scale or not",
        f"Left: loss at rank one, up to {_MOST} seeds, the same starts and the same learning rate for every optimizer. "
        "Right: the same curves, each run's steps divided by the step at which its loss is one half. If an optimizer only "
        "accelerated, its curves on the right would lie on those of SGD." + covered + words,
        4,
    )


def _forgotten(cells, words):
    figure, ax = panels()
    p, beside = cells.parameters, cells.variants["strong_decay"].sel(optimizer="adamw")
    scale = cells.values("init_scale")[0]
    first, last = forgotten(p)
    ranks = cells.values("rank")
    for colour, rank in zip(shades(len(ranks)), ranks, strict=True):
        runs = beside.sel(rank=rank, init_scale=scale)
        style = simulation_line(colour, linewidth=0.9, alpha=0.5)
        shown = [run for run in curves(relative(runs), "relative_loss") if run[0].size][:_MOST]
        for step, curve in shown:
            ax.plot(step, curve, **style)
        ax.plot([], [], **{**style, "alpha": 1, "linewidth": 1.6}, label=f"rank {rank}")
        at_first = [curve[step == first] for step, curve in shown if step[-1] >= first]
        if at_first:
            steps = np.linspace(first, last, 50).astype(int).tolist()
            slowed = 1 - 5 * STRONG**2 / p.dimension
            law = [(forgetting(step) / forgetting(first)) ** slowed for step in steps]
            line = theory_line(label="what is left of v, no gradient")
            ax.plot(steps, np.median(at_first) * np.array(law), **line)
    ax.set(yscale="log", ylabel="Loss, 1 at zero weights", xlabel="Step")
    return finished(
        figure,
        "What strong decay leaves is forgotten",
        f"AdamW with λ = {STRONG:g}, σ = {scale:g}, up to {_MOST} seeds of each rank; dashed, how v/(1 - β₂ᵗ) falls without a "
        f"gradient, slowed by 5λ²/n, from the median at step {first} on. Decay leaves no loss for ever.{words}",
        3,
    )


def _rates(cells, words):
    figure, axes = panels(1, 2)
    rates, scales = cells.values("learning_rate"), cells.values("init_scale")
    ranks = [rank for rank in cells.values("rank") if rank > 1]
    for ax, name in zip(axes, ("speed_spread", "log_learning_step"), strict=True):
        values = cells.simulation[name]
        values = values.std("component") if "component" in values.dims else values
        for colour, rank in zip(cycle(_COLOURS[1:]), ranks, strict=False):
            for marker, scale in zip(cycle("ox^"), scales, strict=False):
                at = {"rank": rank, "init_scale": scale, "learning_rate": rates[0]}
                both = (values.sel(optimizer=name, **at).values for name in ("sgd", "adam"))
                label = f"r = {rank}, σ = {scale:g}"
                ax.plot(*both, marker, color=colour, markersize=4, alpha=0.7, label=label)
        scale = "linear" if name == "speed_spread" else "log"  # times are often close
        ax.set(xlabel="Under descent", ylabel="Under Adam", xscale=scale, yscale=scale)
        both = [max(ax.get_xlim()[0], ax.get_ylim()[0]), min(ax.get_xlim()[1], ax.get_ylim()[1])]
        ax.plot(both, both, color="black", linewidth=1.2, linestyle=":", label="equal")
        few_log_ticks(ax)
    axes[0].set_title("Spread of speeds", fontsize="medium")
    axes[1].set_title("Spread of log learning times", fontsize="medium")
    return finished(
        figure,
        "How alike components learn",
        "Each point is a seed from one start: spread over components of how far a step moves them, over its mean (left), and "
        "of the log of the step at which they learn (right), under Adam against descent. Below the dotted line they are more "
        f"alike under Adam.{words}",
        4,
    )


FIGURES = {"all": drawn(draw)}
