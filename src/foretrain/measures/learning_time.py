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
    """First time at which each mode reaches half of its final strength.

    Args:
        time: Shape (time,).
        strength: Shape (..., time, mode).
        final: Final strength of each mode, shape (mode,) or (..., mode).

    Returns:
        Shape (..., mode), in the unit of `time`; nan where a mode does not get there.
    """
    return crossing_time(time, np.moveaxis(np.asarray(strength), -1, -2), np.asarray(final) / 2)
