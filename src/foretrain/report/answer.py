"""The answer to a question that a person asked, and its five faces: terminal, page, notebook, JSON, picture.

A verb finds data, such as an `Analysis`, and the data become an `Answer` in one place. To let data of a room answer:

1. The class derives from `Finding`. Its module, ``room/thing.py``, imports neither words nor figures.
2. The module beside it, ``room/thing_words.py``, defines ``answer(thing) -> Answer``: sentences, tables, numbers, and
   functions that draw, usually those of ``room/thing_figures.py``.

Then ``thing.answer()`` is the `Answer`, and the thing prints itself, shows itself in a notebook, and has ``plot()`` and
``as_dict()``; a command calls `Answer.show`. Nothing else is needed, and nothing is registered.
"""

import importlib
import re
from base64 import b64encode
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, is_dataclass
from math import inf, isfinite
from os import PathLike
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from foretrain.claims import markup
from foretrain.report.document import document, write_document
from foretrain.results.files import disk_errors, json_bytes, write_atomic
from foretrain.words import SENTENCE, count, cut, fold, laid, print_json, print_text, room, say

_FOLDED = 12  # rows of a table from which on a page shows it folded
_NUMBER = re.compile(r"[-+]?(\d+(,\d{3})*(\.\d+)?(e[-+]?\d+)?|∞)(?=$|[ %])")


@dataclass(frozen=True)
class Table:
    """A table of texts.

    Attributes:
        heading: A few words, or the sentence that the table details.
        head: Names of the columns, none of them longer than a few words.
        rows: Cells, as many in each row as in `head`. Without rows the heading alone is printed, and a page leaves it out.
        brief: Rows in place of `rows` in a terminal and a notebook; None for the same.
        notes: Lines below the table, on every face.
        reading: Lines that say what the columns are, on the page alone.
    """

    heading: str
    head: Sequence[str]
    rows: Sequence[Sequence[str]]
    brief: Sequence[Sequence[str]] | None = None
    notes: Sequence[str] = ()
    reading: Sequence[str] = ()

    @property
    def short(self) -> Sequence[Sequence[str]]:
        """Rows of a terminal and a notebook."""
        return self.rows if self.brief is None else self.brief

    @property
    def folded(self) -> bool:
        """True if a page shows the table folded."""
        return len(self.rows) > _FOLDED

    def lines(self, width: float = inf) -> list[str]:
        """Return the table as lines of text, columns of numbers flush right; facts without names of columns flush left."""
        if not self.short:
            return [self.heading]
        named = any(self.head)
        numeric = [
            [bool(_NUMBER.match(cell)) for cell in cells] for cells in zip(*self.short, strict=True)
        ]
        right = {at for at, cells in enumerate(numeric) if named and 2 * sum(cells) >= len(cells)}
        left = {*range(len(numeric))} - (right if all(numeric[0]) else right - {0})
        most = 80 if named else SENTENCE  # without names of columns, cells are sentences
        shown = [[cut(cell, most) for cell in row] for row in (self.head, *self.short)]
        table = laid(shown if named else shown[1:], left, width)
        return [self.heading, *(line for line in table if line), *self.notes]


@dataclass(frozen=True)
class Answer:
    """Everything that is said of what was found.

    Attributes:
        name: Stem of its files, such as ``analysis``.
        title: A few words, such as ``Analysis of digits.pt``.
        head: Sentences that answer the question, the most important first.
        tables: The details.
        drawings: Name of each picture to the function that makes its `foretrain.figures.Drawing`, in the order of the page;
            the first is the picture of `plot`. None in place of a function where these data have no such picture.
        doubts: Sentences on what is not to be trusted, and why.
        numbers: What a program reads; arrays and numbers that are not finite are allowed, see `plain`.
        sections: Makes HTML of the page's own, which may hold curves to look into; None where the page needs none.
    """

    name: str
    title: str
    head: Sequence[str]
    tables: Sequence[Table]
    drawings: Mapping[str, Callable[[], Any] | None]
    doubts: Sequence[str] = ()
    numbers: Mapping[str, Any] = field(default_factory=dict)
    sections: Callable[[], str] | None = None

    def text(self, width: float = inf) -> str:
        """Return all of it but the pictures as lines of at most `width` columns."""
        head, doubts = ([cut(line, SENTENCE) for line in some] for some in (self.head, self.doubts))
        blocks = [head, *(t.lines(width) for t in self.tables), ["Trust", *doubts] * bool(doubts)]
        lines = [line for block in blocks if block for line in ("", *block)][1:]
        return "\n".join(fold(line, int(width)) if len(line) > width else line for line in lines)

    def brief(self) -> str:
        """Return title and sentences, for a prompt."""
        doubts = f"{count(len(self.doubts), 'line')} on trust; " if self.doubts else ""
        lines = [*self.head, f"{doubts}print() shows the tables, .plot() the picture."]
        return "\n".join([self.title, *(f"  {line}" for line in lines)])

    def plot(self, ax: Any = None) -> Any:
        """Draw the first picture on a figure of its own, or in the place of axes made by ``subplots``; returns the figure.

        Raises:
            ArgumentError: `ax` is not made by ``subplots``, or the picture cannot stand there.
        """
        from foretrain.figures.style import drawn_at

        name, draw = next(iter(self._drawn().items()))
        return drawn_at(ax, lambda: {name: draw()}, name).figure

    def as_dict(self) -> dict[str, Any]:
        """Return the numbers as values that JSON has."""
        return plain(self.numbers)

    def show(self, folder: str | PathLike | None = None, *, as_json: bool = False) -> None:
        """Print it as text, or as JSON alone on standard output; write it into a folder where one is named."""
        if as_json:
            print_json(self.as_dict())
        else:
            print_text(self.text(room()))
        for path in () if folder is None else self.write(folder):
            (say if as_json else print_text)(f"Written: {path}")

    def write(self, folder: str | PathLike) -> tuple[Path, ...]:
        """Write numbers, pictures and page into a folder, which is made if need be.

        Returns:
            Paths of ``<name>.json``, of each picture as SVG (the CSV of its points stands beside it), and of
            ``<name>.html``. A picture of that name that these data do not have is removed.

        Raises:
            FolderError: The folder cannot be made or written.
        """
        from foretrain import __version__, figures

        folder = Path(folder)
        drawings = {name: draw() for name, draw in self._drawn().items()}
        with disk_errors(folder):
            folder.mkdir(parents=True, exist_ok=True)
            for name in self.drawings.keys() - drawings.keys():
                for ending in ("csv", "svg"):
                    (folder / f"{name}.{ending}").unlink(missing_ok=True)
            record = write_atomic(folder / f"{self.name}.json", json_bytes(self.as_dict()))
            pictures = [*figures.save(drawings, folder).values()]
            vectors = [b64encode(path.read_bytes()).decode() for path in pictures]
        words = [(drawing.title, drawing.caption) for drawing in drawings.values()]
        text = document(
            "report/answer.html",
            scripts=("fold.js",),
            live=self.sections is not None,
            title=self.title,
            answer=self,
            figures=[(*pair, svg) for pair, svg in zip(words, vectors, strict=True)],
            sections="" if self.sections is None else self.sections(),
            version=__version__,
        )
        return record, *pictures, write_document(folder / f"{self.name}.html", text)

    def _drawn(self):
        return {name: draw for name, draw in self.drawings.items() if draw is not None}

    def __str__(self) -> str:
        return self.text()

    def _repr_html_(self) -> str:
        return markup.render(
            "report/face.html",
            title=self.title,
            subtitle="",
            lines=[*self.head, *self.doubts],
            picture=b64encode(self.plot()._repr_png_()).decode(),
            parts=[],
            tables=[(table.heading, table.head, table.short) for table in self.tables],
        )


class Finding:
    """Base of what a verb returns: it answers, prints and shows itself, and knows nothing of words or pictures.

    The words of ``room/thing.py`` stand in ``room/thing_words.py``, see above.
    """

    def answer(self) -> Answer:
        """Return what is said of it."""
        return importlib.import_module(f"{type(self).__module__}_words").answer(self)

    def as_dict(self) -> dict[str, Any]:
        """Return its numbers as values that JSON has; those that are not finite are None."""
        return self.answer().as_dict()

    def plot(self, ax: Any = None) -> Any:
        """Draw it on a figure of its own, or in the place of axes made by ``subplots``; returns the matplotlib figure."""
        return self.answer().plot(ax)

    def __str__(self) -> str:
        return self.answer().text()

    def __repr__(self) -> str:
        return self.answer().brief()

    def _repr_html_(self) -> str:
        return self.answer()._repr_html_()


def plain(value: Any) -> Any:
    """Return a value as JSON has it: arrays become lists, records and mappings objects, numbers that are not finite None."""
    if hasattr(value, "tolist"):  # of NumPy
        return plain(value.tolist())
    if isinstance(value, Mapping):
        return {str(name): plain(inner) for name, inner in value.items()}
    if is_dataclass(value) and not isinstance(value, type):
        return plain(asdict(value))
    if isinstance(value, list | tuple):
        return [plain(inner) for inner in value]
    if isinstance(value, float) and not isfinite(value):
        return None
    return str(value) if isinstance(value, PathLike) else value


def check_folder(folder: str | PathLike) -> None:
    """Refuse a folder that cannot be made and written, before anything is computed; leave nothing behind.

    Raises:
        FolderError: It cannot.
    """
    path = Path(folder)
    with disk_errors(path):
        parent = next(place for place in (path, *path.absolute().parents) if place.exists())
        with TemporaryDirectory(dir=parent):
            pass
