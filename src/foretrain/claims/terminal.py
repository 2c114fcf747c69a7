"""The claims as a terminal shows them: headlines in words and the others counted, or all with what is known of each."""

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from foretrain.claims.claim import FAILS, HEADLINE, HOLDS, INCONCLUSIVE, NOT_CLAIMED, Claim
from foretrain.claims.family import summary
from foretrain.claims.rows import Row, by_rank, counted, named, open_reasons, rows, tally
from foretrain.words import fold

NARROWEST = 40
_STYLES = {HOLDS: "bold green", FAILS: "bold red", INCONCLUSIVE: "bold yellow", NOT_CLAIMED: "bold"}
_GAP = 2
_OF_RUN = ("Scale", "Size")  # details that often are the same for all claims of a run
_SHARED = 2  # claims that are open for one reason have it once, below all
_MOST_REASONS = 3


def lines(claims: Sequence[Claim], width: int, fit: Callable[[str], str]) -> Iterator[Any]:
    """Verdict, sentence and numbers of every headline; below them how many others there are, and why claims are open.

    A claim of the document that is no headline itself is counted, also where its corrected form is one. A claim that fails
    is named whatever its rank, and an inconclusive one has its reason.

    Yields:
        What `rich` prints, from top to bottom.
    """
    ranked = by_rank(rows(claims))
    every = [row for some in ranked.values() for row in some]
    first = [row for row in every if row.rank == HEADLINE] or ranked.get(HEADLINE, [])
    others = [row for row in every if row not in first]
    if not first and not others:
        yield counted([])
    shared = {
        reason: labels
        for reason, labels in open_reasons([*first, *others]).items()
        if len(labels) >= _SHARED or not any(row.label in labels for row in first)
    }
    size = _size(first, width)
    for row in first:
        own = [text for text in row.remarks if not any(reason in text for reason in shared)]
        yield _row(row, size, width, fit, *own)
    if others:
        yield _hung(f"{len(others)} more: {tally(others)}", width, fit)
    for reason, labels in list(shared.items())[:_MOST_REASONS]:
        yield _hung(f"Inconclusive ({named(labels)}): {reason}.", width, fit)
    if len(shared) > _MOST_REASONS:
        yield _hung(f"{len(shared) - _MOST_REASONS} more reasons: see -v.", width, fit)


def details(claims: Sequence[Claim], width: int, fit: Callable[[str], str]) -> Iterator[Any]:
    """Every claim, rank by rank, with what to heed, why just this is allowed, and its source; see `lines`."""
    from rich.text import Text

    ranked = by_rank(rows(claims))
    every = [row for some in ranked.values() for row in some]
    shared = [name for name in _OF_RUN if len({row.details.get(name) for row in every}) == 1]
    size = _size(every, width)
    for rank, some in ranked.items():
        yield Text(f"{rank.capitalize()}s", "bold")
        for row in some:
            yield _row(row, size, width, fit)
            for text in _details_of(row, shared):
                yield _hung(text, width, fit, " " * size)
        yield ""
    yield _hung(counted(every), width, fit)
    if claims:
        yield _hung(summary(claims), width, fit)
    for name in shared if every else ():
        if text := every[0].details.get(name):
            yield Text(f"{name}: {text}", "dim")


def _verdict(row: Row) -> str:
    return row.holding.replace(" cells", "") or row.verdict


def _size(rows, width) -> int:
    return min(max((len(_verdict(row)) for row in rows), default=0) + _GAP, width // 3)


def _row(row, size, width, fit, *remarks):
    verdict, statement = _verdict(row), row.statement.strip().removesuffix(".")
    statement = re.sub(r"\bsqrt\((\w+)\)", r"√\1", statement)
    statement = f"{row.at}: {statement}" if row.at else statement
    text = " ".join([f"{statement}: {row.numbers}.", *remarks])
    whole = _hung(text, width, fit, " " * size, f"{verdict:<{size - 1}} ")
    whole.stylize(_STYLES[row.verdict], 0, len(verdict))
    return whole


def _hung(text, width, fit, rest="", first=None):
    from rich.text import Text

    return Text(fold(fit(text), width, rest if first is None else first, rest), overflow="fold")


def _details_of(row: Row, shared: Sequence[str]) -> Iterator[str]:
    corrected = f", corrected form of {row.corrects}" if row.corrects else ""
    yield f"{row.label}{corrected}; {row.details.get('Source', 'no source')}"
    yield from row.remarks
    yield f"Measured: {', '.join(row.spread)}."
    for label, text in row.details.items():
        if label != "Source" and label not in shared:
            yield f"{label}: {text}"
