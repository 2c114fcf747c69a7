"""Quality of chains of draws: R-hat, effective sample size and the standard error of a mean.

After Vehtari, Gelman, Simpson, Carpenter & Bürkner (2021), in NumPy. A chain with a value that is not finite is left out.
"""

from typing import NamedTuple

import numpy as np
from scipy import fft, special, stats


class Mean(NamedTuple):
    """Mean of a quantity over draws.

    `error` is the standard error, deviation over the root of `effective`, the number of independent draws worth as much;
    `rhat` is the rank-normalised split R-hat, 1 where halves of chains agree in place and spread.
    """

    value: float
    error: float
    rhat: float
    effective: float


def mean_of(draws: np.ndarray) -> Mean:
    """Mean of draws, (chain, draw), at least four; of chains that are finite alone, and nan where none is."""
    draws = np.asarray(draws, float)
    kept = draws[np.isfinite(draws).all(1)]
    if not len(kept):
        return Mean(np.nan, np.nan, np.nan, 0.0)
    effective = effective_size(kept)
    error = float(kept.std(ddof=1) / np.sqrt(effective)) if effective > 0 else np.nan
    return Mean(float(kept.mean()), error, rhat(kept), effective)


def error_between(draws: np.ndarray) -> float:
    """Standard error of the mean by the means of chains alone, so large that 1.96 of it hold 95%; nan where one is not."""
    few = stats.t.ppf(0.975, len(draws) - 1) / stats.norm.ppf(0.975)
    with np.errstate(invalid="ignore"):
        return float(draws.mean(1).std(ddof=1) / np.sqrt(len(draws)) * few)


def _split(draws: np.ndarray) -> np.ndarray:
    half = draws.shape[1] // 2
    return np.concatenate([draws[:, :half], draws[:, -half:]])


def _plain_rhat(draws: np.ndarray) -> float:
    length = draws.shape[1]
    within, between = draws.var(1, ddof=1).mean(), draws.mean(1).var(ddof=1)
    if within == 0:
        return 1.0 if between == 0 else np.inf
    return float(np.sqrt((length - 1) / length + between / within))


def rhat(draws: np.ndarray) -> float:
    """Rank-normalised split R-hat, the larger of that of draws and of their distances from the median."""

    def normalised(values):
        ranks = stats.rankdata(values).reshape(values.shape)
        return special.ndtri((ranks - 0.375) / (values.size + 0.25))

    folded = np.abs(draws - np.median(draws))
    return max(_plain_rhat(_split(normalised(values))) for values in (draws, folded))


def effective_size(draws: np.ndarray) -> float:
    """Effective number of draws for their mean, over all chains, halves counted as chains of their own.

    Autocorrelations are summed up to the end of Geyer's initial monotone sequence. At most the number of draws times its
    decimal logarithm; that number where they do not vary.
    """
    split = _split(draws)
    chains, length = split.shape
    total = chains * length
    centred = split - split.mean(1, keepdims=True)
    size = fft.next_fast_len(2 * length)
    power = np.abs(np.asarray(fft.rfft(centred, size))) ** 2
    covariance = np.asarray(fft.irfft(power, size))[:, :length].mean(0) / length
    within = covariance[0] * length / (length - 1)
    between = split.mean(1).var(ddof=1) if chains > 1 else 0.0
    variance = within * (length - 1) / length + between
    if variance == 0:
        return float(total)
    correlation = 1 - (within - covariance * length / (length - 1)) / variance
    correlation[0] = 1.0
    even = length - length % 2
    pairs = correlation[:even:2] + correlation[1:even:2]
    positive = int(np.argmax(pairs <= 0)) if (pairs <= 0).any() else len(pairs)
    pairs = np.minimum.accumulate(pairs[:positive])
    time = max(-1 + 2 * pairs.sum(), 1 / np.log10(total))
    return float(total / time)
