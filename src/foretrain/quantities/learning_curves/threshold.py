"""Thresholds from which a curve stays small: the trained fraction that is enough."""

import numpy as np


def lasting_threshold(fractions, values, level: float, *, interpolated: bool = False) -> np.ndarray:
    """Smallest fraction from which on all values stay at or below a level.

    Args:
        fractions: Rising, shape (fraction,).
        values: Shape (..., fraction); nan where nothing was measured, which neither counts as small nor as large.
        level: What still is small.
        interpolated: Where the values cross the level, by a straight line from the last one above it to the next one
            measured, instead of that next fraction itself.

    Returns:
        Shape (...), float64; nan where the last value measured is above the level, or none is measured.
    """
    fractions, values = np.asarray(fractions, float), np.asarray(values, float)
    place = np.arange(fractions.size)
    last = np.where(values > level, place, -1).max(-1, initial=-1)
    after = ~np.isnan(values) & (place > last[..., None])
    reached, first = after.any(-1), after.argmax(-1)
    threshold = fractions[first]
    if interpolated:
        take = lambda index: np.take_along_axis(values, index[..., None], -1)[..., 0]  # noqa: E731
        before = np.maximum(last, 0)
        high, low = take(before), take(first)
        with np.errstate(invalid="ignore", divide="ignore"):
            share = np.where(last >= 0, (level - low) / (high - low), 0.0)
        threshold = threshold - share * (fractions[first] - fractions[before])
    return np.where(reached, threshold, np.nan)


def closing_threshold(fractions: np.ndarray, gaps: np.ndarray, level: float) -> np.ndarray:
    """Smallest trained fraction from which on the gap stays within a level, by linear interpolation.

    It is the first fraction where no gap is wider, 1 where the gap never closes before, nan where a run has none. Of all
    trained, at fraction 1, nothing is behind: nan counts there as no gap. Shapes are those of `lasting_threshold`.
    """
    gaps = np.where(np.isnan(gaps) & (fractions == 1), 0.0, gaps)
    threshold = np.nan_to_num(lasting_threshold(fractions, gaps, level, interpolated=True), nan=1.0)
    return np.where(np.isnan(gaps).any(-1), np.nan, threshold)
