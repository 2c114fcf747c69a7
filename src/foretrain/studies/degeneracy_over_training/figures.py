"""Figures of ``degeneracy-over-training``."""

import numpy as np

from foretrain.claims.interval import interval
from foretrain.figures import finished
from foretrain.figures.style import PALETTE, panels
from foretrain.quantities.cell import Cell
from foretrain.study import drawn, figure, panel

from .claims import effective
from .study import CRITERIA, FAMILIES


def only(quantity, *systems):
    return lambda c: quantity(c) if c.p.system in systems else None


def over_training(quantity, *systems, **options):
    """Return a panel over training for each of these systems, of the network and of its rival."""
    options |= {"of": {"network": "", "rival": "rival"}, "xlabel": "Updates"}
    return panel(only(quantity, *systems), x="moment", across="system", **options)


def draw_selection(grid):
    cells = {cell.p.system: cell for cell in map(Cell, grid.first(("system",))[0].cells())}
    if "selection" not in cells:
        return None
    figure, (left, right) = panels(1, 2, height=4.0)
    runs = cells["selection"].simulation
    for k, colour in enumerate((PALETTE["blue"], PALETTE["vermillion"])):
        own = runs[["model_effective", "model_heldout", "rank_agreement"]].isel(family=k)
        x, y = own.model_effective.mean("seed"), own.model_heldout.median("seed")
        left.plot(x, y, "o-", color=colour, label=f"{FAMILIES[k]} models")
        for place, values in enumerate(own.rank_agreement.transpose("criterion", "seed").values):
            if np.isfinite(values).all():
                ends, at = interval(values), place + 0.2 * (k - 0.5)
                right.plot([at, at], [ends.low, ends.high], color=colour)
                right.plot(at, values.mean(), "o", color=colour)
    left.set(xscale="log", xlabel="Effective parameters", ylabel="Loss on fresh data / noise")
    right.axhline(0, color="#c5c9cd", linewidth=1, zorder=0)
    right.set(ylabel="Kendall's tau", ylim=(-1, 1))
    right.set_xticks(range(len(CRITERIA)), CRITERIA, rotation=35, ha="right")
    caption = (
        "Left: every width, one to twelve units, over seeds. Right: how n L/σ² + c ln n ranks widths, c nothing, the "
        "parameters, or 2 lambda in closed form or measured; bars are 95% intervals of the mean."
    )
    return finished(figure, "Ranking models", caption, columns=2)


TRAINED = ("routing", "s-curve", "grokking")
FIGURES = {
    "training": figure(
        "Effective parameters over training",
        "Above: sum of h/(h + eps) over the curvatures h of the behavioural loss. Below: error on what was not trained. The "
        "rival: separate pathways win in routing, answers are drawn in grokking. Dashed: the reduction from decoupled "
        "weights, which learn earlier than random ones.",
        over_training(
            lambda c: effective(c.simulation),
            *TRAINED,
            theory=only(lambda c: effective(c.theory), *TRAINED[:2]),
            theory_label="reduction",
            label="Effective parameters",
        ),
        over_training(lambda c: c.unseen_error, *TRAINED, theory=False, label="Error"),
    ),
    "grokking": figure(
        "Inside a network that groks",
        "The perceptron on parity, and its rival, which learns drawn answers: rank of hidden activations, and blocks of "
        "neurons with equal gates.",
        over_training(lambda c: c.activation_rank, "grokking", label="Rank of activations"),
        over_training(lambda c: c.blocks, "grokking", label="Blocks of neurons"),
    ),
    "selection": drawn(draw_selection),
}
