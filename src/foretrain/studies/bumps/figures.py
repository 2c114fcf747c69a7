"""Figures of ``bumps``: bumps by optimizer, scale and rate, matched pairs, the loss at full rank, alignments over time."""

from dataclasses import replace

import numpy as np

from foretrain.figures import finished
from foretrain.figures.style import NAMES, PALETTE, panels, shades, simulation_line, theory_line
from foretrain.quantities.bumps import bumps as bumps_of
from foretrain.study import Seed, drawn, figure, panel

from .claims import bumps, matched_bumps, stable
from .study import AXES, flow, record

TRIES = 10  # seeds looked through for one with a bump


def where_stable(quantity):
    """Return a quantity that does not apply where training is not stable."""
    return lambda c: quantity(c) if stable(c) else None


def draw_full_rank(grid):
    part, words = grid.first(tuple(AXES))
    scales = part.values("init_scale")
    names = [name for name in part.values("optimizer") if name in ("sgd", "adam")]
    if part.parameters.dimension not in part.values("rank") or not names:
        return None
    board, axes = panels(len(scales), len(names), squeeze=False, height=2.9 * len(scales))
    rates = part.values("relative_rate")
    colours = dict(zip(rates, shades(len(rates)), strict=True))
    for p, c in ((cell.parameters, cell.simulation) for cell in part.cells()):
        if p.rank == p.dimension and p.optimizer in names:
            ax = axes[scales.index(p.init_scale), names.index(p.optimizer)]
            look = {"linewidth": 1.1, "label": f"relative rate {p.relative_rate:g}"}
            late = c["relative_loss"].transpose("step", "seed")[1:, :6]
            line = simulation_line(colours[p.relative_rate], **look)
            ax.plot(late["step"] * p.relative_rate, late, **line)
            ax.set_title(f"{NAMES[p.optimizer]}, σ = {p.init_scale:g}", loc="left")
            ax.set(xscale="log", ylim=(0, 1.3), xlabel="Step × relative rate")
            ax.set(ylabel="Loss over |C|²")
            ax.label_outer()
    return finished(
        board,
        "Full rank",
        "Loss at full rank over that of the zero matrix, six seeds, for every learning rate. A plateau is a stretch on "
        "which the loss stands still before it falls." + words,
        3,
    )


def draw_alignments(grid):
    """Draw a figure for every rank, and for descent and Adam, at the reference rate and the first start scale."""
    part, words = grid.first(tuple(AXES))
    return {
        f"alignments-{rank}-{name}": alignments_of(
            replace(part.parameters, rank=rank, optimizer=name, relative_rate=1.0),
            part.root_seed,
            words,
        )
        for rank in part.values("rank")
        for name in part.values("optimizer")
        if name in ("sgd", "adam")
    }


def alignments_of(p, root_seed, words):
    """Draw the alignment of every component with every target over time, with the moments at which a component gives way."""
    low, seed = p.rank < p.dimension, Seed(root_seed, 0)
    run = record(p, seed)
    while low and seed.number < TRIES - 1 and not bumps_of(run, prominence=p.prominence):
        seed = Seed(root_seed, seed.number + 1)
        run = record(p, seed)
    run_bumps = bumps_of(run, prominence=p.prominence)
    step = p.observe_every * np.arange(len(run))
    # At full rank the imbalance is as large as all else, and alignments drift once the loss is gone.
    predicted = flow(p, seed)[: len(step)] if p.optimizer == "sgd" and low else None
    shown = run.shape[2]
    rows = -(-shown // 5)
    shared = {"squeeze": False, "sharey": True, "sharex": True}
    board, axes = panels(rows, min(shown, 5), height=2.1 + 1.7 * rows, **shared)
    for component, ax in enumerate(axes.flat[:shown]):
        own_bumps = [bump for bump in run_bumps if bump.component == component]
        looks = {int(run[-1, :, component].argmax()): (PALETTE["blue"], "target it ends on")}
        gave = (PALETTE["vermillion"], "target it gives up")
        looks |= dict.fromkeys((bump.target for bump in own_bumps), gave)
        others = np.delete(run[:, :, component], list(looks), axis=1)
        thin = simulation_line("0.75", linewidth=0.6, alpha=0.7, label="all other targets")
        ax.plot(step, others, **thin, rasterized=p.rank > 20)
        for target, (colour, label) in looks.items():
            line = simulation_line(colour, linewidth=2, label=label)
            ax.plot(step, run[:, target, component], **line)
            if predicted is not None:
                look = theory_line(colour, label="flow from the same start")
                ax.plot(step[: len(predicted)], predicted[:, target, component], **look)
        peaks = [step[bump.index] for bump in own_bumps], [bump.height for bump in own_bumps]
        ax.plot(*peaks, "v", color="black", markersize=6, zorder=8, label="gives way")
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
        f"Alignments at rank {p.rank}, {NAMES[p.optimizer]}",
        f"Alignment of each component (its number on the right) with each of the {p.rank} targets{rest}, "
        f"seed {seed.number} (the first with a bump, if one of {TRIES} has one), σ = {p.init_scale:g}, "
        f"recomputed in double precision; at a triangle the component begins to give the target up.{theory}{words}",
        4,
    )


RATES = {"x": "relative_rate", "scale": "semilogx", "theory": False}
FIGURES = {
    "bumps": figure(
        "Bumps per component",
        "Alignments of a component with a target that rise and fall by .1 or more and are given up, per component. Above: "
        "every optimizer; below: every start scale. Rates are over a reference of .05 for descent and .01 for Adam; those "
        "outside a stable range are left out.",
        *(
            panel(where_stable(bumps), by=by, across="rank", label="Bumps per component", **RATES)
            for by in ("optimizer", "init_scale")
        ),
        legend=3,
    ),
    "competition": figure(
        "Competition for a target",
        "Pairs of runs that differ in one thing: the second component's starting overlaps with the two targets are "
        "exchanged. Of the pairs in which this decides whether both components first align with the same target, the bumps "
        "of either run, for the stable learning rates.",
        panel(
            {
                "both first align with one target": where_stable(lambda c: matched_bumps(c)[0]),
                "each first aligns with its own": where_stable(lambda c: matched_bumps(c)[1]),
            },
            across="optimizer",
            label="Bumps per run, rank two",
            ylim=(0, 2),
            **RATES,
        ),
        where=lambda c: c.p.rank == 2,
    ),
    "full-rank": drawn(draw_full_rank, "loss"),
    "alignments": drawn(draw_alignments, "component_bumps"),
}
