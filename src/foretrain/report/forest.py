"""A sentence as a forest plot: the measured interval of every cell against what is allowed and what is predicted."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from foretrain.claims.claim import Claim
from foretrain.words import number

_ROOM = 0.12  # share of the width left free on either side
_APART = 20.0  # percent of the width that the text of a bound may need
_DECADES = 2.0  # a positive range of more is drawn on a logarithmic scale
_STACKED = 12  # so many cells have a line each


@dataclass(frozen=True)
class Mark:
    """Measured value of a cell with its interval, in percent of the width."""

    verdict: str  # its verdict
    at: float  # the measured value
    # Ends of its interval, both `at` where there is none.
    low: float
    high: float
    # What is allowed in this cell, where that differs from cell to cell; else None.
    allowed: tuple[float, float] | None = None
    # What is predicted in this cell, where that differs from cell to cell; else None.
    predicted: float | None = None
    seeds: tuple[float, ...] = ()  # the values of single seeds, where they are drawn


@dataclass(frozen=True)
class Forest:
    """Places of everything in the plot, in percent of the width from the left."""

    # Ends of what is allowed, 0 or 100 where it is open; None where it differs from cell to cell.
    allowed: tuple[float, float] | None
    open: tuple[bool, bool]  # True where what is allowed is open: to the left, to the right
    predicted: tuple[float, ...]  # places of the predicted values
    marks: tuple[Mark, ...]  # the cells
    # True if each cell has a line of its own, with what is allowed and predicted in it.
    stacked: bool
    ticks: tuple[tuple[float, str], ...]  # place to text of the ends of what is allowed


def forest(
    claims: Sequence[Claim], seeds: Mapping[str, Sequence[float]] | None = None
) -> Forest | None:
    """The forest plot of one sentence in its cells; None where nothing finite was measured.

    `seeds` is label of a claim to the values of its seeds, which are drawn as points where every cell has a line of its own.
    """
    if not (finite := [claim for claim in claims if math.isfinite(claim.measured)]):
        return None
    shared = {claim.allowed for claim in claims}
    bounds = next(iter(shared)) if len(shared) == 1 else None
    predicted = sorted({claim.predicted for claim in finite if math.isfinite(claim.predicted)})
    ends = [
        [end if math.isfinite(end) else c.measured for end in c.uncertainty or [math.nan] * 2]
        for c in finite
    ]
    known = seeds if seeds and len(finite) <= _STACKED else {}
    single = [[*filter(math.isfinite, known.get(claim.label, ()))] for claim in finite]
    values = [value for pair in (*ends, *single) for value in pair] + predicted
    values += [end for claim in finite for end in claim.allowed if math.isfinite(end)]
    # Zero as a bound of a deviation says nothing of the scale, and would keep a logarithmic one from it.
    lowest = min(value for pair in (*ends, *single) for value in pair)
    deviation = lowest >= 0 and all(claim.allowed[0] == 0 for claim in finite)
    positive = [value for value in values if value > 0]
    rest = [value for value in values if value <= 0]
    logarithmic = bool(
        positive
        and (not rest or (deviation and set(rest) == {0.0}))
        and math.log10(max(positive) / min(positive)) > _DECADES
    )
    place = _scale(positive if logarithmic else values, logarithmic)

    def is_open(bounds):
        left = not math.isfinite(bounds[0]) or (logarithmic and bounds[0] <= 0)
        return left, not math.isfinite(bounds[1])

    def band(bounds):
        left, right = is_open(bounds)
        return 0.0 if left else place(bounds[0]), 100.0 if right else place(bounds[1])

    sides = (False, False) if bounds is None else is_open(bounds)
    ticks = [
        (place(end), number(end))
        for end, is_far in zip(bounds or (), sides, strict=False)
        if not is_far
    ]
    if len(ticks) == 2 and ticks[1][0] - ticks[0][0] <= _APART:
        (low, first), (high, last) = ticks
        ticks = [((low + high) / 2, first if first == last else f"{first} to {last}")]
    marks = []
    for claim, (low, high), some in zip(finite, ends, single, strict=True):
        differs = len(predicted) > 1 and math.isfinite(claim.predicted)
        own = None if bounds is not None else band(claim.allowed)
        at = place(claim.predicted) if differs else None
        spots = place(claim.measured), place(low), place(high)
        points = tuple(dict.fromkeys(round(2 * place(value)) / 2 for value in sorted(some)))
        marks.append(Mark(claim.verdict, *spots, own, at, points))
    return Forest(
        None if bounds is None else band(bounds),
        sides,
        tuple(place(value) for value in predicted),
        tuple(marks),
        len(marks) <= _STACKED,
        tuple(ticks),
    )


def _scale(values, logarithmic):
    """A function from a value to its place in percent; what lies beyond the ends is put onto them."""
    turned = [math.log10(value) for value in values] if logarithmic else values
    low, high = min(turned), max(turned)
    if low == high:
        half = 1.0 if logarithmic else abs(low) or 1.0
        low, high = low - half, high + half
    room = _ROOM * (high - low) / (1 - 2 * _ROOM)

    def place(value: float) -> float:
        if logarithmic:
            if value <= 0:
                return 0.0
            value = math.log10(value)
        return round(100 * min(max((value - low + room) / (high - low + 2 * room), 0.0), 1.0), 2)

    return place
