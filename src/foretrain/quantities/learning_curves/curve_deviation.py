"""Distance of measured curves from predicted ones, and the nearest prediction."""

from __future__ import annotations

import math

import numpy as np

from foretrain.lazy import xr


def mean_deviation(measured: np.ndarray, predicted: np.ndarray) -> np.ndarray:
    """Mean absolute difference along curves of shape (..., step), over the measured curve's first value.

    It is nan for a measured curve that is not whole and finite: a run that diverged, or ends early.
    """
    if measured.shape[-1] < predicted.shape[-1]:
        return np.full(np.broadcast_shapes(measured.shape[:-1], predicted.shape[:-1]), np.nan)
    whole = np.asarray(np.isfinite(measured).all(-1))
    gap = np.where(whole[..., None], measured, 0.0) - predicted
    return np.where(whole, np.abs(gap).mean(-1) / measured[..., 0], np.nan)


def largest_difference(first: np.ndarray, second: np.ndarray) -> float:
    """Largest absolute difference of two curves, shape (step,), as far as both go; nan if one of them is empty."""
    length = min(len(first), len(second))
    return float(np.abs(first[:length] - second[:length]).max()) if length else math.nan


def largest_deviation(measured: xr.DataArray, predicted: xr.DataArray) -> float:
    """Largest deviation of runs from what is predicted of each, as far as they went.

    Args:
        measured: Shape (..., step), nan from where a run has ended.
        predicted: The same dims in any order; it may go on after the longest run.

    Returns:
        The deviation, of every run in units of its own largest number or of 1; inf if a run has more than one observation of
        which nothing is predicted (one may be where numbers overflow), nan if there is no observation at all.
    """
    predicted = predicted.transpose(*measured.dims)[..., : measured.sizes["step"]]
    runs, foretold = measured.values, predicted.values
    worst = math.nan
    for place in np.ndindex(runs.shape[:-1]):  # one by one: no copy of many long curves
        ran, known = np.isfinite(runs[place]), np.isfinite(foretold[place])
        if (ran & ~known).sum() > 1:
            return math.inf
        if (both := ran & known).any():
            run = runs[place][both]
            gap = np.abs(run - foretold[place][both]).max() / max(1, np.abs(run).max())
            worst = gap if math.isnan(worst) else max(worst, gap)
    return float(worst)


def closest(parameters: np.ndarray, curves: np.ndarray, measured: np.ndarray) -> float:
    """The parameter whose curve lies closest to a measured one, in mean absolute deviation.

    Between neighbouring parameters the square of the deviation is interpolated by a parabola in the logarithm.

    Args:
        parameters: In geometric progression, shape (parameter,), at least three.
        curves: Shape (step, parameter); one that diverged holds values that are not finite.
        measured: Shape (step,), where the curves begin; it may end earlier.

    Returns:
        The parameter; nan for a measured curve that is not finite, or has not two values.
    """
    if measured.size < 2 or not np.isfinite(measured).all():
        return np.nan
    curves = np.where(np.isfinite(curves), curves, np.finfo(np.float32).max)
    deviation = np.abs(curves[: measured.size] - measured[:, None]).mean(0) ** 2
    at = int(np.clip(deviation.argmin(), 1, len(parameters) - 2))
    left, middle, right = deviation[at - 1 : at + 2]
    curvature = left - 2 * middle + right
    shift = 0.5 * (left - right) / curvature if curvature > 0 else 0.0
    spacing = np.log(parameters[1] / parameters[0])
    return float(parameters[at] * np.exp(np.clip(shift, -1, 1) * spacing))


def falling(loss: np.ndarray, to: float = 0.01) -> np.ndarray:
    """The part of a loss curve until it has fallen to a share of its start for good, at least two observations.

    A curve is compared there: a long flat end would dilute its deviation.
    """
    high = np.flatnonzero(loss > to * loss[0])
    return loss[: max(int(high[-1]) + 2, 2)]


def deviation_while_falling(measured: np.ndarray, predicted: np.ndarray) -> float:
    """Mean |difference| over the measured start, until the loss has fallen to 1% of it for good.

    Args:
        measured: A loss, shape (step,); nan after the run has ended.
        predicted: Shape (step,), as long or longer.

    Returns:
        nan if the run diverged.
    """
    loss = measured[~np.isnan(measured)]
    if loss.size < 2 or not np.isfinite(loss).all():
        return np.nan
    window = falling(loss)
    return np.abs(predicted[: window.size] - window).mean() / window[0]


def deviation_while_learning(measured: np.ndarray, predicted: np.ndarray) -> float:
    """Mean |difference| over the measured drop, until 99% of what is ever learned is learned.

    Arguments as for `deviation_while_falling`; nan if the run diverged at once, or the loss never falls.
    """
    drop = measured[0] - np.nanmin(measured) if np.isfinite(measured).any() else np.nan
    learning = np.flatnonzero(measured > np.nanmin(measured) + 0.01 * drop) if drop > 0 else []
    gap = np.abs(predicted[: measured.size] - measured)
    return gap[learning].mean() / drop if len(learning) else np.nan
