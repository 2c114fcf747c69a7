"""How the volume of low loss grows with its scale, lambda(eps) = d ln V / d ln eps, by counting.

`in_box` draws at random from the whole box: unbiased, with an exact error, and blind below the scale that one draw in so many
reaches, so of use for a handful of parameters. `nested` walks down in levels of equal shares and reaches any scale in any
number of parameters, as long as its walkers spread over every level: two halves of them walk apart, and their agreement says
how many walkers they are worth and whether to trust them. What neither half finds, such as a narrow valley, they do not show.
Both give lambda(eps); what samplers at an inverse temperature give is another quantity (see `foretrain.theory.landscapes`).
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from foretrain.errors import argument_error, integer, real

_ENOUGH = 20  # draws below which a slope of their number says nothing
_LIKELY = 3.0  # standard errors within which what is independent agrees
_WORTH = 1.5  # times their error that halves may differ by: walkers are then worth less than half of their number


@dataclass(frozen=True)
class VolumeCurve:
    """lambda(eps) as counted.

    Attributes:
        scale: eps, shape (scale,).
        value: lambda(eps), shape (scale,); nan where too few draws were that low.
        error: Its standard error, shape (scale,).
        log_volume: ln of the share of the box with a loss below eps, shape (scale,).
        spread: Of `nested`: by how many errors of independent walkers two halves differ, the root mean square over levels;
            1 where walkers forget where they were within a level. `error` is that of independent walkers times it, if it
            is above 1. Of `in_box`, whose draws are independent, 1.
        drift: Of `nested`: difference of the halves' ln V at the same scale, the lowest one, over its error; else 0.
    """

    scale: np.ndarray
    value: np.ndarray
    error: np.ndarray
    log_volume: np.ndarray
    spread: float = 1.0
    drift: float = 0.0

    def doubts(self) -> list[str]:
        """Why it is not to be trusted; empty if it is."""
        found = []
        if not self.spread <= max(_WORTH, 1 + _LIKELY / np.sqrt(2 * len(self.scale))):
            found.append(
                f"halves of the walkers differ by {self.spread:.1f} times their error: they are worth "
                f"{1 / self.spread**2:.0%} of their number, take more moves"
            )
        if not abs(self.drift) <= _LIKELY:
            found.append(
                f"halves disagree on the volume by {abs(self.drift):.1f} standard errors: take more walkers and moves"
            )
        return found


def in_box(
    loss: Callable[[Any], Any],
    dimension: int,
    scales,
    random: np.random.Generator,
    *,
    draws: int = 1_000_000,
    width: float = 0.2,
    block: int = 100_000,
) -> VolumeCurve:
    """lambda(eps) from uniform draws in [-1, 1]^d: the slope of ln(number below eps) between eps e^(-w) and eps e^w.

    Args:
        loss: ``loss(w)``, w of shape (draws, d), float64; shape (draws,), at least 0.
        dimension: d. With k effective parameters one draw in eps^(-k/2) is below eps: a few parameters at most.
        scales: eps, ascending or not, above 0.
        random: What to draw from.
        draws: In all; memory is that of `block` of them.
        width: w, half of the window in ln eps. A curve that bends has a bias of second order in it.
        block: Draws at once.

    Returns:
        The curve. Of N2 draws below the upper end a share exp(-2 w lambda) is below the lower one: the error is binomial.
    """
    scales, width = np.asarray(scales, float), real("width", width, above=0)
    edges = np.stack([scales * np.exp(-width), scales, scales * np.exp(width)])
    counts, done = np.zeros(edges.shape), 0
    while done < draws:
        size = min(block, draws - done)
        found = np.sort(loss(random.uniform(-1, 1, (size, dimension))))
        counts += np.searchsorted(found, edges)
        done += size
    low, _, high = counts
    with np.errstate(divide="ignore", invalid="ignore"):
        share = np.where(low >= _ENOUGH, low / high, np.nan)
        value = -np.log(share) / (2 * width)
        error = np.sqrt((1 - share) / (share * high)) / (2 * width)
        return VolumeCurve(scales, value, error, np.log(counts[1] / draws))


def nested(
    loss: Callable[[Any], Any],
    dimension: int,
    lowest: float,
    random: np.random.Generator,
    *,
    walkers: int = 1000,
    moves: int = 60,
    share: float = 0.5,
) -> VolumeCurve:
    """lambda(eps) down to `lowest` by levels that each hold a `share` of the volume of the one above.

    In every level the lowest walkers stay, the others restart at some of them, and all take `moves` Metropolis steps in the
    box below the level: in turns at random, in sizes that keep about a third of the moves, and one half of them along
    differences within the other half, which fits narrow valleys. Then ln V falls by ln(1/share) a level and
    lambda = ln(1/share) / ln(eps_i/eps_(i+1)). Two halves of the walkers do so apart, never restarting at each other's
    places, with levels of their own; the curve is that of the mean of ln eps of both at equal volume.

    Args:
        loss: As in `in_box`.
        dimension: d, any.
        lowest: Scale at which to stop, above 0.
        random: What to draw from.
        walkers: Of both halves; memory is some arrays of walkers × d, the error of a level falls as their root.
        moves: Of each walker in each level. Too few, and walkers are copies of each other, which `spread` shows.
        share: Of the volume that a level keeps.

    Returns:
        The curve, `scale` the geometric means of neighbouring levels, descending; `doubts()` says whether to trust it.

    Raises:
        ArgumentError: If there are fewer walkers than 40, or a level cannot be passed.
    """
    half = integer("walkers", walkers, minimum=2 * _ENOUGH) // 2
    runs = [_levels(loss, dimension, lowest, part, half, moves, share) for part in random.spawn(2)]
    count = min(map(len, runs))
    levels = np.log([run[:count] for run in runs])
    gaps = -np.diff(levels, axis=1)  # (half, level)
    step = np.log(1 / share)
    found = step / gaps.mean(0)
    alone = np.sqrt((1 - share) / (share * half))  # standard error of ln V of a level, by one half
    # In units of that error, of the difference of both: gaps scatter as ln V over lambda.
    apart = (gaps[0] - gaps[1]) * found / (np.sqrt(2) * alone)
    spread = float(np.sqrt(np.mean(apart**2)))
    worth = max(spread, 1.0)
    drift = (levels[0, -1] - levels[1, -1]) * found[-1] / (alone * np.sqrt(2 * count) * worth)
    return VolumeCurve(
        np.exp((levels[:, 1:] + levels[:, :-1]).mean(0) / 2),
        found,
        found * alone / (np.sqrt(2) * step) * worth,
        np.log(share) * np.arange(1.5, count),
        spread,
        float(drift),
    )


def _levels(loss, dimension, lowest, random, walkers, moves, share):
    """Scales below which the share, its square, its cube... of the box lies, by walkers of their own; (level,)."""
    keep = int(share * walkers)
    place = random.uniform(-1, 1, (walkers, dimension))
    value = np.asarray(loss(place), float)
    levels, step = [], 0.5
    while len(levels) < 3 or levels[-1] > lowest:
        order = np.argsort(value)
        level = (value[order[keep - 1]] + value[order[keep]]) / 2
        if levels and not level < levels[-1]:
            raise argument_error("loss", "fall below every level", f"stays at {level:g}")
        levels.append(level)
        parents = order[
            np.concatenate([np.arange(keep), random.integers(keep, size=walkers - keep)])
        ]
        place, value = place[parents], value[parents]
        for move in range(moves):
            change = np.zeros_like(place)
            if move % 2:
                mixed = random.permutation(walkers)
                moving, others = mixed[: walkers // 2], mixed[walkers // 2 :]
                first = random.integers(len(others), size=len(moving))
                second = (first + random.integers(1, len(others), size=len(moving))) % len(others)
                size = np.exp(random.uniform(-3, 0.5, (len(moving), 1)))
                change[moving] = size * (place[others[first]] - place[others[second]])
            else:
                scale = step * np.sqrt(np.mean(place**2, 0) / dimension)
                change = scale * random.standard_normal(place.shape)
            tried = place + change
            inside = np.asarray((np.abs(tried) <= 1).all(1))
            found = np.where(inside, loss(np.where(inside[:, None], tried, 0)), np.inf)
            taken = found < level
            if not move % 2:
                step *= np.exp(0.3 * (taken.mean() - 0.33))
            place = np.where(taken[:, None], tried, place)
            value = np.where(taken, found, value)
    return np.array(levels)
