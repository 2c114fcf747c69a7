"""The table of verdicts, which pages of the documentation and the site show: a line for each sentence of each record."""

import math
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from foretrain.claims.cells import gather
from foretrain.claims.claim import FAILS, HOLDS, INCONCLUSIVE, NOT_CLAIMED, Claim, size_text
from foretrain.claims.family import summary, uncounted
from foretrain.claims.rows import Row, rows
from foretrain.plans import catalogue
from foretrain.registry.record import Record
from foretrain.words import count, duration

OWN = "Derived here"
_DOCUMENT = re.compile(r"Note on shared representations|(?!docs/).+? \(\d{4}\)")


@dataclass(frozen=True)
class Line:
    """One sentence at one size."""

    record: Record  # where it stands in the registry
    row: Row  # the sentence in words
    claims: tuple[Claim, ...]  # its verdicts, one for each cell
    document: str  # the document that its study speaks of
    place: str  # place in the document, or the page that derives it
    size: str  # size at which it was judged: "document", "other" or "unknown"


def lines(record: Record) -> list[Line]:
    """Return the table of a record."""
    groups = {group.id: group.claims for group in gather(record.claims)}
    return [
        Line(
            record=record,
            row=row,
            claims=(claims := groups[row.id]),
            document=document_of(record.document),
            place=claims[0].source,
            size="unknown" if record.differs is None else "other" if row.at else "document",
        )
        for row in rows(record.claims)
    ]


def document_of(source: str) -> str:
    """Return the document that a source names: authors and year, or that it was derived here."""
    match = _DOCUMENT.match(source)
    return OWN if match is None else match[0]


def facts(record: Record) -> dict[str, str]:
    """Return what is to be known of a record, label to text."""
    same = "the document's size" + " is not known" * (record.differs is None)
    root = f" of root {record.root_seed}" if record.root_seed else ""
    return {
        "Size": size_text(record.differs or {}) or same,
        "Seeds": count(record.seeds, "seed") + root,
        "Device": " on ".join(filter(None, (record.precision, record.device))),
        "Commit": record.commit or "unknown",
        **({"Renewed": record.renewed} if record.renewed else {}),
        "Code": f"makes {record.makes}, predicts {record.predicts}, judges {record.judges}",
        "Cost": duration(record.cost),
        "Together": summary(record.claims),
    }


def tally(records: Sequence[Record]) -> str:
    """Return how many sentences the registry holds, and their verdicts, in one sentence for each size.

    A sentence is counted once: at the document's size where it was judged there, else at another, of two such sizes at that
    with more seeds; not where nothing was measured.
    """
    known = [line for record in records for line in lines(record)]
    known.sort(key=lambda line: (line.size == "document", line.record.seeds))
    measured = (line for line in known if not all(math.isnan(c.measured) for c in line.claims))
    table = {(line.record.study, line.row.id): line for line in measured}
    alone = 0
    for line in table.values():
        settled = [claim for claim in line.claims if claim.verdict in (HOLDS, FAILS)]
        alone += not all(uncounted(claim, line.record.claims) for claim in settled)
    names = {record.study for record in records}
    others = len(names.difference(catalogue.names()))
    studies = count(len(names) - others, "study", "studies")
    studies += f" and {count(others, 'benchmark')}" * bool(others)
    parts = [
        f"The registry holds verdicts on {len(table)} sentences of {studies}; {alone} are evidence by themselves, the others "
        "exact facts, controls, complements of a sentence that fails, or open."
    ]
    sizes = {
        "document": "at the document's size",
        "other": "at other sizes only, which stand beside each",
        "unknown": "at a size that cannot be compared",
    }
    for size, words in sizes.items():
        verdicts = Counter(line.row.verdict for line in table.values() if line.size == size)
        text = f"{verdicts[HOLDS]} hold, {verdicts[FAILS]} fail, {verdicts[INCONCLUSIVE]} are inconclusive"
        text += f", {verdicts[NOT_CLAIMED]} are not claimed" if verdicts[NOT_CLAIMED] else ""
        parts += [f"Of {verdicts.total()} {words}, {text}."] if verdicts else []
    return " ".join(parts)
