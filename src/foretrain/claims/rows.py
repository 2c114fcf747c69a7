"""The claims in words, the same for the terminal, a notebook and the page: a row per sentence, and which rows come first."""

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from foretrain.claims.cells import WORST_FIRST, CellClaims, gather
from foretrain.claims.claim import (
    DETAIL,
    FAILS,
    HEADLINE,
    HOLDS,
    NOT_CLAIMED,
    RANKS,
    VERDICTS,
    Claim,
    size_text,
)
from foretrain.words import count, digits_to_tell_apart, duration, interval, number

MOST_CELLS = 50
RULE = (
    "What a claim allows is fixed before the run. A claim holds if the 95% interval of the measured value lies inside"
    " it, fails if it lies wholly outside, and is inconclusive otherwise, or where the runs do not carry a verdict."
    " An exact fact is judged by the worst deviation seen. Outside of its domain a sentence is not claimed."
)
_WORDS = {HOLDS: ("holds", "hold"), FAILS: ("fails", "fail")}
# In the note of a claim that fails although runs were lost.
_LOST = re.compile(r"([1-9]\d* of \d+ runs (?:missing|diverged|failed)[^.]*)\.$")
# In the note of a claim that was looked at before: the interval that it would have without that.
_ALONE = re.compile(r"Of these seeds alone the interval is (\S+ to \S+)\.(?= |$)")
_NAMED = 3  # claims, at most, that a line of counts names
_MOST_HEADLINES = 6


@dataclass(frozen=True)
class Row:
    """One sentence, in one cell or in many, as a person reads it."""

    id: str  # id of the sentence
    label: str  # the id, with its cell where it was judged in one of a grid
    rank: str  # its rank, see `foretrain.claims.claim.RANKS`
    verdict: str  # the verdict, of several cells the worst
    at: str  # "at symbols=19" where the size is not the document's; "" at that size, or where that is not known
    holding: str  # "2 of 3 cells hold"; "" where there is one
    statement: str  # the sentence
    measured: str  # the measured value with its unit; of several cells the smallest and largest
    numbers: str  # all numbers in one line, such as "off by 1.2% (0.89 to 1.6), allowed 3.6%"
    bounds: str  # of these what is predicted and allowed, "allowed 3.6%"
    reading: tuple  # what was measured, and how it is written: equal in rows of one quantity
    spread: tuple[str, ...]  # how it was measured, in lines: interval, method, seeds
    reasons: tuple[str, ...]  # why it is inconclusive, where it is
    outside: tuple[str, ...]  # why it is not claimed, where it is not
    remarks: tuple[str, ...]  # sentences: where it fails, why it is inconclusive, seeds left out
    corrects: str  # id of the sentence that it corrects, or ""
    details: dict[str, str]  # label to text: why just this is allowed, source, size
    # Of several, the first of them with the worst first: label, verdict, what was measured and why.
    cells: tuple[tuple[str, str, str], ...] = ()
    more_cells: int = 0  # number of cells that are not among `cells`
    lead: str = ""  # of a corrected form that stands behind its sentence: "More exactly (holds): "
    standing: str = ""  # of such a sentence the worst verdict of its forms and its own

    @property
    def phrase(self) -> str:
        """The sentence without its stop, roots as signs."""
        return re.sub(r"\bsqrt\((\w+)\)", r"√\1", self.statement.strip().removesuffix("."))


def rows(claims: Iterable[Claim]) -> list[Row]:
    """The rows of a table of claims; those of one sentence in several cells are one row, where the first of them stood."""
    return [_row(group) for group in gather(claims)]


def families(rows: Iterable[Row]) -> list[list[Row]]:
    """Each sentence with its corrected forms behind it, which count as one; what both measure is said once."""
    known, groups = {row.id: row for row in rows}, {}
    for row in known.values():
        of = known.get(row.corrects, row)
        groups.setdefault((row if of.corrects in known else of).id, []).append(row)
    for root, family in groups.items():
        standing = min((row.verdict for row in family), key=WORST_FIRST.index)
        head = replace(known[root], standing=standing)
        link = "More exactly" if head.verdict == HOLDS else "Corrected"
        groups[root] = [head]
        for row in family:
            if row.id != root:
                numbers = row.bounds if row.reading == head.reading else row.numbers
                lead = f"{link} ({row.holding or row.verdict}): "
                groups[root].append(replace(row, lead=lead, numbers=numbers))
    return list(groups.values())


def by_rank(rows: Iterable[Row]) -> dict[str, list[Row]]:
    """Rank to its rows, headlines first; ranks without a row are left out.

    A corrected form follows what it corrects, in the higher of their ranks. Within a rank those that fail come first. Where
    a study has no headline, its first details are shown in their place.
    """
    groups: dict[str, list[list[Row]]] = {rank: [] for rank in RANKS}
    for family in families(rows):
        groups[min((row.rank for row in family), key=RANKS.index)].append(family)
    if not groups[HEADLINE]:
        details = groups[DETAIL]
        groups[HEADLINE], groups[DETAIL] = details[:_MOST_HEADLINES], details[_MOST_HEADLINES:]
    for some in groups.values():
        some.sort(key=lambda family: WORST_FIRST.index(family[0].standing))
    return {rank: [row for group in some for row in group] for rank, some in groups.items() if some}


def tally(rows: Iterable[Row], most: int = _NAMED) -> str:
    """Count sentences by the worst verdict of their forms, and name `most` that fail: "5 hold, 1 fails (It is small)"."""
    parts, every = [], families(rows)
    for verdict in VERDICTS:
        here = [family for family in every if family[0].standing == verdict]
        words = count(len(here), *_WORDS.get(verdict, (verdict, verdict)))
        if verdict == FAILS and here:
            mended = sum(any(form.verdict == HOLDS for form in family[1:]) for family in here)
            some = "but" if mended == len(here) else f"of which {mended}"
            words += f", {some} {'holds' if mended == 1 else 'hold'} corrected" if mended else ""
            failing = (next(row for row in family if row.verdict == FAILS) for family in here)
            words += f" ({named([_words_of(row) for row in failing], most)})" if most else ""
        parts += [words] if here else []
    return ", ".join(parts)


def finding(rows: Sequence[Row], runs: Mapping[Any, int] | None, seconds: float | None, of) -> str:
    """Say what was run of which study, and which headlines hold: "34 runs of routing in 8 s: 6 headline claims, all hold"."""
    first = by_rank(rows).get(HEADLINE, [])
    gone = (runs or {}).get("diverged", 0)
    lost = f", {gone if gone < sum(runs.values()) else 'all'} diverged" if runs and gone else ""
    of = f"{f'of {of} ' if of else ''}in {duration(seconds or 0)}{lost}"
    start = f"{count(sum(runs.values()), 'run')} {of}: " if runs else ""
    if not first:
        return start and f"{start[:-2]}."
    verdicts = [family[0].standing for family in families(first)]
    hold = "all hold" if verdicts[1:] else "it holds"
    which = hold if {*verdicts} == {HOLDS} else tally(first, 1)
    return f"{start}{count(len(verdicts), 'headline claim')}, {which}."


def alike(rows: Sequence[Row]) -> tuple[str, list[Row]]:
    """Return what all rows say alike of their size, in one line, and the rows without it; "" and all where they differ."""
    sizes, places = {row.details["Size"] for row in rows}, {row.at for row in rows}
    if len(sizes) == 1:
        bare = ({name: row.details[name] for name in row.details if name != "Size"} for row in rows)
        line = f"Size: {sizes.pop()}.".replace("Size: at ", "At ")
        return line, [replace(row, at="", details=next(bare)) for row in rows]
    shared = places.pop() if len(places) == 1 else ""
    return shared and f"A{shared[1:]}.", [replace(r, at="" if shared else r.at) for r in rows]


def counted(rows: Sequence[Row]) -> str:
    """The `tally` after the number of sentences, and of cells where these are more."""
    heads = [family[0] for family in families(rows)]
    cells = sum(len(row.cells) + row.more_cells or 1 for row in heads)
    judged = f", judged {cells} times" if cells > len(heads) else ""
    return f"{count(len(heads), 'claim')}{judged}: {tally(rows)}" if heads else "No claims."


def markdown(rows: Iterable[Row]) -> str:
    """The rows as a table in Markdown."""
    lines = ["| verdict | claim | measured (95% interval), predicted, allowed |", f"|{'---|' * 3}"]
    for row in rows:
        why = (*row.reasons, *row.outside)
        note = row.holding or (why[0] if why else "")
        parts = (
            f"{row.verdict} {row.at}".strip() + (f" ({note})" if note else ""),
            " ".join([f"`{row.label}` {row.statement}", *row.remarks * bool(row.holding)]),
            row.numbers,
        )
        cells = (" ".join(part.split()).replace("|", "\\|") for part in parts)
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def open_reasons(rows: Iterable[Row]) -> dict[str, list[str]]:
    """Why claims are inconclusive: reason to the sentences of those claims, the most frequent reason first."""
    reasons: dict[str, list[str]] = {}
    for row in rows:
        for reason in row.reasons:
            reasons.setdefault(reason, []).append(_words_of(row))
    return dict(sorted(reasons.items(), key=lambda item: -len(item[1])))


def named(sentences: Sequence[str], most: int = _NAMED) -> str:
    """The first few of some sentences, each once, and how many more there are."""
    once = list(dict.fromkeys(sentences))
    return "; ".join(once[:most]) + (f"; {len(once) - most} more" if once[most:] else "")


def _words_of(row: Row) -> str:
    return f"{row.phrase} {row.at}".strip()


def _row(group: CellClaims) -> Row:
    first, several = group.claims[0], len(group.claims) > 1
    measured, predicted, allowed = group.range("measured"), group.range("predicted"), group.allowed
    uncertainty = None if several else first.uncertainty
    digits = digits_to_tell_apart(*measured, *predicted, *(uncertainty or ()), *(allowed or ()))
    unit = "" if first.unit in ("1", "") else f" {first.unit}"
    holding = f"{group.counts.get(HOLDS, 0)} of {len(group.claimed)} cells hold"
    return Row(
        id=group.id,
        label=group.id if several else first.label,
        rank=first.rank,
        verdict=group.verdict,
        at=_at(group),
        holding=holding if several and group.verdict != NOT_CLAIMED else "",
        statement=first.statement,
        measured=_measured(group, measured, digits) + unit,
        **_numbers(group, measured, uncertainty, predicted, allowed, unit),
        spread=_spread(group, "" if uncertainty is None else _ends(uncertainty, digits)),
        reasons=tuple(group.reasons),
        outside=tuple(group.outside),
        remarks=tuple(_remarks(group, several)),
        corrects=first.corrects,
        details=_details(group),
        cells=tuple(_cells(group, digits)) if several else (),
        more_cells=max(0, len(group.claims) - MOST_CELLS) if several else 0,
    )


def _at(group) -> str:
    """Return where the worst verdict was reached, unless it was reached at the document's size, too."""
    ats = {claim.at for claim in group.claims if claim.verdict == group.verdict}
    if "" in ats:
        return ""
    return f"at {ats.pop()}" if len(ats) == 1 else "at other sizes than the document's"


def _numbers(group, measured, uncertainty, predicted, allowed, unit) -> dict[str, Any]:
    """Write what was measured, predicted and allowed.

    Where zero is predicted and a bound is allowed, what was measured is a deviation. What is allowed evenly to both sides of
    the prediction is written as "0.96 ± 0.01".
    """
    values, bounds = list(uncertainty or measured), list(allowed or ())
    off = bool(bounds) and predicted == (0, 0) and bounds[0] in (0, -math.inf)
    off = off and measured[0] >= 0
    percent = off and not unit and measured[1] >= 1e-4 and 1e-3 <= bounds[1] <= 1
    if percent:
        digits = _digits([100 * value for value in values], [100 * bounds[1]], 2)
        ends = _ends([100 * end for end in uncertainty], digits) if uncertainty else ""
        text = f"off by {_range([100 * end for end in measured], digits)}%"
        bound = f"{number(100 * bounds[1], digits)}%"
    else:
        digits = _digits(values, bounds, 3)
        ends = _ends(uncertainty, digits) if uncertainty else ""
        text = ("off by " if off else "") + _measured(group, measured, digits)
        bound = "by cell" if allowed is None else _allowed(allowed, group.claims, digits)
        bound = (bound.removeprefix("at most ") if off else bound) + unit
    text += f" ({ends})" if ends else ""
    bounds = f"allowed {bound}"
    if not off and not math.isnan(predicted[0]):
        even = _around(predicted, allowed, digits, unit)
        bounds = even or f"predicted {_range(predicted, digits)}, {bounds}"
    values = tuple((claim.measured, claim.uncertainty) for claim in group.claims)
    return {"numbers": f"{text}, {bounds}", "bounds": bounds, "reading": (off, percent, values)}


def _around(predicted, allowed, digits, unit) -> str:
    """Return what is allowed evenly to both sides of the prediction, "allowed 0.96 ± 0.01"; "" of other intervals."""
    low, high = allowed or (math.nan, math.nan)
    middle, room = (low + high) / 2, (high - low) / 2
    even = math.isfinite(room) and max(abs(middle - end) for end in predicted) <= 1e-9 * room
    if not even or digits > 4:
        return ""
    short = number(room, 2)
    short = short if abs(float(short) - room) < 0.01 * room else number(room, 3)
    return f"allowed {number(middle, digits)} ± {short}{unit}"


def _digits(values, bounds, fewest) -> int:
    """Digits that tell each value from each bound, and so show the verdict."""
    return max(digits_to_tell_apart(value, *bounds, fewest=fewest) for value in values)


def _range(ends, digits) -> str:
    low, high = (number(end, digits) for end in ends)
    return low if low == high else f"{low} to {high}"


def _measured(group, ends, digits) -> str:
    if not math.isnan(ends[0]):
        return _range(ends, digits)
    values = {number(claim.measured) for claim in group.claims}
    return values.pop() if len(values) == 1 else "nothing finite"


def _ends(uncertainty, digits) -> str:
    ends = [number(end, digits) for end in uncertainty if not math.isnan(end)]
    return " to ".join(ends) if len(ends) == 2 else ""


def _allowed(allowed, claims, digits) -> str:
    # A deviation cannot be negative, so its allowed interval is one bound; where one is, both ends are shown.
    deviations = all(claim.uncertainty is None and not claim.measured < 0 for claim in claims)
    return interval(None if deviations and allowed[0] == 0 else allowed[0], allowed[1], digits)


def _spread(group, ends) -> tuple[str, ...]:
    lines, several = [], len(group.claims) > 1
    methods = {claim.method for claim in group.claims if claim.method not in ("", "exact", "none")}
    by = f", by {' or '.join(sorted(methods))}" if methods else ""
    if all(claim.uncertainty is None for claim in group.claims):
        lines.append("exact fact, worst deviation" + ("s" if several else ""))
    elif several:
        lines.append("smallest and largest of the cells")
        lines += [f"95% intervals{by}"] if by else []
    else:
        lines.append(f"95% interval {ends}{by}" if ends else "no interval")
    seeds = [claim.seeds for claim in group.claims]
    fewest = f"{min(seeds)} to " if min(seeds) < max(seeds) else ""
    return (*lines, f"over {fewest}{count(max(seeds), 'seed')}{' each' if several else ''}")


def _remarks(group, several) -> Iterator[str]:
    failing = [claim for claim in group.claims if claim.verdict == FAILS]
    if failing and several:
        yield f"Fails in {group.where(failing)}.".replace("....", "...")
    for claim in failing[:_NAMED]:
        if lost := _LOST.search(claim.note):
            yield f"{lost[1]}{f' in {group.place(claim)}' if several else ''}."
    if not several and (alone := _ALONE.search(group.claims[0].note)):
        yield alone[0]
    for reason, some in group.reasons.items():
        where = f" in {group.where(some)} ({reason})" if several else f": {reason}"
        yield f"Inconclusive{where}."
    if several and (outside := group.outside):
        why, some = next(iter(outside.items()))
        amount = sum(map(len, outside.values()))
        more = "; ..." if amount > 1 else "."
        yield f"Not claimed in {count(amount, 'cell')}: {group.place(some[0])} ({why}){more}"
    elif group.outside:
        yield f"Not claimed ({'; '.join(group.outside)})."
    without = sum(not math.isfinite(claim.measured) for claim in group.claims)
    if without and several:
        yield f"Nothing finite was measured in {count(without, 'cell')}."
    if left_out := sum(claim.left_out for claim in group.claims):
        yield f"{count(left_out, 'seed')} without a value {'is' if left_out == 1 else 'are'} left out."
    if group.claims[0].among:
        yield f"Speaks only of {group.claims[0].among}."


def _details(group) -> dict[str, str]:
    first, notes = group.claims[0], {_ALONE.sub("", claim.note).strip() for claim in group.claims}
    ends = first.along.items()
    along = (f"{n} from {number(low)} to {number(high)}" for n, (low, high) in ends if low != high)
    texts = {
        "Why this is allowed": first.why,
        "Note": notes.pop() if len(notes) == 1 else "",
        "Source": first.source,
        "Looks along": ", ".join(along),
        "Size": _size(group),
    }
    return {label: text for label, text in texts.items() if text}


def _size(group) -> str:
    """Return in which parameters the size differs from the document's, in words."""
    sizes = [claim.size for claim in group.claims]
    if None in sizes:
        return "not compared with the document's, for which the study has no preset `paper`"
    differ = {name: values for size in sizes for name, values in (size or {}).items()}
    for name in group.claims[0].cell if len(sizes) > 1 else ():
        differ |= {name: ("by cell", differ[name][1])} if name in differ else {}
    if not differ:
        return "that of the document"
    several = f" in {count(sum(map(bool, sizes)), 'cell')}" if len(sizes) > 1 else ""
    words = {name.replace("_", " "): values for name, values in differ.items()}
    return f"at {size_text(words).replace('(document ', '(the document: ')}{several}"


def _cells(group, digits) -> Iterator[tuple[str, str, str]]:
    """Rows of the worst cells, the worst first: label, verdict, measured value, and what differs there from the others."""
    low, high = group.range("predicted")
    for claim in sorted(group.claims, key=lambda c: WORST_FIRST.index(c.verdict))[:MOST_CELLS]:
        text = number(claim.measured, digits)
        ends = _ends(claim.uncertainty, digits) if claim.uncertainty else ""
        text += f" ({ends})" if ends else ""
        if alone := _ALONE.search(claim.note):
            text += f", of these seeds alone {alone[1]}"
        if low < high and math.isfinite(claim.predicted):
            text += f", predicted {number(claim.predicted, digits)}"
        if group.allowed is None:
            text += f", allowed {_allowed(claim.allowed, [claim], digits)}"
        if claim.left_out:
            text += f", {count(claim.left_out, 'seed')} left out"
        text += f"; {claim.reason}" if claim.reason else ""
        yield group.place(claim), claim.verdict, text
