"""A table of claims as a whole: which of them are evidence by themselves, and which verdicts stand together at 95%.

Not counted are exact facts (identities, checks of the code, and values that are the same in all seeds), controls, and
complements: a corrected form that judges the same values as a sentence that fails, and allows what lies on the other side up
to the end of what is possible, also where a gap is left between the two, says again that it fails.

One verdict in twenty is wrong by chance at most, of many verdicts some are. By Holm's rule (1979) the m verdicts are
ordered by p, the level at which the interval of the claim would just touch a bound of what is allowed, and stand together at
95% as long as the i-th p is at most .05/(m - i + 1). The p of a fraction is exact; of other statistics it is Student's t at
the distance from the bound, in units of how far the interval reaches.

Holm (1979), A simple sequentially rejective multiple test procedure, Scand. J. Statist. 6.
"""

import math
from collections.abc import Iterable, Sequence

from foretrain.claims.claim import CONTROL, FAILS, HEADLINE, HOLDS, Claim
from foretrain.lazy import special
from foretrain.words import cell_label, count

LEVEL = 0.05
# Of what is possible: of any value, of one with a sign, of a fraction.
_ENDS = (-math.inf, 0.0, 1.0, math.inf)


def uncounted(claim: Claim, others: Iterable[Claim]) -> str:
    """Return why a claim is no evidence by itself, in words: "exact", "control", "complement"; "" where it is."""
    if claim.uncertainty is None or claim.uncertainty[0] == claim.uncertainty[1]:
        return "exact"
    if claim.rank == CONTROL:
        return "control"
    here = (claim.corrects, cell_label(claim.cell))
    first = next((other for other in others if (other.id, cell_label(other.cell)) == here), None)
    return "complement" if first and _complement(first, claim) else ""


def _complement(first: Claim, claim: Claim) -> bool:
    """Return True where two claims judge the same values, and one allows what lies beyond the other, which fails."""
    same = (first.measured, first.uncertainty) == (claim.measured, claim.uncertainty)
    (floor, ceiling), (low, high) = first.allowed, claim.allowed
    rounding = 1e-6 * max(1.0, abs(low) if math.isfinite(low) else 0.0)
    above = low >= ceiling - rounding and high in _ENDS
    below = high <= floor + rounding and low in _ENDS
    return same and (above or below) and first.verdict == FAILS


def p_value(claim: Claim) -> float:
    """Return the level at which the interval of a claim just touches a bound of what is allowed; 1 without a verdict.

    It is at most 0.05 just where the 95% interval of a mean or a fraction gives a verdict.
    """
    if claim.verdict not in (HOLDS, FAILS) or claim.uncertainty is None:
        return 1.0
    (low, high), (floor, ceiling) = claim.uncertainty, claim.allowed
    middle, n = claim.measured, claim.seeds
    if claim.method == "Clopper-Pearson":
        agree = round(middle * n)
        above = 0.0 if floor <= 0 else float(special.bdtrc(agree - 1, n, floor))
        below = 0.0 if ceiling >= 1 else float(special.bdtr(agree, n, ceiling))
        if claim.verdict == FAILS:
            above = 1.0 if floor <= 0 else float(special.bdtr(agree, n, min(floor, 1)))
            below = 1.0 if ceiling >= 1 else float(special.bdtrc(agree - 1, n, ceiling))
            return 2 * min(above, below)
        return min(1.0, 2 * max(above, below))
    sides = [(middle - floor, middle - low), (ceiling - middle, high - middle)]
    if claim.verdict == FAILS:
        sides = [(floor - middle, high - middle), (middle - ceiling, middle - low)]
        sides = [side for side in sides if side[0] > 0]
    return max(_level(distance, reach, n) for distance, reach in sides)


def _level(distance: float, reach: float, n: int) -> float:
    if reach <= 0 or math.isinf(distance):
        return 0.0
    return float(2 * special.stdtr(n - 1, -distance / reach * special.stdtrit(n - 1, 0.975)))


def together(claims: Iterable[Claim], level: float = LEVEL) -> set[str]:
    """Return the labels of claims whose verdicts stand together: all of them right with a chance of 1 - `level`, by Holm."""
    ordered = sorted((p_value(claim), claim.label) for claim in claims)
    stand = set()
    for number, (p, label) in enumerate(ordered):
        if p > level / (len(ordered) - number):
            break
        stand.add(label)
    return stand


def summary(claims: Sequence[Claim]) -> str:
    """Say how many verdicts of a table are evidence by themselves, and how many of headlines among them stand together."""
    settled = [claim for claim in claims if claim.verdict in (HOLDS, FAILS)]
    reasons = [uncounted(claim, claims) for claim in settled]
    kept = [claim for claim, reason in zip(settled, reasons, strict=True) if not reason]
    first = [claim for claim in kept if claim.rank == HEADLINE]
    words = {"exact": "exact", "control": "controls", "complement": "complements"}
    left = [f"{reasons.count(name)} {text}" for name, text in words.items() if name in reasons]
    note = f" ({', '.join(left)} are not counted)" if left else ""
    text = f"Evidence by itself: {count(len(kept), 'verdict')}{note}."
    if not first:
        return text
    stand = len(together(first))
    return f"{text} Of {count(len(first), 'verdict')} on headlines {stand} stand together at 95% (Holm)."
