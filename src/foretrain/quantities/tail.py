"""The tail of a falling curve: with which power of time it falls, and how much of it is left for ever."""

import numpy as np


def tail_exponent(times: np.ndarray, values: np.ndarray, start: float = 0.5) -> float:
    """Least-squares slope of the log value along log time, from that part of the last time on.

    -1 for 1/t; about 0 for a curve that is stuck; below any power, and ever lower, for an exponential.

    Args:
        times: Shape (time,), ascending, the last positive.
        values: Shape (time,), positive.
        start: Part of the last time at which the tail begins.

    Returns:
        The slope; nan with fewer than three observations, or where a value is not positive.
    """
    tail = times >= start * times[-1]
    if tail.sum() < 3 or not (values[tail] > 0).all():
        return np.nan
    return float(np.polyfit(np.log(times[tail]), np.log(values[tail]), 1)[0])


def floor_share(times: np.ndarray, values: np.ndarray, start: float = 0.5) -> float:
    """What is left for ever of the last value, by a least-squares fit of c + a/t to the tail: c over the last value.

    0 for 1/t, 1 for a curve that is stuck, negative for one that falls faster than 1/t.

    Args:
        times: As for `tail_exponent`.
        values: Likewise.
        start: Likewise.

    Returns:
        The share; nan with fewer than three observations, or where a value is not positive.
    """
    tail = times >= start * times[-1]
    if tail.sum() < 3 or not (values[tail] > 0).all():
        return np.nan
    left = np.polyfit(times[-1] / times[tail], values[tail] / values[-1], 1)[1]
    return float(left)
