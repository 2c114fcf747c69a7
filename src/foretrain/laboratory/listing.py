"""The studies that there are, as a list that prints itself; what to cite for one; the smallest, to start one's own from."""

import math
from collections.abc import Mapping
from pathlib import Path

from foretrain.errors import argument_error, path_argument
from foretrain.plans import catalogue
from foretrain.plans.author import loaded
from foretrain.plans.card import Card
from foretrain.plans.study import Study
from foretrain.references import bibtex
from foretrain.report.derivation import questions
from foretrain.words import fold

_COST = 7  # columns of a cost such as "90 s"


class Listing(tuple[Card, ...]):
    """Cards of studies, by name; printed by question, one line for each."""

    def __repr__(self) -> str:
        return self.text()

    def text(self, width: float = math.inf) -> str:
        """Name, cost and summary of each study below its question, in lines of at most `width` columns.

        A summary that is longer than its line ends in an ellipsis.
        """
        size, lines = max(len(card.name) for card in self) + 2, []
        cards = {card.name: card for card in self}
        for question, names in {**questions(), "Of other packages": tuple(cards)}.items():
            known = [cards.pop(name) for name in names if name in cards]
            lines += ["", fold(question, width)] if known else []
            for card in known:
                line = f"  {card.name:<{size}}{card.cost:<{_COST}}{card.summary}"
                if len(line) > width:
                    line = f"{line[: int(width)].rpartition(' ')[0].rstrip(' ,;:')}…"
                lines.append(line)
        return "\n".join(lines[1:])

    def details(self, width: float = math.inf, notes: Mapping[str, str] | None = None) -> str:
        """Name, summary, source and cost of each study, and a note on some, in lines of at most `width` columns."""
        lines = []
        for card in self:
            cost = f"; about {card.cost}" if card.cost else ""
            parts = card.summary, f"{card.source}{cost}", (notes or {}).get(card.name, "")
            lines += [card.name, *(fold(text, width, "  ", "  ") for text in parts if text)]
        return "\n".join(lines)


def list_studies() -> Listing:
    """Return the card of every study of the catalogue and of other packages: name, summary, source, cost, references."""
    return Listing(catalogue.card(name) for name in catalogue.names())


def cite(study: str | Path | Study) -> str:
    """Return BibTeX of foretrain and of the theory a study rests on; raises as `foretrain.info` does."""
    return bibtex(loaded(study, ("study",)).card.references)


def write_template(file: str | Path) -> Path:
    """Write the smallest study that runs as a new file; raises `ArgumentError` where there can be none of that name."""
    path = path_argument("file", file)
    if path.suffix != ".py" or not path.stem.isidentifier():
        raise argument_error("file", "be the name of a module, such as mine.py", f"is {path}")
    if path.exists():
        raise argument_error("file", "be new", f"{path} exists", "Try another name.")
    text = Path(__file__).with_name("template.txt").read_text(encoding="utf-8")
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise argument_error("file", "be writable", f"{path} is not: {error.strerror}") from None
    return path
