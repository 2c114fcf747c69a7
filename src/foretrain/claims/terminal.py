"""The claims as a terminal shows them: headlines in words and the others counted, or all with what is known of each."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from foretrain.claims import rows as facts
from foretrain.claims.claim import FAILS, HEADLINE, HOLDS, INCONCLUSIVE, NOT_CLAIMED, Claim
from foretrain.claims.family import summary
from foretrain.claims.rows import Row
from foretrain.words import SENTENCE, count, cut, fold

NARROWEST = 40
_STYLES = {HOLDS: "bold green", FAILS: "bold red", INCONCLUSIVE: "bold yellow", NOT_CLAIMED: "bold"}
_GAP = 2
_SHARED = 2  # claims that are open for one reason have it once, below all
_MOST_REASONS = 3


def lines(claims: Sequence[Claim], width: int, fit: Callable[[str], str]) -> Iterator[Any]:
    """Yield for `rich` verdict, sentence and numbers of every headline; then the number of others, and why claims are open.

    What differs from the document's size is said once, above. A corrected form is part of its sentence. A claim that fails
    is named whatever its rank, and an inconclusive one has its reason.
    """
    judged = facts.rows(claims)
    size, every = facts.alike(judged)
    ranked = facts.by_rank(every)
    first = ranked.pop(HEADLINE, [])
    others = [row for some in ranked.values() for row in some]
    yield from [_hung(size, width, fit)] if size and any(row.at for row in judged) else []
    shared = {
        reason: sentences
        for reason, sentences in facts.open_reasons(every).items()
        if len(sentences) >= _SHARED or not any(reason in row.reasons for row in first)
    }
    for row in first:
        known = [reason for reason in row.reasons if reason in shared]
        own = [text for text in row.remarks if not any(reason in text for reason in known)]
        yield _row(row, _size(first, width), width, fit, *own)
    if others or not first:
        none = "No claims: the study has no sentence on these parameters."
        rest = f"{len(facts.families(others))} more: {facts.tally(others)}" if others else none
        yield _hung(rest, width, fit)
    for reason, sentences in list(shared.items())[:_MOST_REASONS]:
        yield _hung(f"Inconclusive ({facts.named(sentences)}): {reason}.", width, fit)
    if len(shared) > _MOST_REASONS:
        yield _hung(f"{count(len(shared) - _MOST_REASONS, 'more reason')}: see -v.", width, fit)


def details(claims: Sequence[Claim], width: int, fit: Callable[[str], str]) -> Iterator[Any]:
    """Every claim, rank by rank, with what to heed, why just this is allowed, and its source; see `lines`."""
    from rich.text import Text

    line, every = facts.alike(facts.rows(claims))
    size = _size((family[0] for family in facts.families(every)), width)
    for rank, some in facts.by_rank(every).items():
        yield Text(f"{rank.capitalize()}s", "bold")
        for row in some:
            yield _row(row, size, width, fit)
            for text in _details_of(row):
                yield _hung(text, width, fit, " " * size)
        yield ""
    yield _hung(facts.counted(every), width, fit)
    if claims:
        yield _hung(summary(claims), width, fit)
        yield _hung(line, width, fit)


def _verdict(row: Row) -> str:
    return row.holding.replace(" cells", "") or row.verdict


def _head(row: Row) -> str:
    """Return what stands in the first column: of a corrected form nothing."""
    return "" if row.lead else _verdict(row) if row.verdict == row.standing else row.standing


def _size(rows, width) -> int:
    return min(max((len(_head(row)) for row in rows), default=0) + _GAP, width // 3)


def _row(row, size, width, fit, *remarks):
    head, statement = _head(row), f"{row.at}: {row.phrase}" if row.at else row.phrase
    own = f" ({_verdict(row)})" if row.standing not in ("", row.verdict) else ""
    text = " ".join([f"{row.lead}{statement}{own}: {row.numbers}.", *remarks])
    whole = _hung(text, width, fit, " " * size, f"{head:<{size - 1}} ")
    whole.stylize(_STYLES[row.standing or row.verdict], 0, len(head))
    return whole


def _hung(text, width, fit, rest="", first=""):
    from rich.text import Text

    return Text(fold(fit(cut(text, SENTENCE)), width, first or rest, rest), overflow="fold")


def _details_of(row: Row) -> Iterator[str]:
    corrected = f", corrected form of {row.corrects}" if row.corrects else ""
    yield f"{row.label}{corrected}; {row.details.get('Source', 'no source')}"
    yield from row.remarks
    yield f"Measured: {', '.join(row.spread)}."
    for label, text in row.details.items():
        if label != "Source":
            yield f"{label}: {text}"
