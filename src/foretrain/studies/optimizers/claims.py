"""What the thread says of Adam and AdamW at rank one, and whether it is so. The reason of every interval stands beside it."""

import math
from functools import partial

import numpy as np

from foretrain.measures.curve_deviation import largest_deviation, largest_difference
from foretrain.measures.plateaus import plateau_share
from foretrain.measures.time_rescaling import time_rescalings
from foretrain.measures.trajectory import curves
from foretrain.study import Exact, PerSeed, sentence
from foretrain.training.factorization import THREAD

OURS = "docs/studies/optimizers.md"
PAIRED = ("optimizer",)
GRID = ("optimizer", "init_scale", "learning_rate")
theirs, ours = partial(sentence, source=THREAD), partial(sentence, source=OURS)


@sentence(
    "Every optimizer trains the network by its published rule.",
    source="Kingma & Ba (2015); Loshchilov & Hutter (2019)",
    predicted=0,
    allowed=lambda cell: (0, 1e-4 if cell.parameters.precision == "float32" else 1e-9),
    why="Rounding, 1e-7 in single precision and 1e-16 in double, that the growth on the plateau makes a hundred to a "
    "thousand times larger. A decay of .01 that is left out makes 2e-4, a beta_2 of .99 for .999 some 2e-3.",
    over=GRID,
    note="Largest deviation of the loss, all runs of the grid.",
)
def published_rules(cell):
    loss = cell.simulation["loss"].transpose(..., "step")
    return Exact(largest_deviation(loss, cell.theory["loss"]), seeds=loss.isel(step=0).size)


def _runs(cell, *names) -> list[list[tuple[np.ndarray, np.ndarray]]] | None:
    """Steps and losses of every seed, optimizer by optimizer; None if the cell does not have them all."""
    if set(names) - set(cell.values("optimizer")):
        return None
    return [list(curves(cell.simulation.sel(optimizer=name))) for name in names]


def _rescalings(cell):
    """How the loss of AdamW is that of descent with time rescaled: factor, residual and share explained, per seed."""
    found = _runs(cell, "sgd", "adamw")
    return found and list(time_rescalings(*found))


@theirs(
    "AdamW is faster than gradient descent at the same learning rate.",
    allowed=(0, 1 - 1e-9),
    why="'Accelerates': any factor below one.",
    over=PAIRED,
    note="Steps of AdamW over steps of descent to equal loss, geometric mean over levels, paired by seed.",
)
def adamw_faster(cell):
    found = _rescalings(cell)
    return found and found[0]


@theirs(
    "AdamW just accelerates: its loss is that of gradient descent with time rescaled.",
    predicted=0,
    allowed=(0, 0.1),
    why="'Just': at no level is the time off by more than some 10% after the best rescaling.",
    over=PAIRED,
    note="SD over loss levels of the log ratio of times.",
)
def adamw_just_accelerates(cell):
    found = _rescalings(cell)
    if found is None:
        return None
    share = np.median(found[2])
    text = f"One time-scale explains {share:.2f} of the variance of AdamW's log times (median)."
    return PerSeed(found[1], text)


adamw_changes_shape = adamw_just_accelerates.corrected(
    "AdamW also changes the shape of the curve: after the best rescaling times differ by more than 20%.",
    source=OURS,
    allowed=(0.2, math.inf),
    why="What the eye sees, as for two curves alike in the study s-curves.",
)


@theirs(
    "The plateau is as large a part of training under AdamW as under gradient descent.",
    predicted=1,
    allowed=(0.9, 1.1),
    why="A rescaling of time keeps it; 10% as above.",
    over=PAIRED,
    note="Time from loss 1.1 to .9 over time to loss .1, ratio of the two optimizers, paired by seed.",
)
def adamw_same_plateau(cell):
    found = _runs(cell, "sgd", "adamw")
    if found is None:
        return None
    sgd, adamw = (np.array([plateau_share(*run) for run in runs]) for runs in found)
    return adamw / sgd


adamw_smaller_plateau = adamw_same_plateau.corrected(
    "The plateau is a smaller part of training under AdamW.",
    source=OURS,
    allowed=(0, 0.9),
    why="Below what 'as large' allows.",
)


def _differences(cell, variant: str = ""):
    """Largest difference of loss between Adam and AdamW at equal step, as far as both went, shape (seed,)."""
    found = _runs(cell, "adam", "adamw")
    if found is None:
        return None
    if variant:
        found[1] = list(curves(cell.variants[variant].sel(optimizer="adamw")))
    pairs = zip(*found, strict=True)
    return np.array([largest_difference(one, other) for (_, one), (_, other) in pairs])


DIFFERS = {
    "source": THREAD,
    "allowed": (0.02, math.inf),
    "why": "A difference that a figure shows: 2% of the plateau's height somewhere.",
    "over": PAIRED,
    "note": "Largest difference of loss at equal step.",
}


@sentence("AdamW's results differ from Adam's.", **DIFFERS)
def adamw_differs(cell):
    return _differences(cell)


@ours(
    "AdamW differs from Adam as much as decay changes Adam's step, by lambda/sqrt(n) of it.",
    corrects="adamw-differs",
    allowed=(0.1, 2),
    why="Adam moves every entry by eta, decay by eta lambda |w|, and entries end at 1/sqrt(n), having grown from less: at "
    "most that part of the speed of either factor, and the loss falls by one while time doubles. A twentieth of the two for "
    "entries still small. The median, since a start close to the plateau's saddle delays one of the two by far more.",
    over=PAIRED,
    statistic="median",
    note="Largest difference of loss at equal step times sqrt(n)/lambda, median over seeds.",
)
def adamw_differs_by_decay(cell):
    found, p = _differences(cell), cell.parameters
    if found is None or p.weight_decay == 0 or p.learning_rate > 0.5 / p.dimension**0.5:
        return None  # a step is no longer small beside the entries
    return found * p.dimension**0.5 / p.weight_decay


@sentence(
    "AdamW's results differ from Adam's where lambda is one.", of=("", "strong_decay"), **DIFFERS
)
def strong_decay_differs(cell):
    return _differences(cell, "strong_decay")
