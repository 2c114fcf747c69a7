"""When something is learned: the first time a rising quantity crosses its half."""

import numpy as np


def crossing_time(time, values, threshold):
    """First time at which `values` reach `threshold`, linearly interpolated between observations.

    Args:
        time: Shape (time,), ascending; the result is in its unit.
        values: Shape (..., time).
        threshold: Shape (...), or a number.

    Returns:
        Shape (...), float64; nan where the threshold is never reached, `time[0]` where it is reached at once.

    Example:
        >>> crossing_time([0, 1, 2], [[0.0, 1.0, 4.0], [0.0, 0.1, 0.2]], 2.0)
        array([1.33333333,        nan])
    """
    time, values = np.asarray(time, float), np.asarray(values, float)
    threshold = np.broadcast_to(np.asarray(threshold, float), values.shape[:-1])[..., None]
    above = values >= threshold
    reached = above.any(-1)
    after = above.argmax(-1)
    before = np.maximum(after - 1, 0)
    take = lambda index: np.take_along_axis(values, index[..., None], -1)[..., 0]  # noqa: E731
    low, high = take(before), take(after)
    with np.errstate(invalid="ignore", divide="ignore"):
        fraction = np.where(after > before, (threshold[..., 0] - low) / (high - low), 0.0)
    crossed = time[before] + fraction * (time[after] - time[before])
    return np.where(reached, crossed, np.nan)


def half_learning_times(time, strength, final):
    """First time at which each mode reaches half of its final strength, shape (..., mode); nan where it does not.

    Shapes of the arguments are (time,), (..., time, mode) and (..., mode).
    """
    return crossing_time(time, np.moveaxis(np.asarray(strength), -1, -2), np.asarray(final) / 2)


def half_times_of_runs(time: np.ndarray, strength: np.ndarray, final: np.ndarray) -> np.ndarray:
    """The same, shape (run, mode), of runs with a clock of their own, time (run, time) and strength (run, time, mode)."""
    finite = np.where(np.isfinite(strength).all(-1, keepdims=True), strength, np.nan)
    return np.stack([half_learning_times(*run, final) for run in zip(time, finite, strict=True)])


def fall_times(time: np.ndarray, loss: np.ndarray) -> np.ndarray:
    """Times at which a loss, shape (..., time), first falls to 1/2, 1/4, 1/8 and 1/16 of where it began, shape (..., 4)."""
    shares = [crossing_time(time, -loss, -loss[..., 0] / 2**power) for power in (1, 2, 3, 4)]
    return np.stack(shares, -1)


def mean_fall_time(time: np.ndarray, loss: np.ndarray) -> float:
    """Mean of `fall_times` of one run, between observations by exponentials; nan for a run that diverged at once."""
    with np.errstate(divide="ignore", invalid="ignore"):
        decay = np.log(loss / loss[0])
    at = [np.interp(power * np.log(2), -decay, time) for power in (1, 2, 3, 4)]
    return float(np.mean(at)) if np.isfinite(loss[:2]).all() else np.nan
