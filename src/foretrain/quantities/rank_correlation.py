"""Rank correlation of two quantities over runs, and its uncertainty."""

import numpy as np
from scipy.stats import rankdata


def ranks(values) -> np.ndarray:
    """Rank along the last axis, from 1/2 on, ties at their mean; "never" is infinity, and last."""
    return rankdata(values, axis=-1) - 0.5


def rank_correlation(x, y) -> np.ndarray:
    """Spearman's along the last axis, shape (...,); nan where one of the two is the same everywhere, or nan somewhere.

    Example:
        >>> float(rank_correlation([1, 2, 3, 4], [10, 20, 40, 30]).round(2))
        0.8
    """
    x, y = np.broadcast_arrays(np.asarray(x, float), np.asarray(y, float))
    known = ~(np.isnan(x) | np.isnan(y)).any(-1)
    x, y = (rank - rank.mean(-1, keepdims=True) for rank in (ranks(x), ranks(y)))
    with np.errstate(invalid="ignore"):
        correlation = (x * y).sum(-1) / np.sqrt((x**2).sum(-1) * (y**2).sum(-1))
    return np.where(known, correlation, np.nan)


def concordance(x, y) -> float:
    """Share of pairs in a group that x orders as y does, minus the share that x orders otherwise; nan without pairs.

    Somers' D: concordant minus discordant pairs over all pairs that differ in y, of all groups together, so that a group of
    which most are "never" counts by the pairs it has.

    Predictions x and what they are to order have shape (..., sample); infinity is last.

    Somers (1962), A new asymmetric measure of association for ordinal variables, Am. Sociol. Rev. 27.
    """
    signs = []
    for values in (np.asarray(x, float), np.asarray(y, float)):
        mine, others = values[..., :, None], values[..., None, :]
        signs.append((mine > others).astype(float) - (mine < others))
    pairs = np.abs(signs[1]).sum()
    return float((signs[0] * signs[1]).sum() / pairs) if pairs else np.nan


def jackknifed(statistic, *samples) -> np.ndarray:
    """One value per sample whose mean and spread are those of a statistic of all of them: Tukey's pseudo-values.

    They are n * statistic(all) - (n - 1) * statistic(all but one), shape (sample,), of arrays (sample, ...). An interval of
    their mean is one of the statistic, which needs many samples: it is rough below ten.

    Tukey (1958), Bias and confidence in not-quite large samples, Ann. Math. Stat. 29.
    """
    count = len(samples[0])
    whole = statistic(*samples)
    without = [
        statistic(*(np.delete(sample, k, axis=0) for sample in samples)) for k in range(count)
    ]
    return count * whole - (count - 1) * np.array(without)
