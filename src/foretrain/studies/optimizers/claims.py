"""What the thread says of Adam and AdamW, and whether it is so. The reason of every interval stands beside it."""

import math

import numpy as np

from foretrain.quantities.curve_deviation import largest_deviation, largest_difference
from foretrain.quantities.plateaus import plateau_share
from foretrain.quantities.time_rescaling import time_rescalings
from foretrain.quantities.trajectory import at_end, curves
from foretrain.studies.optimizers.study import STRONG, forgotten, relative
from foretrain.study import Exact, PerSeed, claim
from foretrain.theory.published_rules import forgetting
from foretrain.training.factorization import THREAD

OURS = "docs/studies/optimizers.md"
PAIRED = ("optimizer",)
GRID = ("optimizer", "init_scale", "learning_rate")


def published_rules(cell):
    loss = cell.simulation["loss"]
    found = [_off(loss, cell.theory["loss"], cell.parameters.rank == 1)]
    if "strong_loss" in cell.theory:
        told = cell.theory["strong_loss"].sel(optimizer="adamw").rename(first_step="step")
        strong = cell.variants["strong_decay"]["loss"].sel(optimizer="adamw")
        strong = strong.isel(step=slice(told.sizes["step"]))
        told = told.isel(step=slice(strong.sizes["step"])).assign_coords(step=strong["step"])
        found.append(_off(strong, told, False))
    return Exact(max(found), seeds=loss.isel(step=0).size)


def _off(loss, predicted, whole: bool) -> float:
    """Largest deviation of losses; of what nothing is predicted only if that is to be the whole."""
    loss = loss.transpose(..., "step")
    predicted = predicted.transpose(*loss.dims)
    if not predicted.indexes["step"].equals(loss.indexes["step"]):
        predicted = predicted.reindex(step=loss["step"].values)
    return largest_deviation(loss if whole else loss.where(predicted.notnull()), predicted)


def _rank_one(cell) -> bool:
    return cell.parameters.rank == 1


def _runs(cell, *names) -> list[list[tuple[np.ndarray, np.ndarray]]] | None:
    """Steps and relative losses of every seed, optimizer by optimizer; None if the cell does not have them all."""
    if set(names) - set(cell.values("optimizer")):
        return None
    return [
        list(curves(relative(cell.simulation.sel(optimizer=name)), "relative_loss"))
        for name in names
    ]


def _rescalings(cell):
    """How the loss of AdamW is that of descent with time rescaled: factor, residual and share explained, per seed."""
    found = _runs(cell, "sgd", "adamw")
    return found and list(time_rescalings(*found))


def adamw_faster(cell):
    found = _rescalings(cell)
    return found and found[0]


def adamw_just_accelerates(cell):
    found = _rescalings(cell)
    if found is None:
        return None
    share = np.median(found[2])
    text = f"One time-scale explains {share:.2f} of the variance of AdamW's log times (median)."
    return PerSeed(found[1], text)


def adamw_same_plateau(cell):
    found = _runs(cell, "sgd", "adamw")
    if found is None:
        return None
    sgd, adamw = (np.array([plateau_share(*run) for run in runs]) for runs in found)
    return adamw / sgd


def _differences(cell, variant: str = ""):
    """Largest difference of loss between Adam and AdamW at equal step, as far as both went, shape (seed,)."""
    found = _runs(cell, "adam", "adamw")
    if found is None:
        return None
    if variant:
        beside = cell.variants[variant].sel(optimizer="adamw")
        found[1] = list(curves(relative(beside), "relative_loss"))
    pairs = zip(*found, strict=True)
    return np.array([largest_difference(one, other) for (_, one), (_, other) in pairs])


DIFFERS = {
    "source": THREAD,
    "inside": (0.02, math.inf),
    "why": "A difference that a figure shows: 2% of the plateau's height somewhere.",
    "along": PAIRED,
    "note": "Largest difference at equal step of the loss over that of zero weights.",
}


def adamw_differs_by_decay(cell):
    found, p = _differences(cell), cell.parameters
    if found is None or p.weight_decay == 0 or p.learning_rate > 0.5 / p.dimension**0.5:
        return None  # a step is no longer small beside the entries
    return found * p.dimension**0.5 / p.weight_decay


def decay_forgotten(cell):
    steps = forgotten(cell.parameters)
    if "adamw" not in cell.values("optimizer") or steps[1] > cell.parameters.steps:
        return None
    runs = cell.variants["strong_decay"].sel(optimizer="adamw")
    first, last = (relative(runs.sel(step=step))["relative_loss"].values for step in steps)
    with np.errstate(divide="ignore", invalid="ignore"):
        fell = np.log(last / first)
    return fell / np.log(forgetting(steps[1]) / forgetting(steps[0]))


SIMILAR = {
    "inside": (0, 1 - 1e-9),
    "why": "'More similar': any spread below that under descent from the same start at the same learning rate.",
    "along": PAIRED,
    "statistic": "median",
    "among": "the seeds that learn to a percent of the loss under both",
    "where": lambda cell: cell.parameters.rank > 1,
}


def _spreads(cell, spread) -> np.ndarray | None:
    """Spread over components under Adam over that under descent, per seed; nan where a run did not learn to a percent."""
    if {"sgd", "adam"} - set(cell.values("optimizer")):
        return None
    found = []
    for name in ("adam", "sgd"):
        runs = cell.simulation.sel(optimizer=name)
        learned = at_end(relative(runs)["relative_loss"]).values < 0.01
        found.append(np.where(learned, spread(runs), np.nan))
    with np.errstate(divide="ignore", invalid="ignore"):
        return found[0] / found[1]


def similar_times(cell):
    def spread(runs):
        return runs["log_learning_step"].transpose("seed", "component").std("component").values

    return _spreads(cell, spread)


_adamw_just_accelerates = claim(
    "adamw-just-accelerates",
    "AdamW just accelerates: its loss is that of gradient descent with time rescaled.",
    adamw_just_accelerates,
    source=THREAD,
    near=0,
    inside=(0, 0.1),
    why="'Just': at no level is the time off by more than some 10% after the best rescaling.",
    along=PAIRED,
    note="SD over loss levels of the log ratio of times.",
    where=_rank_one,
    rank="headline",
)
_adamw_same_plateau = claim(
    "adamw-same-plateau",
    "The plateau is as large a part of training under AdamW as under gradient descent.",
    adamw_same_plateau,
    source=THREAD,
    near=1,
    inside=(0.9, 1.1),
    why="A rescaling of time keeps it; 10% as above.",
    along=PAIRED,
    note="Time from loss 1.1 to .9 over time to loss .1, ratio of the two optimizers, paired by seed.",
    where=_rank_one,
)
_decay_forgotten = claim(
    "decay-forgotten",
    "The effect of AdamW's decay on the loss is forgotten as beta_2 forgets: even a decay of one keeps no run "
    "from zero loss.",
    decay_forgotten,
    source=OURS,
    near=lambda cell: 1 - 5 * STRONG**2 / cell.parameters.dimension,
    inside=lambda cell: (1 - 10 * STRONG**2 / cell.parameters.dimension, 1.0),
    why="Adam's step and decay balance where g = -lambda w sqrt(v); v = (1 - beta_2) g^2 + beta_2 v then falls by (1 "
    "- beta_2)(1 - lambda^2 w^2) of it a step, and the loss with g^2, as v does. Entries count by w^2 v, and v "
    "goes at most with w^2: between none and twice the 5 lambda^2/n that w^2 is in the mean by w^4, for normal "
    "entries.",
    along=PAIRED,
    of="strong_decay",
    statistic="median",
    where=lambda cell: cell.parameters.learning_rate <= 0.1 / cell.parameters.dimension**0.5,
    note="Fall of the log loss over 500 steps, after those of learning, over that of v/(1 - beta_2^t) without a "
    "gradient, lambda = 1; learning rates of at most .1/sqrt(n), beyond which the steps overshoot by then.",
    rank="headline",
)


CLAIMS = [
    claim(
        "published-rules",
        "Every optimizer trains the network by its published rule.",
        published_rules,
        source="Kingma & Ba (2015); Loshchilov & Hutter (2019)",
        near=0,
        inside=lambda cell: (0, 1e-4 if cell.parameters.precision == "float32" else 1e-9),
        why="Rounding, 1e-7 in single precision and 1e-16 in double, that the growth on the plateau makes a hundred to a "
        "thousand times larger. A decay of .01 that is left out makes 2e-4, a beta_2 of .99 for .999 some 2e-3.",
        along=GRID,
        of=("", "strong_decay"),
        note="Largest deviation of the loss over the largest loss of a run: all runs of the grid at rank one; at higher "
        "rank, and with strong decay, the first 300 steps of eight seeds.",
        rank="control",
    ),
    claim(
        "adamw-faster",
        "AdamW learns faster than gradient descent at the same learning rate.",
        adamw_faster,
        source=THREAD,
        inside=(0, 1 - 1e-9),
        why="'Accelerates': any factor below one.",
        along=PAIRED,
        note="Steps of AdamW over steps of descent to equal loss, geometric mean over levels, paired by seed.",
        where=_rank_one,
    ),
    _adamw_just_accelerates,
    _adamw_just_accelerates.corrected(
        "AdamW also changes the shape of the loss curve: after the best rescaling of time, times differ by more than "
        "20%.",
        source=OURS,
        inside=(0.2, math.inf),
        why="What the eye sees, as for two curves alike in the study s-curves.",
        rank="headline",
    ),
    _adamw_same_plateau,
    claim(
        "adamw-differs",
        "The results of AdamW differ from those of Adam.",
        lambda c: _differences(c),
        **DIFFERS,
        rank="headline",
    ),
    claim(
        "adamw-differs.corrected",
        "AdamW differs from Adam as much as decay changes Adam's step, by lambda/sqrt(n) of it.",
        adamw_differs_by_decay,
        source=OURS,
        corrects="adamw-differs",
        inside=(0.1, 2),
        why="Adam moves every entry by eta, decay by eta lambda |w|, and entries end at 1/sqrt(n), having grown from "
        "less: at most that part of the speed of either factor, and the loss falls by one while time doubles. A "
        "twentieth of the two for entries still small. The median, since a start close to the plateau's saddle delays"
        " one of the two by far more.",
        along=PAIRED,
        statistic="median",
        note="Largest difference of loss at equal step times sqrt(n)/lambda, median over seeds.",
        rank="headline",
    ),
    claim(
        "strong-decay-differs",
        "The results of AdamW differ from those of Adam at a weight decay of one.",
        lambda c: _differences(c, "strong_decay"),
        of=("", "strong_decay"),
        **DIFFERS,
    ),
    _decay_forgotten,
    _decay_forgotten.corrected(
        "At any rank the effect of AdamW's decay is forgotten at the rate of beta_2 to a quarter.",
        inside=(0.75, 1.25),
        why="A quarter: slow modes are still being learned beside it. A beta_2 of .99 makes ten, no decay more.",
        rank="detail",
    ),
    claim(
        "similar-times",
        "Adam makes different vectors learn at more similar times than gradient descent does.",
        similar_times,
        source=THREAD,
        note="SD over components of the log of the step at which they learn, Adam over descent, median over seeds.",
        **SIMILAR,
        rank="headline",
    ),
]
