"""Claims of the thread on Adam and AdamW: acceleration, effects of decay, and times at which components learn."""

import math

import numpy as np

from foretrain.quantities.learning_curves import curve_deviation
from foretrain.quantities.learning_curves.time_rescaling import time_rescalings
from foretrain.quantities.trajectory import at_end, curves
from foretrain.study import Exact, PerSeed, claim, skip_if
from foretrain.theory.published_rules import forgetting
from foretrain.training.factorization import THREAD

from .study import STRONG, forgetting_steps

OURS = "docs/studies/optimizers.md"


def relative_loss(runs):
    """Return the loss over that of the zero matrix, which is not stored as it would take as much memory again."""
    return runs["loss"] / runs["zero_loss"]


def published_rules(c):
    double = c["double"].loss
    worst = [deviation(double, c.theory.loss.sel(seed=double["seed"]), True)]
    if "strong_loss" in c.theory:
        rule = c.theory.strong_loss.sel(optimizer="adamw").rename(first_step="step")
        strong = c["strong_decay"].loss.sel(optimizer="adamw")
        strong = strong.isel(step=slice(rule.sizes["step"]))
        rule = rule.isel(step=slice(strong.sizes["step"])).assign_coords(step=strong["step"])
        worst.append(deviation(strong, rule, False))
    return Exact(max(worst), seeds=double.isel(step=0).size)


def deviation(loss, predicted, whole):
    """Return the largest deviation of losses; unless `whole`, steps without a prediction are left out."""
    loss = loss.transpose(..., "step")
    if not predicted.indexes["step"].equals(loss.indexes["step"]):
        predicted = predicted.reindex(step=loss["step"].values)
    compared = loss if whole else loss.where(predicted.notnull())
    return curve_deviation.largest_deviation(compared, predicted)


def require(c, *names):
    """Raise `NotApplicable` where one of these optimizers is not in the cell."""
    skip_if(set(names) - set(c.values("optimizer")), "one of the optimizers is not in the grid")


def curves_of(runs, name):
    """Return steps and relative losses of every seed under an optimizer."""
    chosen = relative_loss(runs).sel(optimizer=name)
    return list(curves(chosen.to_dataset(name="relative_loss"), "relative_loss"))


def rescaling_leaves(c):
    require(c, "sgd", "adamw")
    both = (curves_of(c.simulation, name) for name in ("sgd", "adamw"))
    factor, left, explained = time_rescalings(*both)
    note = (
        f"AdamW takes {np.median(factor):.3g} of the steps of descent; one time-scale explains {np.median(explained):.2f} of "
        "the variance of its log times (medians)."
    )
    return PerSeed(left, note)


def differences(c):
    require(c, "adam", "adamw")
    pairs = zip(*(curves_of(c.simulation, name) for name in ("adam", "adamw")), strict=True)
    gaps = [curve_deviation.largest_difference(adam, adamw) for (_, adam), (_, adamw) in pairs]
    return np.array(gaps)


def decay_forgotten(c):
    require(c, "adamw")
    steps = forgetting_steps(c.p)
    skip_if(steps[1] > c.p.steps, "the runs are too short")
    left = relative_loss(c["strong_decay"]).sel(optimizer="adamw")
    left = left.reindex(step=list(steps))  # nan where every run has ended before
    first, last = (left.sel(step=step).values for step in steps)
    with np.errstate(divide="ignore", invalid="ignore"):
        fell = np.log(last / first)
    return fell / np.log(forgetting(steps[1]) / forgetting(steps[0]))


def similar_times(c):
    require(c, "sgd", "adam")
    spread = c.log_learning_step.std("component").where(at_end(relative_loss(c.simulation)) < 0.01)
    adam, sgd = (spread.sel(optimizer=name) for name in ("adam", "sgd"))
    return adam.drop_vars("optimizer") / sgd.drop_vars("optimizer")


ROW = {"source": THREAD, "along": "optimizer", "rank": "headline"}
CLAIMS = [
    claim(
        "published-rules",
        "Every optimizer trains the network by its published rule.",
        published_rules,
        source="Kingma & Ba (2015); Loshchilov & Hutter (2019)",
        at_most=lambda c: 1e-9 if c.p.precision == "float64" else 1e-6,
        why="Rules are stored in the precision of the grid, to 6e-8 in single; rounding in double, 1e-16, grows some thousand "
        "times near a saddle. A decay of .01 that is left out makes 2e-4, a beta_2 of .99 for .999 some 2e-3.",
        along=("optimizer", "init_scale", "learning_rate"),
        of=("double", "strong_decay"),
        note="Largest deviation of the loss over the largest loss of a run, eight seeds trained in double precision: at rank "
        "one all steps; at higher rank, and with strong decay, the first 300.",
        rank="control",
    ),
    *claim(
        "adamw-just-accelerates",
        "AdamW just accelerates: its loss is that of gradient descent with time rescaled.",
        rescaling_leaves,
        near=0,
        inside=(0, 0.1),
        why="'Just': at no level is the time off by more than some 10% after the best rescaling.",
        note="SD over loss levels of the log ratio of times.",
        where=lambda c: c.p.rank == 1,
        **ROW,
    ).and_corrected(
        "AdamW also changes the shape of the loss curve: after the best rescaling of time, times differ by more than 20%.",
        source=OURS,
        inside=(0.2, math.inf),
        why="What the eye sees, as for two curves alike in the study s-curves.",
    ),
    *claim(
        "adamw-differs",
        "The results of AdamW differ from those of Adam.",
        differences,
        inside=(0.02, math.inf),
        why="A difference that a figure shows: 2% of the plateau's height somewhere.",
        note="Largest difference at equal step of the loss over that of zero weights.",
        **ROW,
    ).and_corrected(
        "AdamW differs from Adam as much as decay changes Adam's step, by lambda/sqrt(n) of it.",
        quantity=lambda c: differences(c) * c.p.dimension**0.5 / c.p.weight_decay,
        source=OURS,
        inside=(0.1, 2),
        why="Adam moves every entry by eta, decay by eta lambda |w|, and entries end at 1/sqrt(n), having grown from less: at "
        "most that part of the speed of either factor, and the loss falls by one while time doubles. A twentieth of the two "
        "for entries still small. The median, since a start close to the plateau's saddle delays one of the two by far more.",
        where=lambda c: c.p.weight_decay > 0 and c.p.learning_rate <= 0.5 / c.p.dimension**0.5,
        statistic="median",
        note="Largest difference of loss at equal step times sqrt(n)/lambda, median over seeds.",
    ),
    *claim(
        "decay-forgotten",
        "The effect of AdamW's decay on the loss is forgotten as beta_2 forgets: even a decay of one keeps no run "
        "from zero loss.",
        decay_forgotten,
        near=lambda c: 1 - 5 * STRONG**2 / c.p.dimension,
        inside=lambda c: (1 - 10 * STRONG**2 / c.p.dimension, 1.0),
        why="Adam's step and decay balance where g = -lambda w sqrt(v); v = (1 - beta_2) g^2 + beta_2 v then falls by (1 - "
        "beta_2)(1 - lambda^2 w^2) of it a step, and the loss with g^2, as v does. Entries count by w^2 v, and v goes at most "
        "with w^2: between none and twice the 5 lambda^2/n that w^2 is in the mean by w^4, for normal entries.",
        of="strong_decay",
        statistic="median",
        where=lambda c: c.p.learning_rate <= 0.1 / c.p.dimension**0.5,
        note="Fall of the log loss over 500 steps, after those of learning, over that of v/(1 - beta_2^t) without a "
        "gradient, lambda = 1; learning rates of at most .1/sqrt(n), beyond which the steps overshoot by then.",
        **ROW | {"source": OURS},
    ).and_corrected(
        "At any rank the effect of AdamW's decay is forgotten at the rate of beta_2 to a quarter.",
        inside=(0.75, 1.25),
        why="A quarter: slow modes are still being learned beside it. A beta_2 of .99 makes ten, no decay more.",
        rank="detail",
    ),
    claim(
        "similar-times",
        "Adam makes different vectors learn at more similar times than gradient descent does.",
        similar_times,
        inside=(0, 1 - 1e-9),
        why="'More similar': any spread below that under descent from the same start at the same learning rate.",
        statistic="median",
        among="the seeds that learn to a percent of the loss under both",
        where=lambda c: c.p.rank > 1,
        note="SD over components of the log of the step at which they learn, Adam over descent, median over seeds.",
        **ROW,
    ),
]
