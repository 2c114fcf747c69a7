"""Figures of ``bumps``: bumps against everything, matched pairs, the loss at full rank, and alignments over time."""

from dataclasses import replace

import numpy as np

from foretrain.figures import finished
from foretrain.figures.style import (
    INK,
    OPTIMISER_COLOURS,
    OPTIMISER_NAMES,
    PALETTE,
    panels,
    seed_band,
    shades,
    simulation_line,
    theory_line,
)
from foretrain.quantities.bumps import bumps as bumps_of
from foretrain.quantities.cell import Cell
from foretrain.study import NotApplicable, Seed, drawn, figure, panel

from .cells import bumps, matched_bumps, stable
from .study import AXES
from .theory import flow, record

TRIES = 10  # seeds looked through for one with a bump


def where_stable(quantity):
    """Return a quantity that does not apply where training is not stable."""

    def of(c):
        if not stable(c):
            raise NotApplicable("training is not stable here")
        return quantity(c)

    return of


def draw_bumps(grid):
    """Bumps per component against the learning rate, a panel for each start scale and rank."""
    part, words = grid.first(tuple(AXES))
    ranks, scales = part.values("rank"), part.values("init_scale")
    rates, names = part.values("relative_rate"), part.values("optimizer")
    board, axes = panels(
        len(scales), len(ranks), height=2.7 * len(scales) + 0.5, squeeze=False, sharey=True
    )
    for row, scale in enumerate(scales):
        for column, rank in enumerate(ranks):
            ax = axes[row, column]
            for name in names:
                fixed = {"rank": rank, "init_scale": scale, "optimizer": name}
                cells = [
                    one for one in map(Cell, part.cells()) if fixed.items() <= one.cell.items()
                ]
                samples = [bumps(one) if stable(one) else np.nan * bumps(one) for one in cells]
                label, colour = OPTIMISER_NAMES[name], OPTIMISER_COLOURS[name]
                seed_band(
                    ax, np.log10(rates), np.transpose(samples), label, color=colour, fraction=False
                )
            ax.set_title(f"rank {rank}, σ = {scale:g}", loc="left")
            ax.set_xticks(np.log10(rates), [f"{rate:g}" for rate in rates])
        axes[row, 0].set(ylabel="Bumps per component", ylim=(-0.04, None))
    axes[-1, len(ranks) // 2].set_xlabel("Rate over the reference")
    return finished(
        board,
        "Bumps per component",
        "Alignments of a component with a target that rise and fall by .1 or more and are given up, per component. "
        "Rates are over a reference of .05 for descent and .01 for Adam; those outside an optimizer's stable range are "
        "left out." + words,
        max(3, len(names)),
    )


def draw_full_rank(grid):
    """Loss of six seeds at full rank for every learning rate, a panel for each start scale, of descent and of Adam."""
    part, words = grid.first(tuple(AXES))
    dimension, scales = part.parameters.dimension, part.values("init_scale")
    names = [name for name in part.values("optimizer") if name in ("sgd", "adam")]
    if dimension not in part.values("rank") or not names:
        return None
    board, axes = panels(len(scales), len(names), squeeze=False, height=2.9 * len(scales))
    rates = part.values("relative_rate")
    colours = dict(zip(rates, shades(len(rates)), strict=True))
    for c in map(Cell, part.cells()):
        if c.p.rank == dimension and c.p.optimizer in names:
            ax = axes[scales.index(c.p.init_scale), names.index(c.p.optimizer)]
            label = f"relative rate {c.p.relative_rate:g}"
            look = {"linewidth": 1.1, "alpha": 0.8, "label": label}
            late = c.relative_loss.transpose("step", "seed")[1:, :6]
            line = simulation_line(colours[c.p.relative_rate], **look)
            ax.plot(late["step"] * c.p.relative_rate, late, **line)
            ax.set(xscale="log", ylim=(0, 1.3), xlabel="Step × relative rate")
            ax.set(ylabel="Loss over |C|²")
            title = f"{OPTIMISER_NAMES[c.p.optimizer]}, σ = {c.p.init_scale:g}"
            ax.set_title(title, loc="left")
            ax.label_outer()
    return finished(
        board,
        "Full rank",
        "Loss at full rank over that of the zero matrix, six seeds, for every learning rate. A plateau is a stretch on "
        "which the loss stands still before it falls." + words,
        3,
    )


def draw_alignments(grid):
    """A figure for every rank and optimizer of descent and Adam, at the reference rate and the first start scale."""
    part, _ = grid.first(("rank", "optimizer"))
    drawings = {}
    for rank in part.values("rank"):
        for name in part.values("optimizer"):
            if name in ("sgd", "adam"):
                fixed = {"rank": rank, "optimizer": name, "relative_rate": 1.0}
                p = replace(part.parameters, **fixed)
                drawings[f"alignments-{rank}-{name}"] = alignments_of(p, part.root_seed)
    return drawings


def alignments_of(p, root_seed):
    """Alignment of every component with every target over time, with the moments at which one gives way."""
    seed, run, given_up = first_with_a_bump(p, root_seed)
    step = p.observe_every * np.arange(len(run))
    # At full rank the imbalance is as large as all else, and alignments drift once the loss is gone.
    predicted = flow(p, seed) if p.optimizer == "sgd" and p.rank < p.dimension else None
    shown = run.shape[2]
    rows = -(-shown // 5)
    board, axes = panels(
        rows, min(shown, 5), height=2.1 + 1.7 * rows, squeeze=False, sharey=True, sharex=True
    )
    for component, ax in enumerate(axes.flat[:shown]):
        given = [one for one in given_up if one.component == component]
        looks = {int(run[-1, :, component].argmax()): (PALETTE["blue"], "target it ends on")}
        gave = (PALETTE["vermillion"], "target it gives up")
        looks |= dict.fromkeys((one.target for one in given), gave)
        others = np.delete(run[:, :, component], list(looks), axis=1)
        thin = simulation_line("0.75", linewidth=0.6, alpha=0.7, label="all other targets")
        ax.plot(step, others, **thin)
        for target, (colour, label) in looks.items():
            line = simulation_line(colour, linewidth=2, label=label)
            ax.plot(step, run[:, target, component], **line)
            if predicted is not None:
                dashed = predicted[: len(step), target, component]
                look = theory_line(colour, label="flow from the same start")
                ax.plot(step[: len(dashed)], dashed, **look)
        peaks = [step[one.index] for one in given], [one.height for one in given]
        ax.plot(*peaks, "v", color=INK, markersize=6, zorder=8, label="gives way")
        ax.set_title(f"{component + 1}", fontsize=11, loc="right")
        ax.set(xlabel="Step", ylabel="Alignment")
        ax.locator_params(axis="x", nbins=3)
        ax.label_outer()
    for ax in axes.flat[shown:]:
        ax.set_visible(False)
    rest = f", the first {shown} of {p.rank} components" if p.rank > shown else ""
    theory = " Dashed: the flow from the run's start." if predicted is not None else ""
    return finished(
        board,
        f"Alignments at rank {p.rank}, {OPTIMISER_NAMES[p.optimizer]}",
        f"Alignment of each component (its number on the right) with each of the {p.rank} targets{rest}, "
        f"seed {seed.number} (the first with a bump, if one of {TRIES} has one), σ = {p.init_scale:g}, "
        f"recomputed in double precision; at a triangle the component begins to give the target up.{theory}",
        4,
    )


def first_with_a_bump(p, root_seed):
    """Return seed, alignments and bumps of the first run that has one; of the last looked at where none has."""
    number = 0
    while True:
        seed = Seed(root_seed, number)
        run = record(p, seed)
        given_up = bumps_of(run, prominence=p.prominence)
        if given_up or p.rank >= p.dimension or number == TRIES - 1:
            return seed, run, given_up
        number += 1


MATCHED = {
    "both first align with one target": lambda c: matched_bumps(c)[0],
    "each first aligns with its own": lambda c: matched_bumps(c)[1],
}
FIGURES = {
    "bumps": drawn(draw_bumps, "component_bumps"),
    "competition": figure(
        "Competition for a target",
        "Pairs of runs that differ in one thing: the second component's starting overlaps with the two targets are "
        "exchanged. Of the pairs in which this decides whether both components first align with the same target, the bumps "
        "of either run, for the stable learning rates.",
        panel(
            {label: where_stable(quantity) for label, quantity in MATCHED.items()},
            x="relative_rate",
            across="optimizer",
            scale="semilogx",
            label="Bumps per run, rank two",
            theory=False,
        ),
        where=lambda c: c.p.rank == 2,
    ),
    "full-rank": drawn(draw_full_rank, "loss"),
    "alignments": drawn(draw_alignments, "component_bumps"),
}
