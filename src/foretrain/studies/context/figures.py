"""Figures of the study ``context``, after Saxe, Sodhani & Lewallen (2022), appendix A.2."""

import numpy as np

from foretrain.figures import finished
from foretrain.figures.gating_bars import gatings
from foretrain.figures.schemes import Pathway, draw_scheme
from foretrain.figures.style import DIVERGING, PALETTE, panels
from foretrain.quantities.trajectory import learned_at
from foretrain.study import drawn, figure, panel
from foretrain.training.pathways import SOLVED

NETWORKS = {"per context": "per-context", "always on": "always-on"}


def draw_task():
    figure, axes = panels(1, 4, height=3.0)
    first, second = np.meshgrid(*(np.linspace(-1, 1, 65),) * 2)
    look = {"cmap": DIVERGING, "vmin": -1, "vmax": 1, "origin": "lower", "extent": (-1, 1, -1, 1)}
    for ax, target, name in ((axes[0], first, "x1"), (axes[1], second, "x2")):
        ax.imshow(target, interpolation="bilinear", **look)
        ax.set(xlabel="x1", xticks=(-1, 1), yticks=(-1, 1))
        ax.set_title(f"y = {name}", loc="left")
    axes[0].set_ylabel("x2")
    blue, red = (PALETTE[name] for name in ("blue", "vermillion"))
    pathways = (
        [Pathway((0, 1), (0,), red, "always")],
        [Pathway((0, 1), (0,), blue, f"context {number}") for number in (1, 2)],
    )
    for ax, some in zip(axes[2:], pathways, strict=True):
        draw_scheme(ax, ("x1", "x2"), some, ("y",))
    return finished(
        figure,
        "The task and both gatings",
        "a, b: the answer asked for (blue to red: −1 to 1) in the first and in the second context, over all inputs. c: one "
        "linear pathway, its gate always open. d: one pathway per context, its gate open there alone. Squares: hidden layers.",
    )


def losses(title, ending=""):
    return panel(
        {label: lambda c, name=name: c[name + ending].loss for label, name in NETWORKS.items()},
        theory={
            label: lambda c, name=name: c.theory.network_loss.sel(condition=name + ending)
            for label, name in NETWORKS.items()
        },
        theory_label="reduction, start derived",
        statistic="runs",
        title=title,
        label="Loss",
        xlim=lambda c: (
            0,
            1.2 * max(learned_at(c[n].loss, 0.001) for n in NETWORKS.values()) or None,
        ),
    )


FIGURES = {
    "learning-curve": figure(
        "One pathway, or one per context",
        "Loss of linear networks from small random weights, every seed drawn. Dashed: the general reduction from the start "
        "that the weights of a seed have, mean over seeds, nothing fitted. a: inputs with the exact moments of the uniform "
        "law. b: random samples of each seed's own, whose statistics do not commute exactly.",
        losses("exact moments"),
        losses("samples", "-samples"),
        sharey=True,
        height=4.2,
    ),
    "task": drawn(lambda grid: draw_task() if grid.parameters.contexts == 2 else None),
    "gatings": gatings(
        "gating_final_loss",
        lambda loss: loss < SOLVED,
        "Ways to divide examples among linear pathways. Green: gatings that can solve the task.",
    ),
}
