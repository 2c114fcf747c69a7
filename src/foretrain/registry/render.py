"""Pages that are rendered from the registry: tables between two comments, and numbers in prose before one.

A table stands between two comments, of the default size of a study or of another one::

    <!-- registry: routing paper -->
    <!-- end -->

A number in prose stands before a comment that says which it is, and keeps its form: as many decimals, a percent sign::

    a cosine of .96<!-- routing/shared -->, at least .95<!-- routing@paper/shared:low -->

Behind the colon stands ``measured`` (the default), ``low`` or ``high`` of its interval, or ``predicted``. Of a whole record,
``10<!-- routing/*:seeds -->``, it is ``seeds``, ``runs``, ``sentences``, ``hold``, ``fail`` or ``open``.
``registry: tally`` counts all verdicts. A number before ``<!-- elsewhere -->`` is not the registry's: the document's, a
parameter, derived, or of other runs.
"""

import itertools
import os
import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from foretrain.claims.claim import FAILS, HOLDS, INCONCLUSIVE, Claim
from foretrain.claims.rows import by_rank, markdown, rows
from foretrain.claims.table import ClaimTable
from foretrain.errors import ForetrainError, StoreError, file_argument, nearest
from foretrain.provenance.reading import MOST_TEXT, read_file
from foretrain.registry.record import Record, find
from foretrain.registry.table import facts, lines, tally
from foretrain.results.files import write_atomic
from foretrain.words import encodable

BLOCK = re.compile(r"^<!-- registry: ([^>\n]+?) -->\n(.*?)^<!-- end -->$", re.M | re.DOTALL)
_VALUE = re.compile(r"(-?(?:\d{1,3}(?:,\d{3})+|[\d.]+)(?:e-?\d+)?)(%?)(<!-- ([\w.@-]+/[^>]+?) -->)")
_REFERENCE = re.compile(r"([\w-]+)(?:@([\w-]+))?/(.+?)(?::(\w+))?")


def render(pages: Sequence[Path], records: Sequence[Record]) -> list[Path]:
    """Write the parts of pages, Markdown files and folders of them, that come from the registry; return the changed pages.

    Raises `StoreError` where a page names what the registry does not have, or cannot be read.
    """
    return [write_atomic(page, text.encode()) for page, text in stale(pages, records).items()]


def stale(pages: Sequence[Path], records: Sequence[Record]) -> dict[Path, str]:
    """Return each page that says otherwise than the registry, to its text as `render` writes it; raises as that does."""
    changed = {}
    files = [sorted(p.rglob("*.md")) if os.path.isdir(p) else [p] for p in pages]
    for page in itertools.chain(*files):
        try:
            text = read_file(file_argument("page", page, MOST_TEXT), MOST_TEXT).decode("utf-8")
            new = rendered(text, records)
        except (ForetrainError, OSError, UnicodeDecodeError) as error:
            raise StoreError(f"{page} cannot be rendered: {error}") from None
        if new != text:
            changed[page] = new
    return changed


def rendered(text: str, records: Sequence[Record]) -> str:
    """Return a page with its parts as the registry gives them."""

    def block(match: re.Match) -> str:
        study, _, size = match[1].partition(" ")
        body = tally(records) if study == "tally" else markdown_table(find(records, study, size))
        return f"<!-- registry: {match[1]} -->\n\n{body}\n\n<!-- end -->"

    def number(match: re.Match) -> str:
        return _in_form(match[1], match[2], _value(match[4], records)) + match[3]

    return _VALUE.sub(number, BLOCK.sub(block, text))


def markdown_table(record: Record) -> str:
    """Return the table of a record, a row for each sentence, under a line on where it comes from."""
    ranked = by_rank([line.row for line in lines(record)])
    table = markdown(row for group in ranked.values() for row in group)
    heed = [f"- {remark}" for remark in record.remarks]
    known = facts(record)
    known["Commit"] = f"commit {known['Commit']}"
    text = "; ".join(known[label] for label in ("Size", "Seeds", "Device", "Commit", "Cost"))
    head = f"Size `{record.size}`: {text}:\n`{record.command}`"
    return encodable("\n".join([head, "", table, *(["", *heed] if heed else [])]), "utf-8")


def _value(reference: str, records: Sequence[Record]) -> float:
    """Return the value of a reference such as ``routing@paper/shared[rank=2]:low``."""
    match = _REFERENCE.fullmatch(reference)
    if match is None:
        raise StoreError(f"`{reference}` is no reference such as `routing/shared:low`.")
    study, size, label, name = match.groups()
    record = find(records, study, size or "")
    values: dict[str, float]
    if label == "*":
        verdicts = Counter(row.verdict for row in rows(record.claims))
        values = {"sentences": verdicts.total(), "seeds": record.seeds}
        values |= {"runs": sum(record.runs.values()), "hold": verdicts[HOLDS]}
        values |= {"fail": verdicts[FAILS], "open": verdicts[INCONCLUSIVE]}
    else:
        try:
            claim = ClaimTable(record.claims)[label]
        except ValueError as error:
            raise StoreError(f"`{reference}`: {error}") from None
        if not isinstance(claim, Claim):
            raise StoreError(f"`{reference}` names {len(claim)} cells. Try `{claim[0].label}`.")
        low, high = claim.uncertainty or claim.allowed
        values = {"measured": claim.measured, "predicted": claim.predicted}
        values |= {"low": low, "high": high}
    if (name or next(iter(values))) not in values:
        raise StoreError(f"`{reference}`: {nearest(name, values)}")
    return values[name or next(iter(values))]


def _in_form(text: str, percent: str, value: float) -> str:
    """Return a value in the form of the text that stood there: as many decimals, with or without a leading zero."""
    value = 100 * value if percent else value
    mantissa, _, exponent = text.partition("e")
    decimals = len(mantissa.partition(".")[2])
    if exponent:
        digits, _, power = f"{value:.{decimals}e}".partition("e")
        return f"{digits}e{int(power)}{percent}"
    new = f"{value:{',' * (',' in text)}.{decimals}f}"
    new = re.sub(r"^(-?)0\.", r"\1.", new) if text.lstrip("-").startswith(".") else new
    return f"{new}{percent}"
