"""The way out of an inconclusive verdict: the option that is likely to settle it, or that no number of seeds will."""

import re
from collections.abc import Iterable

from foretrain.claims.claim import INCONCLUSIVE, Claim
from foretrain.claims.power import MOST, seeds_needed

ACROSS = "the interval reaches beyond what is allowed"
_PILOT = 5  # seeds that show a spread
_NONE = "more seeds do not settle it"


def open_reasons(claims: Iterable[Claim]) -> dict[str, list[Claim]]:
    """Return why claims of one sentence are inconclusive, with what would settle it: each reason with its claims.

    Where cells need different numbers of seeds, the largest is named; those that no number settles stand for themselves.
    """
    groups: dict[tuple[str, bool], list[Claim]] = {}
    most = 0
    for claim in claims:
        if claim.verdict == INCONCLUSIVE:
            reason = claim.reason or ACROSS
            seeds = seeds_needed(claim) if reason == ACROSS else ""
            most = max(most, seeds) if isinstance(seeds, int) else most
            groups.setdefault((reason, isinstance(seeds, int)), []).append(claim)
    return {f"{key[0]}{_repair(*key, most)}": some for key, some in groups.items()}


def _repair(reason: str, settled: bool, most: int) -> str:
    if reason.startswith("not finished"):  # it names `--steps` itself
        return ""
    if reason.startswith("one seed "):
        return f"; try --seeds {_PILOT}"
    if re.search(r" runs? (missing|failed)\b", reason):
        return "; the same command trains what is missing, with --retry-failed what failed, too"
    if reason != ACROSS:
        return f"; {_NONE}"
    if not settled:
        return f"; no number of seeds up to {MOST:,} is likely to settle it"
    return f"; try --seeds {most}"
