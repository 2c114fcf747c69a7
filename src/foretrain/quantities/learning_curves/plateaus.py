r"""Plateaus of a loss curve: how many, where and how long.

A plateau is a stretch on which the loss takes much longer to fall by a given fraction than it does
afterwards. With `depth` f let the dwell of a level L be the time from first reaching L to first
reaching (1 - f) L, and regard the logarithm of the dwell as a function of the level. A plateau is a
local maximum of it with prominence log(`acceleration`): the next fall by the same fraction takes at
most 1/`acceleration` of the time at some later level before a still longer dwell, and likewise at
some earlier level unless the plateau is the first thing that happens. It lasts for the dwell there.

So defined, no unit of time, no smoothing and no threshold of a derivative enters; an exponential
decay has none (all dwells are equal), nor has a power law (they only grow), nor the flat end of
training (no fall follows). A record that ends on a plateau does not count it.

How many plateaus are counted hangs on `acceleration`; how strong each is does not. Where a verdict is asked for, look at
`plateau_strengths`: a plateau of strength 4 is found at every usual setting, one of strength 1.5 at hardly any.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import xarray as xr
from scipy.signal import find_peaks

from foretrain.errors import argument_error, finite_array, real, same_length
from foretrain.quantities.learning_curves.learning_time import crossing_time

_LEVELS_PER_DEPTH = 8


@dataclass(frozen=True)
class LossPlateau:
    """One plateau."""

    start: float  #: time at which the loss first reaches the plateau's level
    end: float  #: time at which it first reaches (1 - depth) of it
    loss: float  #: the level at the start
    #: How many times slower the loss falls there than beside it, exp of the prominence; it is found at every `acceleration`
    #: up to this.
    strength: float


def plateaus(
    times, losses, *, depth: float = 0.2, acceleration: float = 3.0, floor: float = 1e-6
) -> list[LossPlateau]:
    """The plateaus of one loss curve, in order.

    Args:
        times: Shape (time,), ascending, in any unit; steps do as well.
        losses: Shape (time,). Only its running minimum counts, so that oscillations do not.
        depth: f, the fall that ends a plateau, in (0, 1). Loss above a non-zero end counts as it
            is: subtract the end to see plateaus close to it.
        acceleration: How many times faster an equal fall must be beside the plateau; >= 1.
        floor: Losses below `floor` times the first are not looked at, where rounding rules.

    Returns:
        The plateaus found; their level is known to 1/8 of log(1 - depth).

    Raises:
        ArgumentError: curves of different lengths, times out of order, a first loss that is not
            positive, a threshold out of its range.

    Example:
        >>> times = np.arange(200.0)
        >>> losses = 1 / (1 + np.exp((times - 60) / 3)) + 0.1 / (1 + np.exp((times - 140) / 3))
        >>> [round(plateau.end) for plateau in plateaus(times, losses)]
        [56, 134]
    """
    times, fallen = _falling_curve(times, losses, floor)
    if real("depth", depth, above=0) >= 1:
        raise argument_error("depth", "be less than 1", f"is {depth:g}")
    acceleration = real("acceleration", acceleration, minimum=1)
    spacing = -np.log1p(-depth) / _LEVELS_PER_DEPTH
    levels = spacing * np.arange(int(np.floor(fallen[-1] / spacing + 1e-9)) + 1)
    reached = crossing_time(times, np.broadcast_to(fallen, (len(levels), len(fallen))), levels)
    dwells = reached[_LEVELS_PER_DEPTH:] - reached[:-_LEVELS_PER_DEPTH]
    if not dwells.size:
        return []
    logs = np.log(np.maximum(dwells, np.finfo(float).tiny))
    # Nothing precedes the first level: a value below all makes it a maximum if what follows is faster.
    peaks, properties = find_peaks(np.append(logs.min() - 1, logs), prominence=np.log(acceleration))
    first = float(np.asarray(losses, dtype=float)[0])
    return [
        LossPlateau(
            float(reached[peak]),
            float(reached[peak + _LEVELS_PER_DEPTH]),
            first * float(np.exp(-levels[peak])),
            float(np.exp(prominence)),
        )
        for peak, prominence in zip(peaks - 1, properties["prominences"], strict=True)
    ]


def plateau_strengths(times, losses, nth: int = 1, **thresholds) -> np.ndarray:
    """Strength of the `nth` strongest plateau of every run, shape (run,): 1 if it has fewer, nan if it diverged.

    Losses have shape (run, time). A run that ended early is nan from there on; one whose last finite loss is not below its
    first has diverged. Times and thresholds are those of `plateaus`.
    """

    def strength(times, losses):
        flats = plateaus(times, losses, acceleration=1, **thresholds)
        return sorted([1.0] * nth + [flat.strength for flat in flats])[-nth]

    return by_run(strength, times, losses)


def by_run(strength: Callable[..., float], times, losses) -> np.ndarray:
    """Return a function of times and losses of every run up to its end, shape (run,); nan of a run that diverged."""
    strengths = []
    for curve in np.asarray(losses, dtype=float):
        length = np.argmin(np.isfinite(curve)) if not np.isfinite(curve).all() else len(curve)
        fell = length >= 2 and curve[length - 1] < curve[0]
        strengths.append(strength(times[:length], curve[:length]) if fell else np.nan)
    return np.array(strengths)


def plateau_length(times, losses, *, upper: float, lower: float) -> float:
    """Time from first reaching the loss `upper` to first reaching `lower`.

    Interpolated in the logarithm of the loss. With upper = 1.1 and lower = 0.9 (times the squared norm of the target)
    this is the plateau of a rank-one fit as `foretrain.theory.factorization.rank_one_plateau` predicts it.
    It is in the unit of the times, ascending, and inf if `lower` > 0 is never reached.
    """
    lower = real("lower", lower, above=0)
    upper = real("upper", upper, above=lower)
    first = float(np.asarray(losses, dtype=float)[0])
    times, fallen = _falling_curve(times, losses, min(lower / abs(first or 1.0), 1.0) / 2)
    start, end = (
        crossing_time(times, fallen, max(np.log(first / level), 0.0)) for level in (upper, lower)
    )
    return float("inf") if np.isnan(end) else float(end - start)


def plateau_lengths(
    time: xr.DataArray, losses: xr.DataArray, *, upper: float, lower: float
) -> xr.DataArray:
    """The `plateau_length` of all runs: losses with a dim ``step``, nan after a run has ended, to times without it.

    It is nan for a run that does not come to `lower`.
    """
    losses = losses.transpose(..., "step")
    lengths = np.full(losses.shape[:-1], np.nan)
    for place in np.ndindex(lengths.shape):
        curve = losses.values[place]
        kept = np.isfinite(curve)
        if kept.any() and curve[0] > 0:
            length = plateau_length(time.values[kept], curve[kept], upper=upper, lower=lower)
            lengths[place] = length if np.isfinite(length) else np.nan
    return losses.isel(step=0, drop=True).copy(data=lengths)


def _falling_curve(times, losses, floor):
    """Times, and the logarithm by which the running minimum has fallen, down to the floor."""
    times = finite_array("times", times, ndim=1).astype(float)
    losses = finite_array("losses", losses, ndim=1).astype(float)
    same_length(times=times, losses=losses)
    if len(times) == 0 or (np.diff(times) <= 0).any():
        raise argument_error("times", "be ascending", "is not" if len(times) else "is empty")
    first = real("losses[0]", losses[0], above=0)
    floor = real("floor", floor, above=0, maximum=1)
    return times, -np.log(np.minimum.accumulate(np.maximum(losses / first, floor)))
