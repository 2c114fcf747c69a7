"""One loss curve as another one with time rescaled: the best factor, and what it leaves unexplained."""

from collections.abc import Iterable

import numpy as np

from foretrain.quantities.learning_curves.learning_time import crossing_time

_LEVELS = 64  # evenly spaced in the loss between what both curves reach


def time_rescalings(ones: Iterable, others: Iterable) -> np.ndarray:
    """The best rescaling of time, other(factor x t) = loss(t), for every pair of runs.

    The times at which both curves first reach common levels are compared on a logarithmic scale; the factor is their least
    squares. Exchanging the curves inverts the factor and keeps the residual.

    Of every run there are times (ascending from 0) and losses, as far as it went. Returned are, shape (3, run), nan where two
    runs have no level in common: the factor; the standard deviation over levels of the logarithm of the ratio of times, 0 for
    an exact rescaling; and the share of the variance of the other curve's log times that the rescaled curve explains, then 1.
    """
    return np.array([_rescaling(*pair) for pair in zip(ones, others, strict=True)]).T


def _rescaling(first, second) -> tuple[float, float, float]:
    nothing = (np.nan, np.nan, np.nan)
    if not (first[0].size and second[0].size):
        return nothing
    high, low = min(first[1][0], second[1][0]), max(first[1].min(), second[1].min())
    if not high > low:
        return nothing
    # The ends are left out: the start is at time 0, and the lowest level is reached by accident of the record's end.
    levels = np.linspace(float(high), float(low), _LEVELS + 2)[1:-1]
    reached = []
    for times, losses in (first, second):
        falling = -np.minimum.accumulate(losses.astype(float))
        tiled = np.broadcast_to(falling, (_LEVELS, len(falling)))
        reached.append(crossing_time(times, tiled, -levels))
    ratio = np.log(reached[1] / reached[0])
    explained = 1 - ratio.var() / max(np.log(reached[1]).var(), np.finfo(float).tiny)
    return float(np.exp(ratio.mean())), float(ratio.std()), float(explained)
