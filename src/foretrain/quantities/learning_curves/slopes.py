"""Slopes of curves: of straight lines, of powers, and of the tail with which a curve falls."""

import numpy as np


def slopes(x: np.ndarray, curves: np.ndarray) -> np.ndarray:
    """Least-squares slope of each column of `curves`, shape (x, seed), against x, over the rows in which it is known."""
    finite = np.isfinite(curves)
    count = np.maximum(finite.sum(0), 1)
    centred = np.where(finite, x[:, None] - (x[:, None] * finite).sum(0) / count, 0.0)
    with np.errstate(invalid="ignore", divide="ignore"):
        return (centred * np.where(finite, curves, 0.0)).sum(0) / (centred**2).sum(0)


def power(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Least-squares slope of ln y along ln x.

    Args:
        x: Positive, shape (x,).
        y: Shape (x, seed).

    Returns:
        Shape (seed,); nan for a seed of which a value is unknown, infinite or not positive.
    """
    x = np.log(x) - np.log(x).mean()
    y = np.asarray(y, float)
    return x @ np.log(np.where((y > 0) & np.isfinite(y), y, np.nan)) / (x @ x)


def _tail(times, values):
    """Both from half of the last time on; None with fewer than three observations, or where a value is not positive."""
    tail = times >= 0.5 * times[-1]
    return (times[tail], values[tail]) if tail.sum() > 2 and (values[tail] > 0).all() else None


def tail_exponent(times: np.ndarray, values: np.ndarray) -> float:
    """Least-squares slope of the log value along log time, from half of the last time on.

    -1 for 1/t; about 0 for a curve that is stuck; below any power, and ever lower, for an exponential.

    Args:
        times: Shape (time,), ascending, the last positive.
        values: Shape (time,), positive.

    Returns:
        The slope; nan with fewer than three observations, or where a value is not positive.

    Example:
        >>> times = np.arange(1.0, 100.0)
        >>> round(tail_exponent(times, 1 / times), 6)
        -1.0
    """
    tail = _tail(times, values)
    if tail is None:
        return np.nan
    logarithms = np.log(tail)
    return float(np.polyfit(logarithms[0], logarithms[1], 1)[0])


def floor_share(times: np.ndarray, values: np.ndarray) -> float:
    """Share of the last value that never decays: c over the last value, by a least-squares fit of c + a/t to the tail.

    0 for 1/t, 1 for a curve that is stuck, negative for one that falls faster than 1/t; arguments as for `tail_exponent`,
    nan likewise.
    """
    tail = _tail(times, values)
    if tail is None:
        return np.nan
    return float(np.polyfit(times[-1] / tail[0], tail[1] / values[-1], 1)[1])
