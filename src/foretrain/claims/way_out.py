"""The way out of an inconclusive verdict: the option that is likely to settle it, or that no number of seeds will."""

import re
from collections.abc import Iterable

from foretrain.claims.claim import INCONCLUSIVE, Claim
from foretrain.claims.power import MOST, seeds_needed

ACROSS = "the interval reaches beyond what is allowed"
_PILOT = 5  # seeds that show a spread
_NONE = "more seeds do not settle it"


def open_reasons(claims: Iterable[Claim]) -> list[str]:
    """Return why claims of one sentence are inconclusive, each reason once, with what would settle it.

    Where cells need different numbers of seeds, the largest is named.
    """
    groups: dict[str, list[Claim]] = {}
    for claim in claims:
        if claim.verdict == INCONCLUSIVE:
            groups.setdefault(claim.reason or ACROSS, []).append(claim)
    return [f"{reason}{_repair(reason, some)}" for reason, some in groups.items()]


def _repair(reason: str, claims: list[Claim]) -> str:
    if reason.startswith("not finished"):  # it names `--steps` itself
        return ""
    if reason.startswith("one seed "):
        return f"; try --seeds {_PILOT}"
    if re.search(r" runs? (missing|failed)\b", reason):
        return "; the same command trains what is missing, with --retry-failed what failed, too"
    if reason != ACROSS:
        return f"; {_NONE}"
    numbers = [needed.seeds for claim in claims if (needed := seeds_needed(claim)).seeds]
    if not numbers:
        return f"; no number of seeds up to {MOST:,} is likely to settle it"
    some = "" if len(numbers) == len(claims) else f", which settles {len(numbers)} of {len(claims)}"
    return f"; try --seeds {max(numbers)}{some}"
