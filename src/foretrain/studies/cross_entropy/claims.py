"""Claims of the thread on cross-entropy and softmax: decay term, S of a probability, slow training at rank ten."""

import math

import numpy as np

from foretrain.quantities.allowed import FOUND, around, by_settings, over_settings
from foretrain.quantities.learning_curves.plateaus import plateau_strengths
from foretrain.quantities.learning_curves.slopes import floor_share, tail_exponent
from foretrain.quantities.trajectory import curves
from foretrain.study import claim, crossing_time, skip_if
from foretrain.theory.softmax_curve import time_of_probability
from foretrain.training.factorization import THREAD

from .study import DIRECT_SEEDS, END, LARGE_SCALE

OURS = "docs/studies/cross-entropy.md"
RATIO = "Length of what the gradient that trains holds beside its signal, over that of the squared error's decay / (2 n^2): "


def is_cross_entropy(c):
    return c.p.loss_function == "cross_entropy"


def is_small(c):
    return is_cross_entropy(c) and c.p.target_scale < LARGE_SCALE


def is_large(c):
    return is_cross_entropy(c) and not is_small(c)


def smallest_decay(c):
    return c.decay_ratio.min("step")


def entries(p):
    """Largest entry, in standard deviations of 1/n, that n^2 products of two normal numbers have in the mean: log n^2."""
    return math.log(p.dimension**2) * max(p.target_scale, p.init_scale**2) / p.dimension


def plateau(probability, times=None):
    """Return the plateau of a probability, shape (seed, time), before it rises, at all settings of a counter."""
    times = np.arange(probability.shape[1]) if times is None else times
    return over_settings(plateau_strengths(times, 1 - probability, floor=0.02))


def direct_probability(c):
    """Return probabilities of logits trained themselves, shape (seed, time)."""
    known = c.theory.direct_probability.transpose("seed", "step").values[:DIRECT_SEEDS]
    skip_if(not np.isfinite(known).all(), "no logits were trained themselves")
    return known


def direct_half_time(c):
    known = direct_probability(c)
    half = crossing_time(np.linspace(0, END, known.shape[1]), known, 0.5)
    return half / time_of_probability(0.5, c.p.dimension**2, known[:, 0])


def tail_quantity(measure):
    """Return the quantity "a measure of the relative loss of every run", shape (seed,)."""
    return lambda c: np.array(
        [
            measure(*run) if run[0].size > 8 else np.nan
            for run in curves(c.simulation, "relative_loss")
        ]
    )


ALONE = {"among": f"the first {DIRECT_SEEDS} seeds", "of": (), "where": is_large}
TAIL = {"where": lambda c: is_large(c) and c.p.rank == 10, "statistic": "median"}
CLAIMS = [
    *claim(
        "decay-absent",
        "With cross-entropy the gradient has no exponential decay term at some time of training.",
        smallest_decay,
        source=THREAD,
        near=0,
        inside=(0, 0.1),
        why="'Just isn't there': at most a tenth of what the squared error has.",
        where=is_cross_entropy,
        note=RATIO + "the smallest along training.",
        rank="headline",
    ).and_corrected(
        "All along training cross-entropy of small logits has the decay term of the centred squared error divided by 2 n^2.",
        quantity=lambda c: c.decay_ratio.isel(
            step=abs(c.decay_ratio - 1).fillna(-1).argmax("step")
        ),
        source="docs/theory/s-curves.md",
        near=1,
        inside=lambda c: around(1, entries(c.p)),
        why="n^2 (Q - u) is Z - mean up to half of its square; products of normal numbers of scale 1/n reach log(n^2)/n.",
        where=is_small,
        note=RATIO + "along training, where it is furthest from one.",
    ),
    claim(
        "decay-of-large-logits",
        "All along training cross-entropy of large logits has a decay term at least as large as the centred squared "
        "error divided by 2 n^2.",
        smallest_decay,
        source=OURS,
        inside=(0.9, math.inf),
        why="n^2 (Q - u) has, along Z itself, the length of Z - mean for normal logits (Stein's lemma), more for heavier "
        "tails; a tenth for n^2 entries that are not normal.",
        where=is_large,
        note=RATIO + "the smallest along training.",
    ),
    claim(
        "probability-curve",
        "The softmax probability of a row's likeliest entry lies on a plateau before it rises.",
        lambda c: plateau(
            c.probability_share.transpose("seed", "step").values, c.loss["step"].values
        ),
        where=is_large,
        rank="headline",
        **by_settings(THREAD, FOUND),
    ),
    claim(
        "softmax-alone",
        "A softmax alone makes an S: where logits are trained directly to one entry, the probability of that entry "
        "lies on a plateau first.",
        lambda c: plateau(direct_probability(c)),
        rank="headline",
        **by_settings(THREAD, FOUND, **ALONE),
    ),
    claim(
        "softmax-alone-time",
        "The probability of a directly trained entry is half at the time of p' = N p (1 - p)^2 / (N - 1).",
        direct_half_time,
        source=OURS,
        near=1,
        inside=(0.98, 1.02),
        why="A step of END/4 over the number of stored times, about .05, is late by some percent of its rate, and other "
        "logits at the start are unequal by one part in n.",
        note="Time to probability one half, trained over predicted.",
        rank="control",
        **ALONE,
    ),
    *claim(
        "rank-ten-stuck",
        "With cross-entropy of large logits training at rank ten is stuck short of the zero-loss solution.",
        tail_quantity(floor_share),
        source=THREAD,
        inside=(0.5, math.inf),
        why="Stuck if most of what is left at the end is left for ever.",
        note="Share of the loss at the end that is left for ever: the constant c of c + a/t fitted to the last half of time.",
        rank="headline",
        **TAIL,
    ).and_corrected(
        "With cross-entropy of large logits training at rank ten is slow, not stuck: most of the remaining loss goes "
        "on falling.",
        source=OURS,
        inside=(-math.inf, 0.5),
    ),
    claim(
        "rank-ten-tail",
        "The remaining loss at rank ten on large logits falls like 1/t.",
        tail_quantity(tail_exponent),
        source=OURS,
        near=-1,
        inside=(-1.5, -0.5),
        why="To the nearest half: a root would be -1/2, a stuck run 0, modes with rates down to zero -2.",
        note="Slope of the log loss along log time over the last half of time.",
        **TAIL,
    ),
]
