"""Figures of the study ``context``, after Saxe, Sodhani & Lewallen (2022), appendix A.2."""

import numpy as np

from foretrain.figures import Drawing
from foretrain.figures.gating_bars import draw_gating_bars, gating_table
from foretrain.figures.seed_curves import draw_seed_curves
from foretrain.figures.style import (
    PALETTE,
    axis_label,
    legend_below,
    panel_letters,
    panels,
)
from foretrain.plans.grid import Grid
from foretrain.training.pathways import SOLVED

_GATINGS = {"always-on": "vermillion", "per-context": "blue"}


def draw(grid: Grid) -> dict[str, Drawing]:
    """Learning curves of both gatings, the gates of ReLU units, and the candidate gatings."""
    cell, where = grid.first()
    return {
        "learning-curve": _learning_curve(cell, where),
        "relu-gates": _relu_gates(cell.variants["relu"], where),
        "gatings": _gatings(cell, where),
    }


def _learning_curve(cell, where):
    networks, theory = cell.variants, cell.theory
    figure, axes = panels(1, 2, sharey=True, height=4)
    ends = []
    for ax, ending, title in zip(axes, ("", "-samples"), ("exact moments", "samples"), strict=True):
        for name, colour in _GATINGS.items():
            data, predicted = networks[name + ending], theory["network_loss"]
            predicted = predicted.sel(condition=name + ending).transpose("seed", "step").values
            time, losses = data["time"].values, data["loss"].transpose("seed", "step").values
            labels = name.replace("-", " "), "reduction, start derived"
            known = theory["time"].values, predicted
            draw_seed_curves(ax, (time, losses), known, colour, labels)
            left = np.min(losses, axis=1, keepdims=True)
            learning = losses > left + 0.001 * (losses[:, :1] - left)
            ends.append(time[learning.any(0)].max(initial=0))
        ax.set_title(title, loc="left")
        ax.set(xlabel=axis_label(theory["time"], "Time"))
        ax.xaxis.label.set_size(11.5)
    for ax in axes:
        ax.set(xlim=(0, 1.2 * max(ends) or None), ylim=(0, None))
    axes[0].set_ylabel("Loss")
    panel_letters(axes)
    legend_below(figure, 3)
    return Drawing(
        figure,
        "One pathway, or one per context",
        "Loss of linear networks from small random weights, every seed drawn. Dashed: the general reduction from the start "
        "that the weights of three seeds have, from the lowest curve to the highest, nothing fitted. One pathway that is "
        "always on learns the best linear answer and keeps half of the loss; one per context learns the task. a: inputs "
        "with the exact moments of the uniform law. b: random samples, whose statistics do not commute exactly; every seed "
        "has its own." + where,
    )


def _relu_gates(relu, where):
    figure, ax = panels(height=5.2)
    opened = relu["context_open"].transpose("seed", "unit", "context").values.reshape(-1, 2)
    part = relu["unit_contribution"].transpose("seed", "unit").values.ravel()
    kept = np.isfinite(opened).all(1) & np.isfinite(part)
    area = 1200 * part[kept]
    options = {"color": PALETTE["purple"], "alpha": 0.45, "linewidth": 0}
    ax.scatter(*opened[kept].T, s=area, clip_on=False, **options)
    for text, at, side in (
        ("first context only", (0.93, 0), "right"),
        ("second context only", (-0.02, 0.88), "left"),
        ("always", (1, 1.05), "right"),
        ("never", (0, 0), "left"),
    ):
        ax.text(*at, text, ha=side, va="center", fontsize=11.5)
    ax.set(xlabel="Open in the first context", ylabel="Open in the second context")
    ax.set(xlim=(-0.06, 1.08), ylim=(-0.06, 1.08), aspect="equal")
    return Drawing(
        figure,
        "Gates of ReLU units",
        f"Every hidden unit of the trained ReLU networks ({relu.sizes['seed']} seeds): the fraction of inputs on which it is "
        "open in each context. The area is its part in the answer." + where,
    )


def _gatings(cell, where):
    table = gating_table(cell)
    return Drawing(
        draw_gating_bars(table, table["gating_final_loss"].values < SOLVED),
        "Candidate gatings",
        "Ways to divide examples among linear pathways, with the time that each is predicted to need to half the loss. "
        "Green: gatings that can solve the task. Agreement: of the gates of the trained ReLU networks with the gating. "
        "Means over seeds." + where,
    )
