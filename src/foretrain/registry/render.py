"""Pages that are rendered from the registry: tables between two comments, and numbers in prose before one.

A table stands between two comments, of the default size of a study or of another one::

    <!-- registry: routing paper -->
    <!-- end -->

A number in prose stands before a comment that says which it is, and keeps its form: as many decimals, a percent sign::

    a cosine of .96<!-- routing/shared -->, at least .95<!-- routing@paper/shared:low -->

Behind the colon stands ``measured`` (the default), ``low`` or ``high`` of its interval, or ``predicted``.
``registry: tally`` counts all verdicts. A number before ``<!-- elsewhere -->`` is not the registry's: the document's, a
parameter, derived, or of other runs.
"""

import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from foretrain.claims.cells import gather
from foretrain.claims.claim import FAILS, HOLDS, INCONCLUSIVE, NOT_CLAIMED, Claim, size_text
from foretrain.claims.family import uncounted
from foretrain.claims.rows import Row, by_rank, rows
from foretrain.claims.table import ClaimTable
from foretrain.errors import StoreError, nearest, path_argument
from foretrain.registry.record import DEFAULT, Record
from foretrain.results.files import write_atomic
from foretrain.words import count, duration

BLOCK = re.compile(r"^<!-- registry: ([^>\n]+?) -->\n(.*?)^<!-- end -->$", re.M | re.DOTALL)
_NUMBER = re.compile(r"(-?[\d.]+(?:e-?\d+)?)(%?)(<!-- ([\w.@-]+/[^>]+?) -->)")
_REFERENCE = re.compile(r"([\w-]+)(?:@([\w-]+))?/(.+?)(?::(\w+))?")
_HEAD = (
    "| verdict | claim | predicted | measured (95% interval) | allowed |",
    "|---|---|---|---|---|",
)


def render(pages: Sequence[Path], records: Sequence[Record]) -> list[Path]:
    """Write the parts of pages that come from the registry, and return the pages that have changed.

    Args:
        pages: Markdown files, and folders of them.
        records: All records.

    Raises:
        StoreError: a page names what the registry does not have.
        OSError: a page cannot be read.
    """
    written = []
    for page in markdown_files(pages):
        text = page.read_text(encoding="utf-8")
        try:
            new = rendered(text, records)
        except StoreError as error:
            raise StoreError(f"{page}: {error}") from None
        if new != text:
            written.append(write_atomic(page, new.encode()))
    return written


def markdown_files(pages: Sequence[Path]) -> list[Path]:
    """Return the Markdown files among some files and below some folders."""
    found = []
    for page in pages:
        page = path_argument("page", page)
        found += sorted(page.rglob("*.md")) if page.is_dir() else [page]
    return found


def rendered(text: str, records: Sequence[Record]) -> str:
    """Return a page with its parts as the registry gives them."""

    def block(found: re.Match) -> str:
        study, _, size = found[1].partition(" ")
        body = tally(records) if study == "tally" else table(_record(records, study, size))
        return f"<!-- registry: {found[1]} -->\n\n{body}\n\n<!-- end -->"

    def number(found: re.Match) -> str:
        return _in_form(found[1], found[2], _value(found[4], records)) + found[3]

    return _NUMBER.sub(number, BLOCK.sub(block, text))


def table(record: Record) -> str:
    """Return the table of a record, a row for each sentence, under a line on where it comes from."""
    ranked = by_rank(rows(record.claims))
    lines = [_row(row) for some in ranked.values() for row in some]
    heed = [f"- {remark}" for remark in record.remarks]
    return "\n".join([provenance(record), "", *_HEAD, *lines, *(["", *heed] if heed else [])])


def provenance(record: Record) -> str:
    """Return size, seeds, device, commit, cost and command of a record, in one paragraph of Markdown."""
    differs = record.differs
    if differs is None:
        size = "the document's size is not known"
    elif differs:
        size = size_text(differs)
    else:
        size = "the document's size"
    seeds = count(record.seeds, "seed") + (
        f" of root {record.root_seed}" if record.root_seed else ""
    )
    machine = f"{record.precision} on {record.device}" if record.precision else record.device
    commit = f"commit {record.commit or 'unknown'}"
    facts = (size, seeds, machine, commit, duration(record.cost))
    return f"Size `{record.size}`: {'; '.join(facts)}:\n`{record.command}`"


def tally(records: Sequence[Record]) -> str:
    """Return how many sentences the registry holds, and their verdicts, in one sentence."""
    judged = [(row, one.differs is None) for one in records for row in rows(one.claims)]
    groups = {
        "at the document's size": [row for row, unknown in judged if not (row.at or unknown)],
        "at another size, which stands beside each": [row for row, _ in judged if row.at],
        "at a size that cannot be compared": [row for row, unknown in judged if unknown],
    }
    studies = count(len({record.study for record in records}), "study", "studies")
    alone = sum(
        any(
            claim.verdict in (HOLDS, FAILS) and not uncounted(claim, one.claims)
            for claim in group.claims
        )
        for one in records
        for group in gather(one.claims)
    )
    parts = [
        f"The registry holds {len(judged)} verdicts on sentences of {studies}; {alone} are evidence by themselves, the others "
        "exact facts, controls, complements of a sentence that fails, or open."
    ]
    for size, some in groups.items():
        found = Counter(row.verdict for row in some)
        counts = f"{found[HOLDS]} hold, {found[FAILS]} fail, {found[INCONCLUSIVE]} are inconclusive"
        counts += f", {found[NOT_CLAIMED]} are not claimed" if found[NOT_CLAIMED] else ""
        parts += [f"Of {len(some)} {size}, {counts}."] if some else []
    return " ".join(parts)


def _row(row: Row) -> str:
    holding = f" ({row.holding})" if row.holding else ""
    said = (*row.reasons, *row.outside)
    reasons = f" ({said[0]})" if said and not row.holding else ""
    cells = (
        f"{row.verdict} {row.at}".strip() + holding + reasons,
        " ".join([f"`{row.label}` {row.statement}", *(row.remarks if row.holding else ())]),
        row.predicted or "–",
        f"{row.measured} ({row.ends})" if row.ends else row.measured,
        row.allowed,
    )
    return f"| {' | '.join(' '.join(cell.split()).replace('|', chr(92) + '|') for cell in cells)} |"


def _record(records: Sequence[Record], study: str, size: str) -> Record:
    size = size or DEFAULT
    known = {(one.study, one.size): one for one in records}
    if (study, size) not in known:
        names = [f"{a} {b}" for a, b in known]
        raise StoreError(
            f"The registry has no `{study} {size}`. {nearest(f'{study} {size}', names)}"
        )
    return known[study, size]


def _value(reference: str, records: Sequence[Record]) -> float:
    """Return what a reference such as ``routing@paper/shared[rank=2]:low`` stands for."""
    found = _REFERENCE.fullmatch(reference)
    if found is None:
        raise StoreError(f"`{reference}` is no reference such as `routing/shared:low`.")
    study, size, label, name = found.groups()
    try:
        claim = ClaimTable(_record(records, study, size or "").claims)[label]
    except ValueError as error:
        raise StoreError(f"`{reference}`: {error}") from None
    if not isinstance(claim, Claim):
        raise StoreError(f"`{reference}` names {len(claim)} cells. Try `{claim[0].label}`.")
    low, high = claim.uncertainty or claim.allowed
    values = {"measured": claim.measured, "predicted": claim.predicted, "low": low, "high": high}
    if (name or "measured") not in values:
        raise StoreError(f"`{reference}`: {nearest(name, values)}")
    return values[name or "measured"]


def _in_form(text: str, percent: str, value: float) -> str:
    """Return a value in the form of the text that stood there: as many decimals, with or without a leading zero."""
    value = 100 * value if percent else value
    mantissa, _, exponent = text.partition("e")
    decimals = len(mantissa.partition(".")[2])
    if exponent:
        digits, _, power = f"{value:.{decimals}e}".partition("e")
        return f"{digits}e{int(power)}{percent}"
    new = f"{value:.{decimals}f}"
    if text.lstrip("-").startswith("."):
        new = re.sub(r"^(-?)0\.", r"\1.", new)
    return f"{new}{percent}"
