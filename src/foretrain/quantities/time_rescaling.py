"""One loss curve as another one with time rescaled: the best factor, and what it leaves unexplained."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from foretrain.errors import ArgumentError, argument_error, finite_array
from foretrain.quantities.learning_time import crossing_time


@dataclass(frozen=True)
class TimeRescaling:
    """How well one loss curve is another one with time rescaled.

    Attributes:
        factor: The other curve reaches every level `factor` times later, in the mean of the
            logarithm.
        residual: Standard deviation over levels of the logarithm of that ratio; 0 for an exact
            rescaling.
        explained: Share of the variance over levels of the other curve's log times that the
            rescaled curve explains; 1 for an exact rescaling, negative where its mean does better.
    """

    factor: float
    residual: float
    explained: float


def time_rescaling(times, losses, other_times, other_losses, *, levels: int = 64) -> TimeRescaling:
    """The best rescaling of time between two loss curves: other(factor x t) = loss(t).

    The times at which each curve first reaches common levels are compared on a logarithmic scale;
    the factor is their least squares. Exchanging the curves inverts the factor and keeps the
    residual.

    Args:
        times: Shape (time,), ascending, starting at 0.
        losses: Shape (time,).
        other_times: As `times`, its own length.
        other_losses: As `losses`.
        levels: Number of levels, evenly spaced in the loss between what both curves reach.

    Raises:
        ArgumentError: the curves have no level in common.
    """
    curves = (times, losses), (other_times, other_losses)
    values = [
        finite_array(n, v[1], ndim=1)
        for n, v in zip(("losses", "other_losses"), curves, strict=True)
    ]
    high = min(float(value[0]) for value in values)
    low = max(float(value.min()) for value in values)
    if not high > low:
        raise argument_error(
            "other_losses", "share levels with `losses`", f"they share none ({low:g} to {high:g})"
        )
    # The ends are left out: the start is at time 0, and the lowest level is reached by accident of
    # the record's end.
    wanted = np.linspace(high, low, levels + 2)[1:-1]
    reached = []
    for (curve_times, _), value in zip(curves, values, strict=True):
        falling = -np.minimum.accumulate(value.astype(float))
        tiled = np.broadcast_to(falling, (levels, len(falling)))
        reached.append(crossing_time(np.asarray(curve_times, dtype=float), tiled, -wanted))
    ratio = np.log(reached[1] / reached[0])
    explained = 1 - ratio.var() / max(np.log(reached[1]).var(), np.finfo(float).tiny)
    return TimeRescaling(float(np.exp(ratio.mean())), float(ratio.std()), float(explained))


def time_rescalings(ones: Iterable, others: Iterable) -> np.ndarray:
    """Factor, residual and share explained for every pair of runs, shape (3, run); nan where they have no level in common.

    Args:
        ones: Times and losses of every run, as far as it went.
        others: As `ones`.
    """
    return np.array([_of_pair(*pair) for pair in zip(ones, others, strict=True)]).T


def _of_pair(one, other) -> tuple[float, float, float]:
    if not (one[0].size and other[0].size):
        return np.nan, np.nan, np.nan
    try:
        found = time_rescaling(*one, *other)
    except ArgumentError:  # no level in common, as of runs that diverged
        return np.nan, np.nan, np.nan
    return found.factor, found.residual, found.explained
