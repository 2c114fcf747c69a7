"""Claims on phases, their causes and their times; ``study.py`` holds the predictions."""

import numpy as np
import xarray as xr

from foretrain.quantities.allowed import ALWAYS, MOST, POSITIVE, SOME
from foretrain.quantities.rank_correlation import rank_correlation, ranks
from foretrain.study import Exact, PerSeed, claim, skip_if
from foretrain.training.phases import PHASES

from .study import learners, tells_enough

PAPER = "Liu et al. (2022), "
OURS = "docs/studies/grokking-phases.md"
RATES = ("decoder_learning_rate", "embedding_learning_rate")
KNOBS = (*RATES, "decoder_decay", "embedding_decay", "batch_size", "init_scale")
CAUSES = ("data", "representation", "decoder")
LEARNERS = {"along": RATES, "among": "seeds whose training set tells enough"}
TOGETHER = {"along": RATES, "among": "seeds that generalise in enough cells"}
MAPPED = {**LEARNERS, "along": KNOBS}
BETTER = {"inside": POSITIVE, "why": "A difference that the seeds establish.", **TOGETHER}
NEARLY = {
    "near": 0,
    "inside": (-0.1, 0.1),
    "rank": "headline",
    "where": lambda c: is_map(c) and c.seeds >= 2,
    "why": "'Nearly' as one run in ten. Where nothing depends on the ratio it would be the whole share.",
    "note": "Share of phases that most other seeds of equal ratio have, less that of equal rates.",
}


def reached_accuracies(c):
    """Return the runs that reached both accuracies, bool, and those that reached that of training."""
    return c.phase < 2, c.phase < 3


def causes(c):
    """Return the place in `CAUSES` of the cause of every run that does not generalise, -1 of others."""
    why = (1 + (c.end.rqi > c.p.rqi_threshold).astype(int)).where(tells_enough(c), 0)
    return why.where(c.phase >= 2, -1)


def log_ratio(c):
    """Return log10 of embedding rate over decoder rate, shape (decoder rate, embedding rate)."""
    decoder, embedding = (np.log10(c.values(name)) for name in RATES)
    return np.round(embedding[None] - decoder[:, None], 2)


def is_map(c, least=3):
    """Return True where both rates take so many values at least, above zero."""
    return all(len(rates) >= least and min(rates) > 0 for rates in map(c.values, RATES))


def agreement(groups, ends, known=True):
    """Return the share of the runs of a seed that end as most runs of other seeds in their group; ties count in part.

    Groups are numbers of shape (decoder rate, embedding rate); ends, codes, and known, the runs that count, bool, have a
    dim more, of seeds; the result has the shape (seed,).
    """
    known = np.broadcast_to(known, ends.shape)
    kinds = (ends[..., None] == np.unique(ends)) & known[..., None]
    credit = np.zeros(ends.shape)
    for group in np.unique(groups):
        own = kinds[groups == group]  # (cell, seed, kind)
        counts = own.sum((0, 1)) - own.sum(0)  # of the others, (seed, kind)
        most = (counts == counts.max(1, keepdims=True)) & (counts > 0)
        credit[groups == group] = (own * most / np.maximum(most.sum(1, keepdims=True), 1)).sum(2)
    with np.errstate(invalid="ignore"):
        return credit.sum((0, 1)) / known.sum((0, 1))


def measured_boundary(c):
    """Return log10 of the ratio of rates above which fitted runs generalise, with the fewest exceptions, shape (seed,)."""
    good, fit = (which.values for which in reached_accuracies(c))
    ratio = log_ratio(c)
    places = np.unique(ratio)
    middles = (places[1:] + places[:-1]) / 2
    boundary = np.full(c.seeds, np.nan)
    for seed in range(c.seeds):
        which, x = good[..., seed][fit[..., seed]], ratio[fit[..., seed]]
        if which.any() and not which.all():
            wrong = ((x[:, None] > middles) != which[:, None]).sum(0)
            boundary[seed] = middles[wrong == wrong.min()].mean()
    return boundary


def head_start(c):
    """Return log10 of the decoder's time over that of the representation: above 0 the representation is first."""
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.log10(c.theory.decoder_step) - np.log10(c.theory.rqi_step)


def generalisation_steps(c):
    """Return predicted and measured step of validation, nan where a run does not generalise, (cell, seed) each."""
    good = reached_accuracies(c)[0] & learners(c)
    skip_if(not good.any(), "no run generalises")
    steps = c.theory.validation_step, c.validation_step
    predicted, measured = (x.where(good).values.reshape(-1, c.seeds) for x in steps)
    return predicted, np.maximum(measured, 1)


def by_seed(predicted, measured, measure, fewest=1):
    """Return a measure of predicted and measured steps of the cells in which a seed generalised; nan with too few."""
    values = np.full(predicted.shape[1], np.nan)
    for seed in range(values.size):
        known = ~np.isnan(predicted[:, seed])
        if known.sum() >= fewest:
            values[seed] = measure(predicted[known, seed], measured[known, seed])
    return values


def order_of_seeds(predictor, measured, which):
    """Return what each seed adds to the rank correlation over seeds, mean over cells, times the number of seeds.

    The predictor of the order broadcasts to steps `measured`, (cell, seed), nan where a run does not generalise. Seeds in
    `which`, bool, count, and cells in which all of these generalise.
    """
    predictor, measured = (x[:, which] for x in np.broadcast_arrays(predictor, measured))
    known = ~np.isnan(measured).any(1)
    skip_if(which.sum() < 4 or not known.any(), "too few seeds generalise")
    places = np.stack([ranks(x[known]) for x in (predictor, measured)])
    parts = places - places.mean(2, keepdims=True)
    size = np.sqrt((parts**2).mean(2, keepdims=True)).prod(0)
    values = np.full(which.shape, np.nan)
    values[which] = (parts.prod(0) / np.maximum(size, 1e-12)).mean(0)
    return values


def log_gap(predicted, measured):
    """Return the median over cells of |log2 (predicted / measured)|."""
    return np.median(np.abs(np.log2(predicted / measured)))


def loss_by_ratio(c, ends, known=True):
    """Return the share of ends that the ratio of rates tells, less the share that both rates tell, shape (seed,)."""
    ratio = log_ratio(c)
    cells = np.arange(ratio.size).reshape(ratio.shape)
    return agreement(ratio, ends, known) - agreement(cells, ends, known)


def one_dimensional_corrected(c):
    good, fit = reached_accuracies(c)
    which = learners(c)
    return which.where(which, np.nan) * loss_by_ratio(c, good.values * 1, (fit & which).values)


def boundary_gap(c):
    measured = measured_boundary(c)
    known = measured[learners(c).values & ~np.isnan(measured)]
    note = f"Measured at {known.mean():.2f} decades." if known.size else "No boundary in the map."
    # At that ratio of rates representation and decoder take equally long.
    gap = log_ratio(c)[0, 0] - head_start(c).values[0, 0] - measured
    return PerSeed(np.where(learners(c), gap, np.nan), note)


def within_two(c):
    reach = np.log10(2) + np.diff(np.unique(log_ratio(c))).max() / 2
    return -reach, reach


def outcomes(c):
    """Return 0, 1, 2 for runs that generalise, memorise, are confused, predicted and measured, with the dims of a map."""
    theory, steps = c.theory, c.p.steps
    first = (theory.rqi_step <= theory.decoder_step) & (theory.validation_step <= steps)
    confused = (theory.decoder_step > steps) * 2
    return xr.where(first, 0, np.maximum(confused, 1)), np.maximum(c.phase - 1, 0)


def four_phases(c):
    """Return True for seeds with every phase somewhere in the map, nan where the training set does not tell enough."""
    seen = (c.phase == xr.DataArray(range(len(PHASES)), dims="code")).any(KNOBS)
    return seen.all("code").where(learners(c))


def share_gap(c):
    """Return the share of runs that generalise less the predicted one, (seed,), with the shares of all phases."""
    predicted, measured = ((x == 0).mean(KNOBS) for x in outcomes(c))
    shares = (f"{name} {float((c.phase == code).mean()):.2f}" for code, name in enumerate(PHASES))
    return PerSeed((measured - predicted).where(learners(c)), f"Of all runs: {', '.join(shares)}.")


def within_strip(c):
    """Return what a boundary that is as far from its place as is allowed adds to a share of the map, of either sign."""
    return tuple(np.divide(within_two(c), np.ptp(np.log10(c.values(RATES[0])))))


def known_map(c):
    """Return True for a map of the decoder's rate and of what the theory knows: its decay, or the initial scale."""
    if "decoder_step" not in c.theory or any(c.values("batch_size") + c.values("embedding_decay")):
        return False  # the theory knows no batches, and no decay of embeddings
    known = max(len(c.values(name)) for name in ("decoder_decay", "init_scale")) > 2
    return known and is_map(c, 1) and len(c.values(RATES[0])) > 2


def better_than_chance(c):
    """Return the share of runs whose outcome is told, less that of the most frequent outcome, (seed,)."""
    predicted, measured = outcomes(c)
    shares = [(measured == code).mean(KNOBS) for code in range(3)]
    return ((predicted == measured).mean(KNOBS) - np.maximum.reduce(shares)).where(learners(c))


def share(part, whole):
    """Return the share of a part of the runs in the whole, shape (seed,), with the number of runs in the whole."""
    skip_if(not (count := int(whole.sum())), "there are no such runs")
    return PerSeed(part.sum(RATES) / whole.sum(RATES), f"Of {count} runs.")


def memorisation_without(c):
    memorised = (c.phase == 2) & learners(c)
    return share(memorised & (causes(c) == CAUSES.index("representation")), memorised)


def lucky_runs(c):
    """Return the number of runs that generalise though their training set does not tell enough."""
    which = ~learners(c)
    skip_if(not which.any(), "all training sets tell enough")
    return Exact(int((reached_accuracies(c)[0] & which).sum()), seeds=int(which.sum()))


def rate_alone(c):
    """Return 1 / (lambda_3 rate) of every run, infinity for never, (cell, seed)."""
    with np.errstate(divide="ignore"):
        steps = 1 / (c.lambda_3 * c.axis(RATES[1]))
    return steps.transpose(*c.phase.dims).values.reshape(-1, c.seeds)


def better_than_rate(c):
    predicted, measured = generalisation_steps(c)
    which = learners(c).values
    ours, others = (order_of_seeds(x, measured, which) for x in (predicted, rate_alone(c)))
    return ours - others


def decoder_counts(c):
    (predicted, measured), steps = generalisation_steps(c), rate_alone(c)
    values = by_seed(np.where(np.isnan(predicted), np.nan, steps), measured, log_gap)
    return np.where(np.isinf(values), np.nan, values) - by_seed(predicted, measured, log_gap)


CLAIMS = [
    *claim(
        "one-dimensional",
        "The phase of a network depends only on the ratio of the two learning rates.",
        lambda c: loss_by_ratio(c, c.phase.values),
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
        where=lambda c: is_map(c, 1) and np.unique(log_ratio(c)).size > 2,
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
        memorisation_without,
        source=PAPER + "section 4.2",
        near=1,
        inside=ALWAYS,
        why="All but one in ten.",
        **LEARNERS,
    ),
    claim(
        "data-bound",
        "Where the training set does not determine the representation, networks generalise at no learning rates.",
        lucky_runs,
        source=PAPER + "appendix E",
        at_most=0,
        why="A count. The ideal model bounds accuracy, above 20 of 55 samples without exceptions.",
        along=RATES,
        rank="headline",
    ),
    claim(
        "delay-ratio",
        "Generalisation takes the time of the representation and that of the decoder, one after the other.",
        lambda c: by_seed(
            *generalisation_steps(c), lambda predicted, measured: np.median(predicted / measured)
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
        lambda c: by_seed(*generalisation_steps(c), rank_correlation, fewest=5),
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
    claim(
        "four-phases",
        "A map of rate and decay of the decoder has all four phases.",
        four_phases,
        source=PAPER + "section 4.1 (i)",
        near=1,
        inside=MOST,
        why="In most maps; each of the paper's is of one seed.",
        where=lambda c: min(len(c.values(name)) for name in (RATES[0], "decoder_decay")) > 2,
        statistic="fraction",
        rank="headline",
        **MAPPED,
    ),
    claim(
        "outcome",
        "The theory tells which networks of a map generalise, memorise or are confused.",
        better_than_chance,
        source=OURS,
        note="Share of runs that are told, less the share of the most frequent outcome.",
        where=known_map,
        **BETTER | MAPPED,
    ),
    claim(
        "share",
        "The theory tells how large a share of a map's networks generalises.",
        share_gap,
        source=OURS,
        near=0,
        inside=within_strip,
        why="The boundary by a factor of two or half a step elsewhere, as part of the rates of the map.",
        note="Measured less predicted share.",
        where=known_map,
        **MAPPED,
    ),
]
