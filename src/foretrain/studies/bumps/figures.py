"""Figures of the study ``bumps``."""

from collections.abc import Callable
from functools import partial
from itertools import cycle

import numpy as np

from foretrain.claims.interval import interval
from foretrain.figures import Drawing, finished
from foretrain.figures.style import (
    INK,
    OPTIMISER_COLOURS,
    OPTIMISER_NAMES,
    PALETTE,
    panels,
    shades,
    simulation_line,
    titled_panels,
)
from foretrain.plans.grid import Grid
from foretrain.studies.bumps import alignment_figure
from foretrain.studies.bumps.cells import bumps, calm, matched_bumps, mean
from foretrain.studies.bumps.study import AXES
from foretrain.study import drawn


def draw(grid: Grid) -> dict[str, Drawing | Callable[[], Drawing | None]]:
    """Bumps against everything, what competition does, the loss at full rank, and alignments over time."""
    part, words = grid.first(tuple(AXES))
    drawings = {"bumps": partial(_bumps, part, words)}
    if 2 in part.values("rank"):
        drawings["competition"] = partial(_competition, part, words)
    if part.parameters.dimension in part.values("rank"):
        drawings["full-rank"] = partial(_full_rank, part, words)
    return drawings | alignment_figure.draw(part, words)


def _point(ax, x, samples, **style):
    samples = samples[np.isfinite(samples)]
    if samples.size:
        found = interval(samples)
        reach = [[max(found.measured - found.low, 0)], [max(found.high - found.measured, 0)]]
        ax.errorbar(x, found.measured, reach, linestyle="none", **style)


def _bumps(part, words):
    ranks, rates, scales = (part.values(name) for name in ("rank", "relative_rate", "init_scale"))
    names, markers = part.values("optimizer"), dict(zip(scales, cycle("osD^v"), strict=False))
    figure, axes = titled_panels([f"rank {rank}" for rank in ranks], 4.2, "Bumps per component")
    for cell in calm(part):
        p = cell.parameters
        shift = 0.05 * (names.index(p.optimizer) - 1) + 0.015 * scales.index(p.init_scale)
        style = {"marker": markers[p.init_scale], "markersize": 5, "capsize": 2}
        style["color"] = OPTIMISER_COLOURS[p.optimizer]
        _point(axes[ranks.index(p.rank)], np.log10(p.relative_rate) + shift, bumps(cell), **style)
    for ax in axes:
        ax.set_ylim(-0.04, None)
        ax.set_xticks(np.log10(rates), [f"{rate:g}" for rate in rates])
    for name in names:
        style = {"color": OPTIMISER_COLOURS[name], "linewidth": 4}
        axes[0].plot([], [], label=OPTIMISER_NAMES[name], **style)
    for scale, marker in markers.items():
        axes[0].plot([], [], marker, color=INK, label=f"σ = {scale:g}")
    axes[len(ranks) // 2].set_xlabel("Rate over the reference")
    return finished(
        figure,
        "Bumps per component",
        "Alignments of a component with a target that rise and fall by .1 or more and are given up, per component; mean "
        "over seeds with its 95% interval. Rates are over a reference of .05 for descent and .01 for Adam; those outside an "
        "optimizer's stable range are left out." + words,
        max(len(scales), len(names)),
    )


def _competition(part, words):
    figure, ax = panels(height=3.6)
    names = part.values("optimizer")
    for place, name in enumerate(names):
        of = calm(part, rank=2, optimizer=name)
        for side, shift, colour, label in (
            (0, -0.12, "vermillion", "both first align with one target"),
            (1, 0.12, "blue", "each first aligns with its own"),
        ):
            found = mean(of, lambda cell, side=side: matched_bumps(cell)[side])
            style = {"color": PALETTE[colour], "marker": "o", "capsize": 4, "label": label}
            _point(ax, place + shift, found, **style)
    ax.set_xticks(np.arange(len(names)), [OPTIMISER_NAMES[name] for name in names])
    ax.set(ylabel="Bumps per run, rank two", ylim=(0, None), xlim=(-0.5, len(names) - 0.5))
    return finished(
        figure,
        "Competition for a target",
        "Pairs of runs that differ in one thing: the second component's starting overlaps with the two targets are "
        "exchanged. Of the pairs in which this decides whether both components first align with the same target, the bumps "
        "of either run; mean over seeds with its 95% interval, all stable learning rates and start scales."
        + words,
    )


def _full_rank(part, words):
    rates, scales = part.values("relative_rate"), part.values("init_scale")
    names = [name for name in part.values("optimizer") if name in ("sgd", "adam")] or ["sgd"]
    figure, axes = panels(len(scales), len(names), squeeze=False, height=2.9 * len(scales))
    colours = shades(len(rates))
    for cell in part.cells():
        p = cell.parameters
        if p.rank != p.dimension or p.optimizer not in names:
            continue
        ax = axes[scales.index(p.init_scale), names.index(p.optimizer)]
        data, number = cell.simulation["relative_loss"], rates.index(p.relative_rate)
        label = f"relative rate {p.relative_rate:g}"
        line = simulation_line(colours[number], linewidth=1.1, alpha=0.8, label=label)
        late = data.transpose("step", "seed")[1:, :6]
        ax.plot(late["step"] * p.relative_rate, late, **line)
    for row, scale in enumerate(scales):
        for ax, name in zip(axes[row], names, strict=True):
            ax.set(xscale="log", ylim=(0, 1.3))
            ax.set_title(f"{OPTIMISER_NAMES[name]}, σ = {scale:g}", loc="left")
        axes[row, 0].set_ylabel("Loss over |C|²")
    for ax in axes[-1]:
        ax.set_xlabel("Step × relative rate")
    return finished(
        figure,
        "Full rank",
        "Loss at full rank over that of the zero matrix, six seeds, for every learning rate. A plateau is a stretch on "
        "which the loss stands still before it falls." + words,
        3,
    )


FIGURES = {"all": drawn(draw)}
