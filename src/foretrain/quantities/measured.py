"""Values of a quantity with words that depend on them, and the sign that a quantity does not apply in a cell."""

from dataclasses import dataclass
from typing import Any

from foretrain.errors import ForetrainError


class NotApplicable(ForetrainError):
    """A quantity has no value in a cell: a network was not trained, a variable not stored, or an axis is too short."""


def skip_if(condition: Any, reason: str) -> None:
    """Raise `NotApplicable`, with the reason in words, where a condition holds."""
    if condition:
        raise NotApplicable(reason)


@dataclass(frozen=True)
class PerSeed:
    """One value per seed, with a note that depends on the values.

    Attributes:
        values: Shape (seed,); nan where a seed has no value. Booleans are judged as a fraction.
        note: Added to the note of the sentence.
        upto: Upper bounds where theory leaves a quantity open between two bounds; `values` are then the lower bounds, of the
            same shape, numbers or booleans alike. A seed counts where both are finite. The judged interval reaches from the
            lower end of the interval of the lower bounds to the upper end of that of the upper bounds, so that bounds on
            either side of the allowed interval are inconclusive at any number of seeds.
    """

    values: Any
    note: str = ""
    upto: Any = None


@dataclass(frozen=True)
class Exact:
    """The largest deviation from an exact fact.

    Attributes:
        worst: The deviation; nan where nothing could be measured.
        note: Added to the note of the sentence.
        seeds: Number of seeds looked at; by default those of the cell.
    """

    worst: Any
    note: str = ""
    seeds: int | None = None
