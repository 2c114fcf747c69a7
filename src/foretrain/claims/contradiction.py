"""Verdicts that are read: what follows from the numbers beside them, whatever the file says."""

import math
from dataclasses import replace

from foretrain.claims.claim import INCONCLUSIVE, NOT_CLAIMED, Claim, verdict_of


def follows(claim: Claim) -> str:
    """The verdict that measured value, interval and allowed interval of a claim make; "" where they contradict each other."""
    if claim.uncertainty is None:
        return verdict_of((claim.measured, claim.measured), claim.allowed)
    # An end that is not finite is stored as none; the judge has taken it for no bound.
    low, high = (
        end if math.isfinite(end) else side * math.inf
        for end, side in zip(claim.uncertainty, (-1, 1), strict=True)
    )
    if not (math.isnan(claim.measured) or low <= claim.measured <= high):
        return ""
    return verdict_of((low, high), claim.allowed)


def as_it_follows(claim: Claim) -> Claim:
    """A claim that was read, with the verdict that follows; one that has none for a reason stays so."""
    right = follows(claim)
    if claim.verdict == right or (claim.verdict in (INCONCLUSIVE, NOT_CLAIMED) and claim.reason):
        return claim
    reason = f"the file says `{claim.verdict}`, which does not follow from the numbers beside it"
    return replace(claim, verdict=right or INCONCLUSIVE, reason=reason)
