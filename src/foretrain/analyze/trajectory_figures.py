"""The picture of a `Trajectory`: effective parameters, counts and the loss over training."""

import itertools

import numpy as np

from foretrain.analyze.trajectory import Trajectory
from foretrain.figures import Drawing, finished
from foretrain.figures.style import INK, PALETTE, panels, shades, style
from foretrain.words import number


def over_training(trajectory: Trajectory) -> Drawing:
    """Draw effective parameters, free directions, blocks and modules over training, above the loss: what was computed."""
    parts = {
        _effective: "Effective parameters by curvature at three noise scales; bands are errors of the quadrature.",
        _free: "Directions that change no answer at all, by source; hollow marks are estimates.",
        _blocks: "Blocks of synchronised neurons; modules, hollow where rewired graphs are as modular.",
        _losses: "The loss, with labels that of training, else the distance from the last outputs, which is 0 at the end.",
    }
    absent = {_free: not trajectory.by_source(), _blocks: not trajectory.block_counts()}
    parts = {part: words for part, words in parts.items() if not absent.get(part)}
    with style():
        figure, axes = panels(len(parts), 1, height=2.75 * len(parts), sharex=True)
        for ax, part in zip(axes, parts, strict=True):
            part(ax, trajectory)
        axes[-1].set(xlabel=trajectory.axis)
        return finished(figure, "Over training", " ".join(parts.values()), 3)


def _effective(ax, trajectory):
    for at, (eps, colour) in enumerate(zip(trajectory.scales, shades(3), strict=True)):
        value, error = trajectory.effective[:, at], trajectory.error[:, at]
        label = f"N at ε = {number(float(eps), 3)}"
        ax.plot(trajectory.moments, value, "o-", color=colour, label=label)
        ax.fill_between(trajectory.moments, value - error, value + error, color=colour, alpha=0.25)
    ax.set(ylabel="Effective parameters", ylim=(0, None))


def _free(ax, trajectory):
    exact = np.array([freedom.exact for freedom in trajectory.counts])
    counts = {name: values for name, values in trajectory.by_source().items() if values.any()}
    for (name, values), colour in zip(counts.items(), itertools.cycle(PALETTE.values())):
        colour, dashes = (INK, "-") if name == "all" else (colour, "--")
        ax.plot(trajectory.moments, values, dashes, label=f"free, {name}", color=colour)
        for kind, fill in ((exact, colour), (~exact, "white")):
            marks = {"color": colour, "markerfacecolor": fill}
            ax.plot(trajectory.moments[kind], values[kind], "o", **marks)
    ax.set(ylabel="Free directions", ylim=(0, None))


def _blocks(ax, trajectory):
    colours = {"synchronised blocks": PALETTE["purple"], "modules": PALETTE["sky"]}
    counts = trajectory.block_counts()
    for name, values in counts.items():
        ax.plot(trajectory.moments, values, "s-", color=colours[name], label=name)
    hollow = np.array([not wiring.modular for wiring in trajectory.wirings], bool)
    if hollow.any():
        marks = {"color": colours["modules"], "markerfacecolor": "white", "zorder": 3}
        ax.plot(trajectory.moments[hollow], counts["modules"][hollow], "s", **marks)
    ax.set(ylabel="Blocks, modules", ylim=(0, None))


def _losses(ax, trajectory):
    losses = trajectory.distance
    above = losses > 0  # without labels the last is the one that all are compared with
    logarithmic = above.any() and losses[above].max() > 100 * losses[above].min()
    shown = above if logarithmic else slice(None)
    ax.plot(trajectory.moments[shown], losses[shown], "o-", color=INK)
    ax.set(ylabel="Loss", **({"yscale": "log"} if logarithmic else {"ylim": (0, None)}))
