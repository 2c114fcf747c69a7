"""The number of seeds that a claim needs for a verdict, estimated from its interval over the seeds of a pilot or stored runs.

The estimate supposes that the truth is what was measured. A verdict ``holds`` needs both ends of the interval inside what is
allowed, ``fails`` needs the nearer end outside. An end that lies r from the measured value at n seeds lies about
r sqrt(n/N) t_N/t_n from it at N, and the measured value itself moves by a normal deviate of r sqrt(n/N)/t_n, so that the
verdict comes out with a chance of `CHANCE` from the least N with d >= r sqrt(n/N) (t_N + z)/t_n for each bound at distance
d; z is the normal quantile of `CHANCE`. Of a fraction the chance is summed over the binomial law, with Clopper and Pearson's
intervals themselves.
"""

import math
from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from foretrain.claims.claim import NOT_CLAIMED, Claim
from foretrain.lazy import special

CHANCE = 0.8  #: chance of a verdict at the number of seeds that is named
MOST = 10_000  #: a claim that needs more seeds is one that none will settle
# Seeds from which an interval of the median is exact.
_FEWEST = {"order statistics": 6, "range and t": 6}
_STEP = 1.02  # numbers of seeds are tried in steps of 2%
_TAIL = 5.0  # of half a standard deviation, sqrt(n)/2, ten: beyond it is less than 1e-20


def seeds_needed(claim: Claim) -> int | str:
    """Estimate the number of seeds at which a claim has a verdict, if the truth is what was measured.

    Args:
        claim: A judged claim, also one that has a verdict: the number is then what such a run needs.

    Returns:
        The number, all in all, that gives a verdict with a chance of `CHANCE`, up to `MOST`; or, in words that finish "since",
        why none does: runs cut off or lost, nothing measured, a measured value on a bound of what is allowed.
    """
    if claim.verdict == NOT_CLAIMED:
        return f"it is not claimed: {claim.reason}"
    if claim.uncertainty is None:
        return 1 if math.isfinite(claim.measured) else claim.reason
    if claim.seeds == 1:
        return "one seed does not show the spread: try five"
    if claim.reason or not all(map(math.isfinite, (*claim.uncertainty, claim.measured))):
        return claim.reason or "nothing finite was measured"
    kinds = {"Clopper-Pearson": _of_fraction, "Clopper-Pearson of two bounds": _of_bounds}
    if "of two bounds" in claim.method and claim.method not in kinds:
        return "theory leaves the quantity open between two bounds"
    number = kinds.get(claim.method, _of_spread)(claim)
    return number or f"the measured value is too near to a bound for {MOST:,} seeds"


def _numbers(first: int) -> Iterable[int]:
    number = first
    while number <= MOST:
        yield number
        number = max(number + 1, round(number * _STEP))


def _of_spread(claim: Claim) -> int | None:
    """Return the number of seeds of a mean or a median, by the square root of their number.

    Of samples that all lie at an end of their range a limit is .025^(1/n) of it away.
    """
    assert claim.uncertainty is not None
    (low, high), (floor, ceiling), middle = claim.uncertainty, claim.allowed, claim.measured
    if floor <= middle <= ceiling:  # both ends have to come inside
        sides = [(middle - floor, middle - low), (ceiling - middle, high - middle)]
    else:  # the end on the side of what is allowed has to leave it
        below = middle < floor
        sides = [(floor - middle, high - middle) if below else (middle - ceiling, middle - low)]
    numbers = np.array(list(_numbers(_FEWEST.get(claim.method, 2))))
    if claim.method == "bounded mean" and claim.measured in claim.uncertainty:
        shrink = (1 - 0.025 ** (1 / numbers)) / (1 - 0.025 ** (1 / claim.seeds))
    else:
        shrink = np.sqrt(claim.seeds / numbers) / special.stdtrit(claim.seeds - 1, 0.975)
        shrink *= special.stdtrit(numbers - 1, 0.975) + special.ndtri(CHANCE)
    enough = np.all([distance >= reach * shrink for distance, reach in sides], axis=0)
    return int(numbers[enough.argmax()]) if enough.any() else None


def _of_fraction(claim: Claim) -> int | None:
    """Return the number of seeds of a fraction, by the binomial law of the measured one and the exact interval."""
    floor, ceiling = (min(max(end, 0.0), 1.0) for end in claim.allowed)
    for number in _numbers(2):
        # Numbers of seeds farther from the expected one have no chance to speak of.
        reach = _TAIL * math.sqrt(number)
        first = max(0, math.floor(number * claim.measured - reach))
        agree = np.arange(first, min(number, math.ceil(number * claim.measured + reach)) + 1)
        if claim.allowed[0] <= claim.measured <= claim.allowed[1]:
            low = (floor == 0) | (_at_least(agree, number, floor) <= 0.025)
            verdict = low & ((ceiling == 1) | (special.bdtr(agree, number, ceiling) <= 0.025))
        else:
            verdict = special.bdtr(agree, number, floor) < 0.025
            verdict |= _at_least(agree, number, ceiling) < 0.025
        below = special.bdtr(first - 1, number, claim.measured) if first else 0.0
        if verdict @ np.diff(special.bdtr(agree, number, claim.measured), prepend=below) >= CHANCE:
            return number
    return None


def _of_bounds(claim: Claim) -> int | None:
    """Return the number of seeds of two fractions on one side of each bound, each known by its end of the interval."""
    assert claim.uncertainty is not None
    (low, high), (floor, ceiling) = claim.uncertainty, claim.allowed
    agree = np.arange(claim.seeds + 1)
    fewest = (_at_least(agree, claim.seeds, low) > 0.0249).sum() - 1  # there it is .025
    most = (special.bdtr(agree, claim.seeds, high) < 0.0249).sum()
    ends = [replace(claim, measured=float(number / claim.seeds)) for number in (fewest, most)]
    if len({(end.measured < floor, end.measured > ceiling) for end in ends}) > 1:
        return None
    numbers = [_of_fraction(end) for end in ends]
    return max(numbers, key=lambda number: number or math.inf)


def _at_least(agree: np.ndarray, number: int, chance: float) -> np.ndarray:
    """Return the chance of at least so many of a number, each with the same chance."""
    return np.where(agree > 0, special.bdtrc(np.maximum(agree, 1) - 1, number, chance), 1.0)
