"""Alignment of every component with every target over time, with the moments at which one gives way."""

import dataclasses

import numpy as np

from foretrain.figures import Drawing, finished
from foretrain.figures.style import (
    INK,
    OPTIMISER_NAMES,
    PALETTE,
    panels,
    simulation_line,
    theory_line,
)
from foretrain.quantities.bumps import bumps
from foretrain.quantities.cell import Cell
from foretrain.study import Grid, Seed

from .theory import flow, record

TRIES = 10  # seeds looked through for one with a bump


def draw(part: Cell | Grid, words: str) -> dict[str, Drawing]:
    """A figure for every rank and optimizer of descent and Adam, at the reference rate and the first start scale."""
    drawings = {}
    for rank in part.values("rank"):
        for name in part.values("optimizer"):
            if name in ("sgd", "adam"):
                fixed = {"rank": rank, "optimizer": name, "relative_rate": 1.0}
                p = dataclasses.replace(part.parameters, **fixed)
                drawings[f"alignments-{rank}-{name}"] = _alignments(p, part.root_seed, words)
    return drawings


def _alignments(p, root_seed, words):
    seed, found, given_up = _first_with_a_bump(p, root_seed)
    step = p.observe_every * np.arange(len(found))
    # At full rank the imbalance is as large as all else, and alignments drift once the loss is gone.
    known = p.optimizer == "sgd" and p.rank < p.dimension
    predicted = flow(p, seed) if known else None
    count = found.shape[2]
    columns = min(count, 5)
    rows = -(-count // columns)
    figure, axes = panels(rows, columns, height=2.1 + 1.7 * rows, squeeze=False, sharey=True)
    for component, ax in enumerate(axes.flat[:count]):
        own = found[:, :, component]
        ends, given = int(own[-1].argmax()), [one for one in given_up if one.component == component]
        left = {one.target for one in given}
        for target in np.argsort(
            [target == ends or target in left for target in range(own.shape[1])]
        ):
            colour = PALETTE["vermillion"] if target in left else PALETTE["blue"]
            marked = target in left or target == ends
            thin = simulation_line("0.75", linewidth=0.6, alpha=0.7)
            ax.plot(
                step, own[:, target], **(simulation_line(colour, linewidth=2) if marked else thin)
            )
            if marked and predicted is not None:
                dashed = predicted[: len(step), target, component]
                ax.plot(step[: len(dashed)], dashed, **theory_line(colour))
        for one in given:
            ax.plot(step[one.index], one.height, "v", color=INK, markersize=6, zorder=8)
        ax.set_title(f"{component + 1}", fontsize=11, loc="right")
        ax.locator_params(axis="x", nbins=3)
    for ax in axes.flat[count:]:
        ax.set_visible(False)
    axes[0, 0].plot([], [], color=PALETTE["blue"], linewidth=2, label="target it ends on")
    axes[0, 0].plot([], [], color=PALETTE["vermillion"], linewidth=2, label="target it gives up")
    axes[0, 0].plot([], [], "v", color=INK, label="gives way")
    axes[0, 0].plot([], [], color="0.75", label="all other targets")
    if predicted is not None:
        axes[0, 0].plot([], [], **theory_line(label="flow from the same start"))
    for ax in axes[-1]:
        ax.set_xlabel("Step")
    for row in axes:
        row[0].set_ylabel("Alignment")
    others = f", the first {count} of {p.rank} components" if p.rank > count else ""
    theory = " Dashed: the flow from the run's start." if predicted is not None else ""
    return finished(
        figure,
        f"Alignments at rank {p.rank}, {OPTIMISER_NAMES[p.optimizer]}",
        f"Alignment of each component (its number on the right) with each of the {p.rank} targets{others}, "
        f"seed {seed.number} (the first with a bump, if one of {TRIES} has one), σ = {p.init_scale:g}, "
        f"recomputed in double precision; at a triangle the component begins to give the target up.{theory}{words}",
        4,
    )


def _first_with_a_bump(p, root_seed):
    """Seed, alignments and bumps of the first run that has one; of the last looked at where none has."""
    last = TRIES - 1 if p.rank < p.dimension else 0
    for number in range(last):
        seed = Seed(root_seed, number)
        found = record(p, seed)
        given_up = bumps(found, prominence=p.prominence)
        if given_up:
            return seed, found, given_up
    seed = Seed(root_seed, last)
    found = record(p, seed)
    return seed, found, bumps(found, prominence=p.prominence)
