"""Findings of a network or of curves of the user's own, on disk: a record of numbers, pictures, and a page with both."""

import base64
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from foretrain import figures
from foretrain.figures import Drawing
from foretrain.report.document import document, write_document
from foretrain.results.files import refused, write_atomic


def write_findings(
    folder: Path,
    page: str,
    drawings: Mapping[str, Drawing],
    *,
    record: tuple[str, Any] | None = None,
    above: int | None = None,
    **values: Any,
) -> tuple[Path, ...]:
    """Write a record, its pictures and its page into a folder, which is made if need be.

    Args:
        folder: Where all of it stands.
        page: Name of the page's file.
        drawings: Pictures by the names of their files, in the order of the page.
        record: Name of a file and what it holds, JSON-ready; None without.
        above: Number of pictures that stand above the tables; by default all.
        **values: What else ``report/analysis.html`` asks for: title, summary, doubts, tables, whether
            these are folded, closing.

    Returns:
        Paths of the record, of the pictures and of the page.

    Raises:
        FolderError: The folder cannot be made or written.
    """
    from foretrain import __version__

    captions = [(drawing.title, drawing.caption) for drawing in drawings.values()]
    try:
        folder.mkdir(parents=True, exist_ok=True)
        written = []
        if record is not None:
            name, content = record
            text = json.dumps(content, indent=1) + "\n"
            written.append(write_atomic(folder / name, text.encode()))
        pictures = [*figures.save(drawings, folder).values()]
        inlined = [base64.b64encode(path.read_bytes()).decode() for path in pictures]
    except OSError as error:
        raise refused(folder, error) from error
    shown = [(*caption, text) for caption, text in zip(captions, inlined, strict=True)]
    text = document(
        "report/analysis.html",
        figures=shown[:above],
        later=[] if above is None else shown[above:],
        version=__version__,
        **values,
    )
    return (*written, *pictures, write_document(folder / page, text))
