"""The registry as a static site: all sentences in one table, errata of the documents, and a page for each study.

Every page is one file that needs no network and no server; pictures stand beside them in ``images``.
"""

import contextlib
import re
import shutil
from collections.abc import Sequence
from pathlib import Path

from foretrain.claims.claim import FAILS, HEADLINE, VERDICTS
from foretrain.claims.rows import tally as counts
from foretrain.errors import FolderError, ForetrainError, StoreError
from foretrain.plans.card import Card
from foretrain.provenance.reading import MOST_TEXT, read_file
from foretrain.registry.present import study_of
from foretrain.registry.record import Record
from foretrain.registry.table import OWN, Line, document_of, facts, lines, tally
from foretrain.report.derivation import derivations, documentation, html, pages, questions
from foretrain.report.document import document, write_document
from foretrain.report.sections import verdicts
from foretrain.results.files import disk_errors

_PICTURE = re.compile(r"!\[([^\]]*)\]\(\.\./images/([\w-]+\.png)\)")
_MADE = "Made by foretrain from its registry"  # at the foot of every page
_COMMON = {"scripts": ("fold.js",), "images": "'self' file: data:", "sheets": ("site.css",)}


def publish(records: Sequence[Record], out: Path) -> list[Path]:
    """Write the site of these records into a folder, and return its pages, the front page first.

    Raises `FolderError` where there are no records, or the folder cannot be written or has another's page of the same name.
    """
    index = out / "index.html"
    ours = not index.exists()
    with contextlib.suppress(OSError, StoreError):
        ours = ours or _MADE.encode() in read_file(index, MOST_TEXT)
    if not ours:
        raise FolderError(f"{index} was not made by foretrain publish. Try another --out.")
    if not records:
        raise FolderError("The registry holds no record. Try foretrain registry add.")
    known: dict[str, list[Record]] = {}
    for record in records:
        known.setdefault(record.study, []).append(record)
    table = [line for record in records for line in lines(record)]
    documents = sorted({line.document for line in table}, key=lambda name: (name == OWN, name))
    pictures = {study: _pictures(study, out) for study in known}
    cards = {study: _card(study, own[0].document) for study, own in known.items()}
    groups = questions()
    groups["Others"] = tuple(known.keys() - {name for names in groups.values() for name in names})
    page = documentation() / "errata.md"
    printed = page.read_text("utf-8").partition("\n")[2] if page.exists() else ""
    texts = {
        "index": document(
            "report/site.html",
            **{**_COMMON, "scripts": ("fold.js", "site.js")},
            title="Verdicts",
            lead=tally(records),
            errata=_errata(table),
            questions={q: [name for name in names if name in known] for q, names in groups.items()},
            lines=table,
            documents=documents,
            verdicts=VERDICTS,
            counts=lambda lines: counts([line.row for line in lines], 0),
            firsts={study: lines(own[0]) for study, own in known.items()},
            cards=cards,
            pictures=pictures,
        ),
        "errata": document("report/errata.html", **_COMMON, title="Errata", printed=html(printed)),
    }
    for study, own in known.items():
        derived = derivations(study, pages())
        texts[study] = document(
            "report/site_study.html",
            **_COMMON,
            title=study,
            card=cards[study],
            sizes=[(r, facts(r), verdicts({"claims": r.claims}, (), derived, r.size)) for r in own],
            derivations=[(section, ()) for section in derived],
            pictures=pictures[study],
        )
    return [write_document(out / f"{name}.html", text) for name, text in texts.items()]


def _card(study: str, document: str) -> Card:
    """Return the card of a study; of a benchmark, which an installed package lacks, its name and document."""
    try:
        return study_of(study).card
    except ForetrainError:
        return Card(study, source=document)


def _errata(table: Sequence[Line]) -> dict[str, list[tuple[Line, Line | None]]]:
    """Return document to its sentences that fail, headlines first, each with the corrected form beside it, if there is one."""
    corrected = {(id(line.record), line.row.corrects): line for line in table}
    errata: dict[str, list[tuple[Line, Line | None]]] = {}
    for line in sorted(table, key=lambda line: line.row.rank != HEADLINE):
        if line.row.verdict == FAILS:
            pair = line, corrected.get((id(line.record), line.row.id))
            errata.setdefault(document_of(line.place), []).append(pair)
    return errata


def _pictures(study: str, out: Path) -> list[tuple[str, str]]:
    """Return file and text alternative of the pictures of a study's page, copied into the site."""
    docs, pictures = documentation(), []
    page = docs / "studies" / f"{study}.md"
    for text, file in _PICTURE.findall(page.read_text(encoding="utf-8")) if page.exists() else ():
        source = docs / "images" / file
        if not source.exists():  # an installed package has no pictures
            continue
        with disk_errors(out / "images" / file):
            (out / "images").mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source, out / "images" / file)
        pictures.append((file, text))
    return pictures
