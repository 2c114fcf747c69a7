"""Verdicts that are read: what follows from the numbers beside them, whatever the file says."""

import math
from dataclasses import replace

from foretrain.claims.claim import FAILS, HOLDS, INCONCLUSIVE, NOT_CLAIMED, Claim


def follows(claim: Claim) -> str:
    """The verdict that measured value, interval and allowed interval of a claim make; "" where they contradict each other."""
    floor, ceiling = claim.allowed
    if claim.uncertainty is None:
        if math.isnan(claim.measured):
            return INCONCLUSIVE
        return HOLDS if floor <= claim.measured <= ceiling else FAILS
    # An end that is not finite is stored as none; the judge has taken it for no bound.
    low, high = (
        end if math.isfinite(end) else side * math.inf
        for end, side in zip(claim.uncertainty, (-1, 1), strict=True)
    )
    if not (math.isnan(claim.measured) or low <= claim.measured <= high):
        return ""
    if floor <= low and high <= ceiling:
        return HOLDS
    return FAILS if high < floor or low > ceiling else INCONCLUSIVE


def as_it_follows(claim: Claim) -> Claim:
    """A claim that was read, with the verdict that follows; one that has none for a reason stays so."""
    right = follows(claim)
    if claim.verdict == right or (claim.verdict in (INCONCLUSIVE, NOT_CLAIMED) and claim.reason):
        return claim
    contradiction = (
        f"the file says `{claim.verdict}`, which does not follow from the numbers beside it"
    )
    return replace(claim, verdict=right or INCONCLUSIVE, reason=contradiction)
