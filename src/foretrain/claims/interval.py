"""The 95% interval of a statistic over seeds: what the seeds that were run say of all the seeds that might have been.

- ``mean``: Student's t, with ends that move out on the side to which the samples are skewed. Hall's cubic transformation
  removes the skewness g of the studentised mean T = (mean - mu) sqrt(n)/s, T + g (1 + 2 T²)/(6 sqrt n) + g² T³/(27 n),
  so that its inverse at the normal quantile z, times t/z for the few seeds, is how far an end reaches; never less far than t.
- ``fraction`` of seeds of which something is so: Clopper and Pearson's exact interval.
- ``median``: a pair of order statistics with exact binomial coverage, from six seeds on; of fewer the range of the samples,
  widened to Student's t where that reaches further.

Where the values of a mean are known to lie in a range, `foretrain.claims.bounded` covers also a mean that rare runs carry.
How much each covers is measured in ``docs/claims.md``.

Hall (1992), On the removal of skewness by transformation, J. R. Stat. Soc. B 54. Johnson (1978), Modified t tests and
confidence intervals for asymmetrical populations, J. Am. Stat. Assoc. 73. Clopper & Pearson (1934), Biometrika 26.
"""

import math
from dataclasses import dataclass
from functools import cache

import numpy as np
from scipy.special import bdtr, betaincinv, ndtri, stdtrit

from foretrain.claims.bounded import mean_limits
from foretrain.errors import argument_error, finite_array, one_of

STATISTICS = ("mean", "median", "fraction")
_TAIL = 0.025  # on either side
_ROUNDING = 1e-5  # of a range: values of float32 may lie so far outside


@dataclass(frozen=True)
class Interval:
    """A statistic over seeds with its 95% interval, all in the unit of the samples."""

    measured: float  #: the statistic; nan without samples
    low: float  #: lower end; nan where too few samples say anything of the spread
    high: float  #: upper end, likewise; ``low <= measured <= high`` where they are not nan
    #: In words that finish "95% interval by": ``skew-corrected t``, ``order statistics``, ``range and t``, ``Clopper-
    #: Pearson``, ``bounded mean``; or ``none``.
    method: str


def interval(
    samples: np.ndarray,
    statistic: str = "mean",
    within: tuple[float, float] | None = None,
    tail: float = _TAIL,
) -> Interval:
    """The 95% interval of a statistic over seeds.

    Samples that are all equal have the interval [x, x] of their mean and median, which is right of a quantity that no seed
    changes. A fraction of 0 or 1 has one of positive length: measure whether something is so as a fraction, not a mean.

    Args:
        samples: One value per seed, shape (seed,), all finite. Booleans make a fraction.
        statistic: ``mean``, ``median`` or ``fraction``; the samples of a fraction are 0 or 1.
        within: Range in which every value of a mean lies by what it is; None where none is known.
        tail: How often the truth may lie beyond either end, .025 for 95%; `tail_of_look` has that of a later look.

    Returns:
        The interval. Its ends are nan for fewer than two samples, whatever the statistic; infinite where they exceed the
        largest float.

    Raises:
        ArgumentError: A sample is not finite, not 0 or 1 for a fraction, not `within` its range, or the statistic is
            not known.
    """
    samples = finite_array("samples", samples, ndim=1)
    one_of("statistic", statistic, STATISTICS)
    if samples.dtype == bool:
        if statistic == "median":
            raise argument_error("statistic", "be `fraction` for booleans", "is `median`")
        statistic = "fraction"
    values = samples.astype(float)
    if statistic == "fraction" and not np.isin(values, (0, 1)).all():
        raise argument_error("samples", "be 0 or 1 for a fraction", "has other values")
    if values.size < 2:
        measured = float(values[0]) if values.size else math.nan
        return Interval(measured, math.nan, math.nan, "none")
    if statistic == "fraction":
        return _fraction(values, tail)
    if statistic == "median":
        return _median(values, tail)
    return _mean(values, tail) if within is None else _bounded(values, within, tail)


def tail_of_look(look: int) -> float:
    """Return the tail of the interval of a look, 1 the first, where seeds are added after looks at a verdict.

    Tails of .025/(k (k + 1)) add up to .025 over looks k = 1, 2, ...: with 95% all intervals hold the truth, however it is
    decided when to look again. The first look is judged by the plain interval, so that a false normal mean on a bound
    comes to hold in at most 2.5% at the first look and 1.25% at all others; a skewed one more often, as it is missed more.
    """
    return _TAIL if look == 1 else _TAIL / (look * (look + 1))


def between(lower: Interval, upper: Interval) -> Interval:
    """Interval of a quantity that theory leaves open between two bounds: from the lowest to the highest of their ends.

    It contains the quantity at least as often as the worse of the two contains its bound. Its measured value is the middle.
    """
    low, high = min(lower.low, upper.low), max(lower.high, upper.high)
    return Interval(
        _midpoint(lower.measured, upper.measured), low, high, f"{lower.method} of two bounds"
    )


def _bounded(values: np.ndarray, within: tuple[float, float], tail: float) -> Interval:
    low, high = within
    inside = np.clip(values, low, high)
    if np.abs(values - inside).max() > _ROUNDING * (high - low):
        got = f"reach from {values.min():g} to {values.max():g}"
        raise argument_error("samples", f"lie between {low:g} and {high:g}", got)
    return Interval(float(inside.mean()), *mean_limits(inside, within, tail), "bounded mean")


def _mean(values: np.ndarray, tail: float) -> Interval:
    scaled, exponent = _scaled(values)
    mean, error, skewness = _moments(scaled)
    down, up = (error * _reach(side * skewness, values.size, tail) for side in (-1, 1))
    ends = scaled[0] + np.array([mean, mean - down, mean + up])
    measured, low, high = _unscaled(ends, exponent)
    return Interval(measured, low, high, "skew-corrected t")


def _reach(skewness: float, n: int, tail: float) -> float:
    """Number of standard errors above the mean at which an interval ends, for samples of this skewness and size.

    Hall's transformation is ((1 + k T/3)³ - 1)/k + k/6 with k = g/sqrt(n). It meets -z at T = 3 (root - 1)/k; written as
    below, nothing cancels as k goes to zero. As its root goes through zero the reach would leap, and shrink again for more
    skewed samples; from `steep`, where the root is 1/2, it goes on along its tangent, so that it grows with the skewness
    and a little more of that never makes another interval.
    """
    t, normal = _student(n, tail), float(ndtri(1 - tail))
    k = skewness / math.sqrt(n)
    steep = 3 * (math.sqrt(normal**2 + 7 / 12) - normal)  # solves 1 - k (z + k/6) = 1/8
    reach, slope = _hall(min(k, steep), normal)
    return max(t, t / normal * (reach + slope * max(0.0, k - steep)))


def _hall(k: float, normal: float) -> tuple[float, float]:
    """-T where Hall's transformation is -z, and its slope in k."""
    beyond = normal + k / 6
    root = math.cbrt(1 - k * beyond)
    total = 1 + root + root**2
    bent = (1 + 2 * root) * (normal + k / 3) / (3 * root**2)
    return 3 * beyond / total, (0.5 + 3 * beyond * bent / total) / total


def _median(values: np.ndarray, tail: float) -> Interval:
    ordered = np.sort(values)
    n = ordered.size
    middle = _midpoint(float(ordered[(n - 1) // 2]), float(ordered[n // 2]))
    rank = _median_rank(n, tail)
    if rank:
        low, high = float(ordered[rank - 1]), float(ordered[n - rank])
        return Interval(middle, low, high, "order statistics")
    scaled, exponent = _scaled(ordered)
    mean, error, _ = _moments(scaled)
    reach = _student(n, tail) * error
    low, high = _unscaled(scaled[0] + np.array([mean - reach, mean + reach]), exponent)
    return Interval(
        middle, min(low, float(ordered[0])), max(high, float(ordered[-1])), "range and t"
    )


def _midpoint(low: float, high: float) -> float:
    total = low + high
    return total / 2 if math.isfinite(total) else low / 2 + high / 2


def _fraction(values: np.ndarray, tail: float) -> Interval:
    n, k = values.size, int(values.sum())
    low = betaincinv(k, n - k + 1, tail) if k else 0.0
    high = betaincinv(k + 1, n - k, 1 - tail) if k < n else 1.0
    return Interval(k / n, float(low), float(high), "Clopper-Pearson")


def _scaled(values: np.ndarray) -> tuple[np.ndarray, int]:
    """The values over a power of two that brings the largest below one, and its exponent: no square can overflow."""
    exponent = int(np.frexp(np.abs(values).max())[1])
    return np.ldexp(values, -exponent), exponent


def _moments(scaled: np.ndarray) -> tuple[float, float, float]:
    """Mean less the first value, standard error of the mean, and skewness (0 where nothing varies)."""
    gaps = scaled - scaled[0]  # what varies, free of the rounding of a large common part
    mean = float(gaps.mean())
    second, third = (float(np.mean((gaps - mean) ** power)) for power in (2, 3))
    if second == 0:
        return mean, 0.0, 0.0
    return mean, math.sqrt(second / (scaled.size - 1)), third / second**1.5


def _unscaled(scaled: np.ndarray, exponent: int) -> list[float]:
    """The inverse of `_scaled`; what exceeds the largest float is infinite."""
    with np.errstate(over="ignore"):
        return np.ldexp(scaled, exponent).tolist()


@cache
def _student(n: int, tail: float) -> float:
    return float(stdtrit(n - 1, 1 - tail))


@cache
def _median_rank(n: int, tail: float) -> int:
    """Rank of the order statistics, counted from either end, beyond which the median lies so rarely; 0 if there are none."""
    return int(np.searchsorted(bdtr(np.arange(n + 1), n, 0.5), tail))
