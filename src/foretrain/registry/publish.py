"""The registry as a static site: all sentences in one table, errata of the documents, and a page for each study.

Every page is one file that needs no network and no server; pictures stand beside them in ``images``.
"""

import re
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from foretrain.claims.claim import DETAIL, FAILS, VERDICTS
from foretrain.errors import FolderError, ForetrainError
from foretrain.plans.card import Card
from foretrain.registry.present import study_of
from foretrain.registry.record import Record
from foretrain.registry.sizes import notes
from foretrain.registry.table import DOCS, OWN, Line, document_of, facts, lines
from foretrain.report.derivation import derivations, documentation, html, pages
from foretrain.report.document import document, write_document
from foretrain.results.files import disk_errors
from foretrain.words import duration

_PICTURE = re.compile(r"!\[([^\]]*)\]\(\.\./images/([\w-]+\.png)\)")
_MADE = "Made by foretrain from its registry"  # at the foot of every page
_COMMON = {"scripts": ("fold.js",), "images": "'self' file: data:", "sheets": ("site.css",)}


def publish(records: Sequence[Record], out: Path) -> list[Path]:
    """Write the site of these records into a folder, and return its pages, the front page first.

    Cost: some milliseconds for each sentence.

    Raises:
        FolderError: there are no records, the folder cannot be written, or it has another's page of the same name.
    """
    index = out / "index.html"
    if index.exists() and _MADE not in index.read_text("utf-8", "replace"):
        raise FolderError(f"{index} was not made by foretrain publish. Try another --out.")
    if not records:
        raise FolderError("The registry holds no record. Try foretrain registry add.")
    known: dict[str, list[Record]] = {}
    for record in records:
        known.setdefault(record.study, []).append(record)
    derived = {study: derivations(study, pages()) for study in known}
    sizes = {
        study: [(record, facts(record), lines(record, derived[study])) for record in own]
        for study, own in known.items()
    }
    table = [line for tables in sizes.values() for *_, rows in tables for line in rows]
    pictures = {study: _pictures(study, out) for study in known}
    names = sorted({line.document for line in table}, key=lambda name: (name == OWN, name))
    texts = {
        "index": document(
            "report/site.html",
            **{**_COMMON, "scripts": ("site.js",)},
            title="Verdicts",
            lines=sorted(table, key=lambda line: names.index(line.document)),
            documents=names,
            verdicts=VERDICTS,
            detail=DETAIL,
            pictures=pictures,
            studies=[(study, study in known, size) for study, size in notes(records).items()],
            duration=duration,
        ),
        "errata": document(
            "report/errata.html",
            **_COMMON,
            title="Errata",
            printed=_printed(),
            documents=_errata(table, names),
        ),
    }
    for study in known:
        texts[study] = document(
            "report/site_study.html",
            **_COMMON,
            title=study,
            card=_card(study, known[study][0].document),
            sizes=sizes[study],
            derivations=[(section, ()) for section in derived[study]],
            pictures=pictures[study],
        )
    return [write_document(out / f"{name}.html", text) for name, text in texts.items()]


def _card(study: str, document: str) -> Card:
    """Return the card of a study; of a benchmark, which an installed package lacks, its name and document."""
    try:
        return study_of(study).card
    except ForetrainError:
        return Card(study, source=document)


def _errata(
    table: Sequence[Line], documents: Sequence[str]
) -> list[tuple[str, list[tuple[Line, Line]]]]:
    """Return document to its sentences that fail, each with the corrected form that stands beside it."""
    known = {(id(line.record), line.row.id): line for line in table}
    errata: dict[str, list[tuple[Line, Line]]] = {name: [] for name in documents}
    for line in table:
        wrong = known.get((id(line.record), line.row.corrects))
        if wrong is not None and wrong.row.verdict == FAILS and not wrong.place.startswith(DOCS):
            errata.setdefault(document_of(wrong.place), []).append((wrong, line))
    return [(name, pairs) for name, pairs in errata.items() if pairs]


def _printed() -> Any:
    """Return the documentation's page of errata as HTML, without its title; "" where there is no documentation."""
    page = documentation() / "errata.md"
    return html(page.read_text(encoding="utf-8").partition("\n")[2]) if page.exists() else ""


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
