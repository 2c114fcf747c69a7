"""What the thread says of cross-entropy and softmax, and whether it is so. The reason of every interval stands beside it."""

import math

import numpy as np

from foretrain.quantities.allowed import FOUND, POSITIVE, around, by_settings, over_settings
from foretrain.quantities.learning_time import crossing_time
from foretrain.quantities.plateaus import plateau_strengths
from foretrain.quantities.tail import floor_share, tail_exponent
from foretrain.quantities.trajectory import curves
from foretrain.studies.cross_entropy.study import LARGE_SCALE
from foretrain.studies.cross_entropy.theory import END, SEEDS
from foretrain.study import claim
from foretrain.theory.softmax_curve import time_of_probability
from foretrain.training.factorization import THREAD

THEORY = "docs/theory/s-curves.md"
OURS = "docs/studies/cross-entropy.md"
AMONG = f"the first {SEEDS} seeds"


def _crossed(cell) -> bool:
    return cell.parameters.loss_function == "cross_entropy"


def _small(cell) -> bool:
    return _crossed(cell) and cell.parameters.target_scale < LARGE_SCALE


def _large(cell) -> bool:
    return _crossed(cell) and not _small(cell)


def _ratios(cell) -> np.ndarray:
    """Decay over that of the squared error all along training, shape (seed, step); nan from where a run has ended."""
    return cell.simulation["decay_ratio"].transpose("seed", "step").values


RATIO = "Length of what the gradient that trains holds beside its signal, over that of the squared error's decay / (2 n^2): "


def _entries(p) -> float:
    """Largest entry, in standard deviations of 1/n, that n^2 products of two normal numbers have in the mean: log n^2."""
    return math.log(p.dimension**2) * max(p.target_scale, p.init_scale**2) / p.dimension


def decay_of_small_logits(cell):
    ratios = _ratios(cell)
    worst = np.where(np.isfinite(ratios), np.abs(ratios - 1), -1).argmax(1)
    return ratios[np.arange(len(ratios)), worst]


def _balance(cell) -> np.ndarray:
    ratio = cell.simulation["signal_length"] / cell.simulation["decay_length"]
    return ratio.transpose("seed", "step").values


def _strengths(cell, name: str) -> np.ndarray:
    """Strength of the strongest plateau of what is left of a share that rises to one, or of the loss, shape (seed,)."""
    values = cell.simulation[name].transpose("seed", "step").values
    left = values if name == "loss" else 1 - values
    return plateau_strengths(cell.simulation["step"].values, left, floor=0.02)


def _direct(cell) -> np.ndarray | None:
    """Probabilities of logits trained themselves, shape (seed, time); None where none were computed."""
    known = cell.theory["direct_probability"].transpose("seed", "step").values[:SEEDS]
    return known if np.isfinite(known).all() else None


def softmax_alone(cell):
    known = _direct(cell)
    if known is None:
        return None
    return over_settings(plateau_strengths(np.arange(known.shape[1]), 1 - known, floor=0.02))


def softmax_alone_time(cell):
    known = _direct(cell)
    if known is None:
        return None
    times = np.linspace(0, END, known.shape[1])
    half = crossing_time(times, known, 0.5)
    return half / time_of_probability(0.5, cell.parameters.dimension**2, known[:, 0])


def _tails(cell, measure) -> np.ndarray:
    """What is measured of the relative loss of every run, shape (seed,)."""
    known = list(curves(cell.simulation, "relative_loss"))
    return np.array([measure(*run) if run[0].size > 8 else np.nan for run in known])


def _slow(cell) -> bool:
    return _large(cell) and cell.parameters.rank == 10


_rank_ten_stuck = claim(
    "rank-ten-stuck",
    "With cross-entropy of large logits training at rank ten is stuck short of the zero-loss solution.",
    lambda c: _tails(c, floor_share),
    source=THREAD,
    inside=(0.5, math.inf),
    why="Stuck if most of what is left at the end is left for ever.",
    where=_slow,
    statistic="median",
    note="Share of the loss at the end that is left for ever: the constant c of c + a/t fitted to the last half of "
    "time.",
    rank="headline",
)


CLAIMS = [
    claim(
        "decay-absent",
        "With cross-entropy the gradient has no exponential decay term at some time of training.",
        lambda c: np.fmin.reduce(_ratios(c), axis=1),
        source=THREAD,
        near=0,
        inside=(0, 0.1),
        why="'Just isn't there': at most a tenth of what the squared error has.",
        where=_crossed,
        note=RATIO + "the smallest along training.",
        rank="headline",
    ),
    claim(
        "decay-absent.corrected",
        "All along training cross-entropy of small logits has the decay term of the centred squared error divided by "
        "2 n^2.",
        decay_of_small_logits,
        source=THEORY,
        near=1,
        inside=lambda cell: around(1, _entries(cell.parameters)),
        why="n^2 (Q - u) is Z - mean up to half of its square; products of normal numbers of scale 1/n reach log(n^2)/n.",
        corrects="decay-absent",
        where=_small,
        note=RATIO + "along training, where it is furthest from one.",
        rank="headline",
    ),
    claim(
        "decay-of-large-logits",
        "All along training cross-entropy of large logits has a decay term at least as large as the centred squared "
        "error divided by 2 n^2.",
        lambda c: np.fmin.reduce(_ratios(c), axis=1),
        source=OURS,
        inside=(0.9, math.inf),
        why="n^2 (Q - u) has, along Z itself, the length of Z - mean for normal logits (Stein's lemma), more for heavier "
        "tails; a tenth for n^2 entries that are not normal.",
        where=_large,
        note=RATIO + "the smallest along training.",
    ),
    claim(
        "decay-first",
        "At the start of training with cross-entropy the decay term is larger than the signal.",
        lambda c: _balance(c)[:, 0],
        source=THREAD,
        inside=(0, 1),
        why="The sentence is an inequality.",
        where=_crossed,
        note="Length of the signal over that of the decay at the start.",
    ),
    claim(
        "probability-curve",
        "The softmax probability of a row's likeliest entry lies on a plateau before it rises.",
        lambda c: over_settings(_strengths(c, "probability_share")),
        where=_large,
        **by_settings(THREAD, FOUND),
        rank="headline",
    ),
    claim(
        "accuracy-curve",
        "The fraction of rows whose likeliest entry is right lies on a plateau before it rises.",
        lambda c: over_settings(_strengths(c, "row_accuracy")),
        where=_large,
        **by_settings(THREAD, FOUND),
    ),
    claim(
        "softmax-alone",
        "A softmax alone makes an S: where logits are trained directly to one entry, the probability of that entry "
        "lies on a plateau first.",
        softmax_alone,
        where=_large,
        **by_settings(THREAD, FOUND, of=(), among=AMONG),
        rank="headline",
    ),
    claim(
        "softmax-alone-time",
        "The probability of a directly trained entry is half at the time of p' = N p (1 - p)^2 / (N - 1).",
        softmax_alone_time,
        source=OURS,
        near=1,
        inside=(0.98, 1.02),
        why="A step of END/4 over the number of stored times, about .05, is late by some percent of its rate, and other "
        "logits at the start are unequal by one part in n.",
        among=AMONG,
        of=(),
        where=_large,
        note="Time to probability one half, trained over predicted.",
        rank="control",
    ),
    claim(
        "probability-beyond-loss",
        "The probability of the likeliest entry makes more of an S than the loss.",
        lambda c: np.log(_strengths(c, "probability_share") / _strengths(c, "loss")),
        source=THREAD,
        inside=POSITIVE,
        why="'S-curve-ey': any more than the factors make without it.",
        statistic="median",
        where=_large,
        note="Log ratio of the strength of the plateau of the probability over that of the loss, paired by seed.",
    ),
    _rank_ten_stuck,
    _rank_ten_stuck.corrected(
        "With cross-entropy of large logits training at rank ten is slow, not stuck: most of the remaining loss goes "
        "on falling.",
        source=OURS,
        inside=(-math.inf, 0.5),
        rank="headline",
    ),
    claim(
        "rank-ten-tail",
        "The remaining loss at rank ten on large logits falls like 1/t.",
        lambda c: _tails(c, tail_exponent),
        source=OURS,
        near=-1,
        inside=(-1.5, -0.5),
        why="To the nearest half: a root would be -1/2, a stuck run 0, modes with rates down to zero -2.",
        where=_slow,
        statistic="median",
        note="Slope of the log loss along log time over the last half of time.",
    ),
]
