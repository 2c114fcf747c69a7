"""The studies that there are, as a list that prints itself, and what to cite for one."""

import math
from collections.abc import Mapping
from pathlib import Path

from foretrain.plans import catalogue
from foretrain.plans.author import loaded
from foretrain.plans.card import Card
from foretrain.plans.study import Study
from foretrain.references import bibtex
from foretrain.words import fold


class Listing(tuple[Card, ...]):
    """Cards of studies, by name; printed as a table."""

    def __str__(self) -> str:
        return self.text()

    def text(self, width: float = math.inf, notes: Mapping[str, str] | None = None) -> str:
        """Name, summary, source and cost of each study, and a note on some, in lines of at most `width` columns."""
        size, lines = max(len(card.name) for card in self) + 2, []
        for card in self:
            first, indent = f"{card.name:<{size}}", " " * size
            if width < 100:
                lines.append(card.name)
                first = indent = " " * 4
            cost = f"; about {card.cost}" if card.cost else ""
            note = (notes or {}).get(card.name, "")
            parts = (card.summary, first), (f"{card.source}{cost}", indent), (note, indent)
            lines += [fold(text, width, start, indent) for text, start in parts if text]
        return "\n".join(lines)


def list_studies() -> Listing:
    """Return the card of every study of the catalogue and of other packages: name, summary, source, cost, references."""
    return Listing(catalogue.card(name) for name in catalogue.names())


def cite(study: str | Path | Study) -> str:
    """Return BibTeX of foretrain and of the theory a study rests on.

    Raises:
        ArgumentError: there is no such study.
        StudyError: its file cannot be read.
    """
    return bibtex(loaded(study, ("study",)).card.references)
