"""The page of two results side by side."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from foretrain.claims.rows import Row
from foretrain.report.document import document, write_document
from foretrain.report.forest import Forest
from foretrain.report.sections import curves, verdicts

FILE_NAME = "comparison.html"


@dataclass(frozen=True)
class ComparedClaim:
    """One sentence in two results.

    Attributes:
        id: Its id.
        statement: The sentence, as the first result that has it says it.
        pair: Row and forest plot in either result, None where it was not judged.
        changed: Whether its verdicts differ.
    """

    id: str
    statement: str
    pair: tuple[tuple[Row, Forest | None] | None, ...]
    changed: bool


def write(
    folder: Path,
    *,
    names: tuple[str, str],
    summaries: Sequence[Any],
    differences: Sequence[tuple[str, str, str]],
    claims: Sequence[ComparedClaim],
    live: Mapping | None,
) -> Path:
    """Write the page into a folder, which is made if need be.

    Args:
        folder: Where to.
        names: What the two results are called.
        summaries: Of the two results, `foretrain.results.summary.Summary`.
        differences: Item and its value in either result.
        claims: The sentences, those whose verdicts differ first.
        live: Curves of both, see `foretrain.figures.live`.

    Raises:
        FolderError: the folder cannot be made or written.
    """
    strips = [verdicts({"claims": summary.claims}) for summary in summaries]
    text = document(
        "report/comparison.html",
        scripts=("fold.js",),
        live=bool(live),
        title=f"{names[0]} and {names[1]}",
        names=names,
        questions=list(dict.fromkeys(summary.summary for summary in summaries)),
        tallies=[strip.tally if strip else "No claims." for strip in strips],
        strips=strips,
        differences=list(differences),
        claims=list(claims),
        curves=curves(live) if live else None,
    )
    return write_document(folder / FILE_NAME, text)
