"""Figures of the study ``xor``, after Saxe, Sodhani & Lewallen (2022), Fig. 3."""

import itertools

import numpy as np

from foretrain.figures import finished
from foretrain.figures.gating_bars import gatings
from foretrain.figures.schemes import Pathway, draw_scheme
from foretrain.figures.style import PALETTE, panels
from foretrain.quantities.gates import angle_clusters
from foretrain.quantities.trajectory import learned_at
from foretrain.study import drawn, figure, panel

from .claims import is_rectified

_COLOURS = [PALETTE[name] for name in ("orange", "green", "purple", "sky")]


def _while_learning(c):
    """Return the times from 99% of the first loss of the gated network to the end of learning of both."""
    begin = learned_at(c.theory.gated_loss, 0.99)
    end = max(learned_at(loss, 0.001) for loss in [c.theory.loss, c.theory.gated_loss])
    return max(begin - 0.2 * (end - begin), 0), 1.1 * end or None


def draw_network(grid):
    drawing, ax = panels(height=3.9)
    pathways = [
        Pathway((0, 1), (0,), colour, f"open on ({name.replace(' ', ', ').replace('-', '−')})")
        for colour, name in zip(_COLOURS, grid.simulation["example"].values, strict=True)
    ]
    draw_scheme(ax, ("x1", "x2"), pathways, ("y",))
    return finished(
        drawing,
        "Four gated pathways, one per example",
        "The gated network, four linear pathways from both bits to the answer; squares are hidden layers. The gate of each "
        "pathway is open on one example alone. In each pathway's subproblem the answer is linear.",
    )


def draw_cell_types(grid):
    cell, where = grid.first()
    weights = cell.simulation["input_weights"].transpose("seed", "unit", "input").values
    if not len(weights := weights[np.isfinite(weights).all((1, 2))].reshape(-1, 2)):
        return None
    drawing, ax = panels(height=5.6)
    groups, _ = angle_clusters(weights)
    for group in range(groups.max() + 1):
        chosen = weights[groups == group]
        look = {"color": _COLOURS[group % len(_COLOURS)], "markersize": 4, "alpha": 0.6}
        ax.plot(*chosen.T, "o", label=f"type {group + 1}: {len(chosen)} units", **look)
    reach = np.abs(weights).max()
    for x, y in itertools.product((-1, 1), repeat=2):
        text, colour = ("y = +1", "vermillion") if x * y < 0 else ("y = −1", "blue")
        at = 1.35 * reach * x, 1.35 * reach * y
        ax.plot(*at, "s", markersize=15, color=PALETTE[colour], clip_on=False)
        look = {"ha": "right" if x > 0 else "left", "va": "center"}
        ax.annotate(text, at, (-x * 16, 0), textcoords="offset points", **look)
    limit = 1.55 * reach
    ax.set(xlim=(-limit, limit), ylim=(-limit, limit), aspect="equal")
    ax.set(xlabel="Weight from x1", ylabel="Weight from x2")
    ax.locator_params(nbins=6)  # labels of small weights are long
    return finished(
        drawing,
        "Functional cell types",
        f"Input weights of every hidden unit of the ReLU networks at the end of training ({cell.seeds} seeds), "
        "coloured by direction: groups are parted by more than 45 degrees. Squares, not to scale: the four examples. "
        "Each unit answers one example." + where,
    )


FIGURES = {
    "learning-curve": figure(
        "Loss while learning",
        "Loss of networks that learn exclusive-or from small random weights, mean over seeds. Dashed: mean of the reductions "
        "from the starts that the weights of each seed have, nothing fitted. The gated network is earlier since each of its "
        "pathways has all N_h units where a ReLU network shares them out.",
        panel(
            {"trained": lambda c: c.loss, "gated network": lambda c: c["gated"].loss},
            theory={"trained": True, "gated network": lambda c: c.theory.gated_loss},
            theory_label="reduction, start derived",
            label="Loss",
            xlim=_while_learning,
            ylim=(0, None),
        ),
    ),
    "network": drawn(draw_network),
    "cell-types": drawn(draw_cell_types, where=is_rectified),
    "pathways": figure(
        "Four pathways, each with its own start",
        "Answer of the network of the first seed to each example (solid), and the prediction from its initial weights "
        "(dashed), nothing fitted.",
        panel(
            lambda c: c.example_strength.isel(seed=slice(1)),
            by="example",
            theory_label="predicted from initial weights",
            label="Strength a(t) of a pathway",
            xlim=_while_learning,
        ),
    ),
    "gatings": gatings(
        "gating_consistent",
        lambda share: share > 0,
        "All 15 ways to divide the four examples, 1 (+1, +1), 2 (+1, −1), 3 (−1, +1) and 4 (−1, −1), among linear pathways "
        "(a bar separates pathways). Green: self-consistent: ReLU units along the weights that are learned have these gates.",
    ),
}
