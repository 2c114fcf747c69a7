"""The page over several results: of each its question, what is its own about it, its verdicts and its first figure."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from foretrain.report.document import document, write_document
from foretrain.report.sections import Verdicts

FILE_NAME = "index.html"


@dataclass(frozen=True)
class Shown:
    """One result on the page.

    Attributes:
        name: Of its folder, as seen from the page.
        study: Its study.
        question: What the study asks.
        own: What is its own about it: parameters that are not the default, axes, seeds.
        made: When, and how long training took, in words.
        verdicts: Its sentences, None where none was judged.
        page: Its page, as seen from this one; "" where it has none.
        picture: Its first figure, as seen from the page; "" where it has none.
    """

    name: str
    study: str
    question: str
    own: str
    made: str
    verdicts: Verdicts | None
    page: str
    picture: str


def write(folder: Path, title: str, results: Sequence[Shown], unread: Sequence[str]) -> Path:
    """Write ``index.html`` into the folder that holds the results.

    Args:
        folder: Where to.
        title: What the page is called.
        results: In the order in which they are shown.
        unread: Folders whose summary could not be read, each with the reason.

    Raises:
        FolderError: the folder cannot be written.
    """
    text = document(
        "report/index.html",
        images="'self' file: data:",  # pictures stay in the folders of the results
        title=title,
        results=list(results),
        unread=list(unread),
    )
    return write_document(folder / FILE_NAME, text)
