"""Readings of a map of phases: which runs generalise, why others do not, where boundaries are, and when."""

import numpy as np

from foretrain.quantities.rank_correlation import ranks
from foretrain.study import skip_if
from foretrain.training.embedding import operation
from foretrain.training.embedding_claims import SLACK

RATES = ("decoder_learning_rate", "embedding_learning_rate")
CAUSES = ("data", "representation", "decoder")


def learned(c):
    """Return the runs that reached both accuracies, bool, and those that reached that of training."""
    return c.phase < 2, c.phase < 3


def tells_enough(c):
    """Return the runs of which the ideal model of the training set has the validation accuracy wanted, bool."""
    total = len(operation(c.p).samples)
    if not (rest := total - c.p.training_size):
        return c.ideal_accuracy >= 0
    ideal = (c.ideal_accuracy * total - c.p.training_size) / rest
    return ideal >= c.p.accuracy_threshold - SLACK * total


def learners(c):
    """Return the seeds whose training set tells enough, bool (seed,)."""
    which = tells_enough(c)
    return which.isel({dim: 0 for dim in which.dims if dim != "seed"}, drop=True)


def causes(c):
    """Return the place in `CAUSES` of the cause of every run that does not generalise, -1 of others."""
    decoder = c.end.rqi > c.p.rqi_threshold
    why = (1 + decoder.astype(int)).where(tells_enough(c), 0)
    return why.where(c.phase >= 2, -1)


def log_ratio(c):
    """Return log10 of embedding rate over decoder rate, shape (decoder rate, embedding rate)."""
    decoder, embedding = (np.log10(c.values(name)) for name in RATES)
    return np.round(embedding[None] - decoder[:, None], 2)


def is_map(c, least=3):
    """Return True where both rates take so many values at least, above zero."""
    return all(len(rates) >= least and min(rates) > 0 for rates in map(c.values, RATES))


def has_boundary(c):
    """Return True where there are rates of three ratios at least, above zero: one swept rate is enough."""
    return is_map(c, 1) and np.unique(log_ratio(c)).size > 2


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
    good, fit = (which.values for which in learned(c))
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


def predicted_boundary(c):
    """Return log10 of the ratio of rates at which representation and decoder take equally long, shape (seed,)."""
    return log_ratio(c)[0, 0] - head_start(c).values[0, 0]


def generalised(c):
    """Return predicted and measured step of validation, nan where a run does not generalise, (cell, seed) each."""
    good = learned(c)[0] & learners(c)
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
    """Return the rank correlation over seeds, mean over cells, as what each seed adds to it times their number.

    Args:
        predictor: Predictor of the order, (cell, seed), or anything that broadcasts to it.
        measured: Steps, (cell, seed); nan where a run does not generalise.
        which: Seeds that count, bool (seed,). Cells count in which all of these generalise.
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


def off(predicted, measured):
    """Return the median over cells of |log2 (predicted / measured)|."""
    return np.median(np.abs(np.log2(predicted / measured)))
