"""Claims on phases, their causes and their times; what is predicted is in ``theory.py``."""

import numpy as np

from foretrain.quantities.allowed import ALWAYS, POSITIVE, SOME
from foretrain.quantities.rank_correlation import rank_correlation
from foretrain.study import Exact, PerSeed, claim, skip_if

from . import reading
from .reading import CAUSES, RATES, agreement, by_seed, generalised, is_map, learned, learners

PAPER = "Liu et al. (2022), "
OURS = "docs/studies/grokking-phases.md"
LEARNERS = {"along": RATES, "among": "seeds whose training set tells enough"}
TOGETHER = {"along": RATES, "among": "seeds that generalise in enough cells"}
BETTER = {"inside": POSITIVE, "why": "A difference that the seeds establish.", **TOGETHER}
NEARLY = {
    "near": 0,
    "inside": (-0.1, 0.1),
    "rank": "headline",
    "where": lambda c: is_map(c) and c.seeds >= 2,
    "why": "'Nearly' as one run in ten. Where nothing depends on the ratio it would be the whole share.",
    "note": "Share of phases that most other seeds of equal ratio have, less that of equal rates.",
}


def lost_by_ratio(c, ends, known=True):
    """Return the share of ends that the ratio of rates tells, less the share that both rates tell, shape (seed,)."""
    ratio = reading.log_ratio(c)
    cells = np.arange(ratio.size).reshape(ratio.shape)
    return agreement(ratio, ends, known) - agreement(cells, ends, known)


def one_dimensional_corrected(c):
    good, fit = learned(c)
    which = learners(c)
    return which.where(which, np.nan) * lost_by_ratio(c, good.values * 1, (fit & which).values)


def boundary_gap(c):
    measured = reading.measured_boundary(c)
    known = measured[learners(c).values & ~np.isnan(measured)]
    note = f"Measured at {known.mean():.2f} decades." if known.size else "No boundary in the map."
    gap = reading.predicted_boundary(c) - measured
    return PerSeed(np.where(learners(c), gap, np.nan), note)


def within_two(c):
    reach = np.log10(2) + np.diff(np.unique(reading.log_ratio(c))).max() / 2
    return -reach, reach


def share(part, whole):
    """Return the share of a part of the runs in the whole, shape (seed,), with the number of runs in the whole."""
    skip_if(not (count := int(whole.sum())), "there are no such runs")
    return PerSeed(part.sum(RATES) / whole.sum(RATES), f"Of {count} runs.")


def memorised_without(c):
    memorised = (c.phase == 2) & learners(c)
    return share(memorised & (reading.causes(c) == CAUSES.index("representation")), memorised)


def lucky(c):
    """Return the number of runs that generalise though their training set does not tell enough."""
    which = ~learners(c)
    skip_if(not which.any(), "all training sets tell enough")
    return Exact(int((learned(c)[0] & which).sum()), seeds=int(which.sum()))


def rate_alone(c):
    """Return 1 / (lambda_3 rate) of every run, infinity for never, (cell, seed)."""
    with np.errstate(divide="ignore"):
        steps = 1 / (c.lambda_3 * c.axis(RATES[1]))
    return steps.transpose(*c.phase.dims).values.reshape(-1, c.seeds)


def better_than_rate(c):
    predicted, measured = generalised(c)
    which = learners(c).values
    ours, others = (reading.order_of_seeds(x, measured, which) for x in (predicted, rate_alone(c)))
    return ours - others


def decoder_counts(c):
    (predicted, measured), steps = generalised(c), rate_alone(c)
    values = by_seed(np.where(np.isnan(predicted), np.nan, steps), measured, reading.off)
    return np.where(np.isinf(values), np.nan, values) - by_seed(predicted, measured, reading.off)


CLAIMS = [
    *claim(
        "one-dimensional",
        "The phase of a network depends only on the ratio of the two learning rates.",
        lambda c: lost_by_ratio(c, c.phase.values),
        source=PAPER + "Fig. 6a",
        along=RATES,
        **NEARLY,
    ).and_corrected(
        "The ratio of the two learning rates alone decides whether a network that fits generalises.",
        quantity=one_dimensional_corrected,
        source=OURS,
        near=0,
        **LEARNERS,
    ),
    claim(
        "one-seed",
        "One seed tells the phase of a cell.",
        lambda c: agreement(
            np.arange(c.phase[..., 0].size).reshape(c.phase.shape[:2]), c.phase.values
        ),
        source=PAPER + "Figs 6, 13-15, one seed each",
        near=1,
        inside=ALWAYS,
        why="In all cells but one of ten.",
        note="Share of cells with the phase of most other seeds.",
        along=RATES,
        where=lambda c: c.seeds > 2 and min(len(c.values(name)) for name in RATES) > 1,
        rank="control",
    ),
    claim(
        "boundary",
        "Grokking ends, and memorization begins, where representation and decoder take equally long.",
        boundary_gap,
        source=OURS,
        near=0,
        inside=within_two,
        why="Within a factor of two, as thresholds of accuracy and RQI are conventions; the map knows it to half a step.",
        unit="decades",
        note="Predicted over measured ratio of rates; no constant is fitted.",
        where=reading.has_boundary,
        rank="headline",
        **LEARNERS,
    ),
    claim(
        "both-causes",
        "Networks that do not generalise have one of two causes: a bad representation, or a good one that the decoder "
        "does not use.",
        lambda c: share((c.phase >= 2) & (c.end.rqi > c.p.rqi_threshold), c.phase >= 2),
        source=OURS,
        near=0.25,
        inside=SOME,
        why="Neither is rarer than one in ten; a quarter is what others have seen.",
        note="Share of failures with the RQI wanted.",
        along=RATES,
        among="seeds with failures",
    ),
    claim(
        "memorization-is-of-representation",
        "A network that memorises lacks the representation.",
        memorised_without,
        source=PAPER + "section 4.2",
        near=1,
        inside=ALWAYS,
        why="All but one in ten.",
        **LEARNERS,
    ),
    claim(
        "data-bound",
        "Where the training set does not determine the representation, networks generalise at no learning rates.",
        lucky,
        source=PAPER + "appendix E",
        near=0,
        inside=(0, 0),
        why="A count. The ideal model bounds accuracy, above 20 of 55 samples without exceptions.",
        along=RATES,
        rank="headline",
    ),
    claim(
        "delay-ratio",
        "Generalisation takes the time of the representation and that of the decoder, one after the other.",
        lambda c: by_seed(
            *generalised(c), lambda predicted, measured: np.median(predicted / measured)
        ),
        source=OURS,
        near=1,
        inside=(0.5, 2),
        why="Were both learned at once, the sum would be at most twice the longer one; a factor of two the other way.",
        note="Median over cells of predicted over measured step; no constant is fitted, all cells are held out.",
        rank="headline",
        **TOGETHER,
    ),
    claim(
        "delay-order",
        "The sum of the times of representation and decoder orders the cells of a map by when they generalise.",
        lambda c: by_seed(*generalised(c), rank_correlation, fewest=5),
        source=OURS,
        near=1,
        inside=(0.8, 1),
        why="Steps differ by a hundred between cells; an error of a factor of two swaps neighbours, which leaves .8.",
        note="Rank correlation over cells.",
        **TOGETHER,
    ),
    claim(
        "better-than-rate",
        "At given rates, the sum of both times tells which starts and training sets generalise sooner better than "
        "1 / lambda_3.",
        better_than_rate,
        source=PAPER + "eq. (12)",
        note="Rank correlation over seeds, mean over cells in which all generalise, less that of 1 / lambda_3.",
        **BETTER,
    ),
    claim(
        "decoder-counts",
        "The sum of both times predicts the step of generalisation better than the grokking time of the training set alone.",
        decoder_counts,
        source=PAPER + "eq. (12)",
        note="Median |log2 (predicted / measured)| of 1 / (lambda_3 rate), less that of the sum.",
        **BETTER,
    ),
]
