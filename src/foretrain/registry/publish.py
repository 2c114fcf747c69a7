"""The registry as a static site: all sentences in one table, errata of the documents, and a page for each study.

Every page is one file that needs no network and no server; pictures stand beside them in ``images``.
"""

import re
import shutil
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from foretrain.claims.cells import gather
from foretrain.claims.claim import DETAIL, FAILS, HOLDS, VERDICTS, Claim, size_text
from foretrain.claims.family import summary
from foretrain.claims.rows import Row, rows
from foretrain.errors import FolderError
from foretrain.laboratory.listing import list_studies
from foretrain.registry.check import paper_cost
from foretrain.registry.record import Record
from foretrain.registry.sizes import notes
from foretrain.report.derivation import Derivation, derivations, html, pages
from foretrain.report.document import document, write_document
from foretrain.report.forest import Forest, forest
from foretrain.results.files import refused
from foretrain.words import duration

OWN = "Derived here"
_DOCUMENT = re.compile(r"(.+?) \((\d{4})\)")
_NOTE = "Note on shared representations"
_PICTURE = re.compile(r"!\[([^\]]*)\]\(\.\./images/([\w-]+\.png)\)")
_DOCS = "docs/"
_MADE = "Made by foretrain from its registry"  # at the foot of every page
_IMAGES = "'self' file: data:"


@dataclass(frozen=True)
class Line:
    """One sentence at one size, as a row of the table."""

    record: Record  # where it stands in the registry
    row: Row  # the sentence in words
    document: str  # document that its study speaks of
    place: str  # place in the document, or the page that derives it
    anchor: str  # id of the row on the page of its study
    cost: str  # what its runs cost together, in words
    # What was measured against what is allowed; None where nothing finite was.
    forest: Forest | None
    # Number of the section on the page of its study that derives it; None without one.
    derived: int | None
    among: str  # of which runs it speaks; "" for all


@dataclass(frozen=True)
class Picture:
    """One picture of a study's page in the documentation."""

    file: str  # name of the file
    text: str  # its text alternative


@dataclass(frozen=True)
class Reached:
    """The size at which the registry has a study."""

    study: str  # name of the study
    recorded: bool  # whether there is a record, and so a page
    size: str  # if that is the document's size, or what is missing of it
    cost: str  # what runs at the document's size would cost; "" where they were made


@dataclass(frozen=True)
class Erratum:
    """What a document says, judged, beside its corrected form."""

    document: str  # the document
    said: Line  # its sentence
    corrected: Line  # the corrected form


def publish(records: Sequence[Record], out: Path) -> list[Path]:
    """Write the site of these records into a folder, and return its pages.

    Cost: some milliseconds for each sentence, and up to some seconds for each study that is not at its document's size.

    Raises:
        FolderError: there are no records, the folder cannot be written, or it has another's page of the same name.
    """
    index = out / "index.html"
    if index.exists() and _MADE not in index.read_text("utf-8", "replace"):
        raise FolderError(f"{index} was not made by foretrain publish. Try another --out.")
    if not records:
        raise FolderError("The registry holds no record. Try foretrain registry add.")
    docs = next((page.parents[1] for page in pages()), None)
    derived = {one.study: derivations(one.study, pages()) for one in records}
    lines = [line for record in records for line in _lines(record, derived[record.study])]
    pictures = {study: [] if docs is None else _pictures(docs, study, out) for study in derived}
    shown = sorted({line.document for line in lines}, key=lambda name: (name == OWN, name))
    cards = {card.name: card for card in list_studies()}
    for study in derived.keys() - cards.keys():
        raise FolderError(f"The registry holds a record of `{study}`, which is no study.")
    common = {"scripts": ("fold.js",), "images": _IMAGES, "sheets": ("site.css",)}
    front = document(
        "report/site.html",
        **{**common, "scripts": ("site.js",)},
        title="Verdicts",
        lines=sorted(lines, key=lambda line: shown.index(line.document)),
        documents=shown,
        verdicts=VERDICTS,
        detail=DETAIL,
        pictures=pictures,
        studies=_reached(records),
    )
    errata = document(
        "report/errata.html",
        **common,
        title="Errata",
        printed=_printed(docs),
        documents=_errata(lines, shown),
    )
    unshown = document(
        "report/unshown.html", **common, title="What is not shown", studies=unshown_of(lines)
    )
    written = [
        write_document(index, front),
        write_document(out / "errata.html", errata),
        write_document(out / "unshown.html", unshown),
    ]
    for study, sections in derived.items():
        text = document(
            "report/site_study.html",
            **common,
            title=study,
            card=cards[study],
            sizes=[
                (one, [line for line in lines if line.record is one])
                for one in records
                if one.study == study
            ],
            derivations=sections,
            pictures=pictures[study],
            facts=facts,
        )
        written.append(write_document(out / f"{study}.html", text))
    return written


def _lines(record: Record, derived: Sequence[Derivation]) -> Iterable[Line]:
    claims = {group.id: group.claims for group in gather(record.claims)}
    sections = {id: at for at, one in reversed([*enumerate(derived)]) for id in one.claims}
    for row in rows(record.claims):
        first: Claim = claims[row.id][0]
        yield Line(
            record=record,
            row=row,
            document=document_of(record.document),
            place=first.source,
            anchor=f"{record.size}-{row.id}",
            cost=duration(record.cost),
            forest=forest(claims[row.id]),
            derived=sections.get(row.id, sections.get(row.corrects)),
            among=first.among,
        )


def document_of(source: str) -> str:
    """Return the document that a source names: authors and year, or that it was derived here."""
    if source.startswith(_NOTE):
        return _NOTE
    found = _DOCUMENT.match(source)
    return OWN if found is None or source.startswith(_DOCS) else found[0]


def _errata(lines: Sequence[Line], documents: Sequence[str]) -> list[tuple[str, list[Erratum]]]:
    """Return document to its sentences that fail, each with the corrected form that stands beside it."""
    known = {(id(line.record), line.row.id): line for line in lines}
    found: dict[str, list[Erratum]] = {name: [] for name in documents}
    for line in lines:
        said = known.get((id(line.record), line.row.corrects))
        if said is not None and said.row.verdict == FAILS and not said.place.startswith(_DOCS):
            place = document_of(said.place)
            found.setdefault(place, []).append(Erratum(place, said, line))
    return [(name, some) for name, some in found.items() if some]


def _reached(records: Sequence[Record]) -> list[Reached]:
    """Return the size of every study of foretrain, those without a record too."""
    found = []
    for study, size in notes(records).items():
        some = [one for one in records if one.study == study]
        found.append(Reached(study, bool(some), size, paper_cost(some)))
    return found


def _printed(docs: Path | None) -> Any:
    """Return the documentation's page of errata as HTML, without its title; "" where there is no documentation."""
    page = docs / "errata.md" if docs else None
    if page is None or not page.exists():
        return ""
    return html(page.read_text(encoding="utf-8").partition("\n")[2])


def unshown_of(lines: Sequence[Line]) -> list[tuple[str, str, list[Line], list[Line]]]:
    """Return of each study of the registry what it does not show.

    Returns:
        Name, what is missing of the document's size, sentences without a verdict, and those that speak of a part of the runs.
    """
    sizes = notes([line.record for line in lines])
    found = []
    for study in dict.fromkeys(line.record.study for line in lines):
        own = [line for line in lines if line.record.study == study]
        unsettled = [line for line in own if line.row.verdict not in (HOLDS, FAILS)]
        part = [line for line in own if line not in unsettled and line.among]
        found.append((study, sizes.get(study, ""), unsettled, part))
    return found


def _pictures(docs: Path, study: str, out: Path) -> list[Picture]:
    """Return the pictures of a study's page, copied into the site."""
    page = docs / "studies" / f"{study}.md"
    found = []
    for text, file in _PICTURE.findall(page.read_text(encoding="utf-8")) if page.exists() else ():
        source = docs / "images" / file
        if not source.exists():  # an installed package has no pictures
            continue
        try:
            (out / "images").mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source, out / "images" / file)
        except OSError as error:
            raise refused(out / "images" / file, error) from error
        found.append(Picture(file, text))
    return found


def facts(record: Record) -> list[tuple[str, Any]]:
    """Return what is to be known of a record, label to text."""
    differs = record.differs
    size = size_text(differs or {})
    seeds = f"{record.seeds}" + (f", root seed {record.root_seed}" if record.root_seed else "")
    return [
        (
            "Size",
            size or ("that of the document" if differs == {} else "the document's is not known"),
        ),
        ("Seeds", seeds),
        ("Device", " on ".join(filter(None, (record.precision, record.device)))),
        ("Commit", record.commit),
        ("Code", f"makes {record.makes}, predicts {record.predicts}, judges {record.judges}"),
        ("Cost", duration(record.cost)),
        ("Together", summary(record.claims)),
    ]
