"""The rows of the table of claims in words, the same for the terminal, a notebook and the page."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from foretrain.claims.cells import CellClaims, gather, place
from foretrain.claims.claim import FAILS, HOLDS, INCONCLUSIVE, VERDICTS, Claim
from foretrain.words import count, digits_to_tell_apart, interval, number, value_text

MOST_CELLS = 50
RULE = (
    "What a claim allows is fixed before the run. A claim holds if the 95% interval of the measured value lies inside"
    " it, fails if it lies wholly outside, and is inconclusive otherwise, or where the runs do not carry a verdict."
    " An exact fact is judged by the worst deviation seen."
)
_WORDS = {HOLDS: ("holds", "hold"), FAILS: ("fails", "fail")}
_SCALES = {
    "own": "Judged with parameters of the run's own, or with fewer seeds than a preset of the study has."
}


@dataclass(frozen=True)
class Row:
    """One sentence, in one cell or in many, as a person reads it.

    Attributes:
        id: Id of the sentence, or label of a claim that stands for one cell.
        verdict: The verdict, of several cells the worst.
        holding: "2 of 3 cells hold"; "" where there is one.
        statement: The sentence.
        predicted: The predicted value with its unit; "" where the sentence only bounds.
        measured: The measured value with its unit; of several cells the smallest and largest.
        ends: Its 95% interval; "" where there is none.
        spread: Lines on where the measured value comes from: interval and method, seeds.
        allowed: What is allowed, with its unit.
        remarks: What must not be overlooked, in sentences: why inconclusive, seeds left out, of which runs it speaks.
        corrects: Id of the sentence that it corrects, or "".
        details: What else there is to know, label to text: why just this is allowed, source, scale.
        cells: Of several, the first of them with the worst first: label, verdict, what was measured and why.
        more_cells: Number of cells that are not among `cells`.
    """

    id: str
    verdict: str
    holding: str
    statement: str
    predicted: str
    measured: str
    ends: str
    spread: tuple[str, ...]
    allowed: str
    remarks: tuple[str, ...]
    corrects: str
    details: dict[str, str]
    cells: tuple[tuple[str, str, str], ...] = ()
    more_cells: int = 0


def rows(claims: Iterable[Claim]) -> list[Row]:
    """The rows of a table of claims; those of one sentence in several cells are one row, where the first of them stood."""
    return [_row(group) for group in gather(claims)]


def tally(claims: Sequence[Claim]) -> str:
    """How many claims have which verdict: "11 claims: 9 hold, 1 fails, 1 inconclusive"."""
    found = [claim.verdict for claim in claims]
    words = [
        count(found.count(verdict), *_WORDS.get(verdict, (verdict, verdict)))
        for verdict in VERDICTS
        if verdict in found
    ]
    return f"{count(len(claims), 'claim')}: {', '.join(words)}" if claims else "No claims."


def _row(group: CellClaims) -> Row:
    first, several = group.claims[0], len(group.claims) > 1
    unit = "" if first.unit in ("1", "") else f" {first.unit}"
    measured, predicted, allowed = group.range("measured"), group.range("predicted"), group.allowed
    uncertainty = None if several else first.uncertainty
    digits = digits_to_tell_apart(*measured, *predicted, *(uncertainty or ()), *(allowed or ()))
    exact = all(claim.uncertainty is None for claim in group.claims)
    ends = "" if uncertainty is None else _ends(uncertainty, digits)
    return Row(
        id=group.id if several else first.label,
        verdict=group.verdict,
        holding=f"{group.counts.get(HOLDS, 0)} of {len(group.claims)} cells hold"
        if several
        else "",
        statement=first.statement,
        predicted="" if math.isnan(predicted[0]) else _range(predicted, digits) + unit,
        measured=_measured(group, measured, digits) + unit,
        ends=ends,
        spread=_spread(group, exact, ends),
        allowed="by cell" if allowed is None else _allowed(allowed, group.claims, digits) + unit,
        remarks=tuple(_remarks(group, several)),
        corrects=first.corrects,
        details=_details(group, several),
        cells=_cells(group, digits) if several else (),
        more_cells=max(0, len(group.claims) - MOST_CELLS) if several else 0,
    )


def _range(ends, digits) -> str:
    low, high = ends
    return (
        number(low, digits) if low == high else f"{number(low, digits)} to {number(high, digits)}"
    )


def _measured(group, ends, digits) -> str:
    if not math.isnan(ends[0]):
        return _range(ends, digits)
    values = {number(claim.measured) for claim in group.claims}
    return values.pop() if len(values) == 1 else "nothing finite"


def _ends(uncertainty, digits) -> str:
    """The interval of one claim; "" where it is undefined."""
    low, high = uncertainty
    if math.isnan(low) or math.isnan(high):
        return ""
    return f"{number(low, digits)} to {number(high, digits)}"


def _allowed(allowed, claims, digits) -> str:
    # A deviation cannot be negative, so its allowed interval is one bound; where one is, both ends are shown.
    deviations = all(claim.uncertainty is None and not claim.measured < 0 for claim in claims)
    return interval(None if deviations and allowed[0] == 0 else allowed[0], allowed[1], digits)


def _spread(group, exact, ends) -> tuple[str, ...]:
    lines, several = [], len(group.claims) > 1
    methods = {claim.method for claim in group.claims if claim.method not in ("", "exact", "none")}
    by = f", by {' or '.join(sorted(methods))}" if methods else ""
    if exact:
        lines.append("exact fact, worst deviation" + ("s" if several else ""))
    elif several:
        lines.append("smallest and largest of the cells")
        lines += [f"95% intervals{by}"] if by else []
    else:
        lines.append(f"95% interval {ends}{by}" if ends else "no interval")
    seeds = [claim.seeds for claim in group.claims]
    fewest = f"{min(seeds)} to " if min(seeds) < max(seeds) else ""
    each = " each" if several else ""
    return (*lines, f"over {fewest}{count(max(seeds), 'seed')}{each}")


def _remarks(group, several):
    """What must not be overlooked, in sentences."""
    first = group.claims[0]
    if not several and first.reason:
        yield f"{first.verdict.capitalize()}: {first.reason}."
    for verdict in (FAILS, INCONCLUSIVE) if several else ():
        found = [claim for claim in group.claims if claim.verdict == verdict]
        reasons = list(dict.fromkeys(claim.reason for claim in found if claim.reason))
        why = f" ({reasons[0]}{'; ...' if len(reasons) > 1 else ''})" if reasons else ""
        if found:
            text = f"{verdict.capitalize()} in {len(found)}: {group.where(verdict)}{why}"
            yield text if text.endswith("...") else f"{text}."
    if group.without_value and several:
        yield f"Nothing finite was measured in {count(group.without_value, 'cell')}."
    if group.left_out:
        subject = (
            "1 seed without a value is"
            if group.left_out == 1
            else f"{group.left_out} seeds without a value are"
        )
        yield f"{subject} left out."
    if first.among:
        yield f"Speaks only of {first.among}."


def _details(group, several) -> dict[str, str]:
    first = group.claims[0]
    found = {"Why this is allowed": first.why}
    notes = {claim.note for claim in group.claims}
    found["Note"] = first.note if len(notes) == 1 else ""
    found["Source"] = first.source
    along = (
        f"{name} from {value_text(low)} to {value_text(high)}"
        for name, (low, high) in first.along.items()
    )
    found["Looks along"] = ", ".join(along)
    found["Scale"] = _SCALES.get(
        first.scale, f"Judged at the preset `{first.scale}`." if first.scale else ""
    )
    return {label: text for label, text in found.items() if text}


def _cells(group, digits) -> tuple[tuple[str, str, str], ...]:
    order = (FAILS, INCONCLUSIVE, HOLDS)
    claims = sorted(group.claims, key=lambda claim: order.index(claim.verdict))[:MOST_CELLS]
    return tuple((place(claim), claim.verdict, _cell(claim, group, digits)) for claim in claims)


def _cell(claim, group, digits) -> str:
    """What was measured in one cell of several, and what differs there from the others."""
    text = number(claim.measured, digits)
    ends = _ends(claim.uncertainty, digits) if claim.uncertainty else ""
    text += f" ({ends})" if ends else ""
    low, high = group.range("predicted")
    if low < high and math.isfinite(claim.predicted):
        text += f", predicted {number(claim.predicted, digits)}"
    if group.allowed is None:
        text += f", allowed {_allowed(claim.allowed, [claim], digits)}"
    if claim.left_out:
        text += f", {count(claim.left_out, 'seed')} left out"
    return f"{text}; {claim.reason}" if claim.reason else text
