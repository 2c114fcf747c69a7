"""A claim that is judged in very many cells of a grid, as one: how often it holds, and where it does not."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from foretrain.claims.claim import (
    FAILS,
    HOLDS,
    INCONCLUSIVE,
    Claim,
    axis_value,
    cell_label,
    cell_of,
)

MANY = 24  # a claim judged in more cells than fit on a screen is shown as one
_NAMED = 3


@dataclass(frozen=True)
class CellClaims:
    """One claim in all the cells in which it was judged.

    Attributes:
        id: Its id without a cell.
        claims: One per cell.
    """

    id: str
    claims: tuple[Claim, ...]

    @property
    def counts(self) -> dict[str, int]:
        """Verdict to the number of cells with it, those with none left out."""
        found = Counter(claim.verdict for claim in self.claims)
        return {
            verdict: found[verdict] for verdict in (HOLDS, FAILS, INCONCLUSIVE) if found[verdict]
        }

    @property
    def verdict(self) -> str:
        """The worst of the verdicts."""
        return next(v for v in (FAILS, INCONCLUSIVE, HOLDS) if v in self.counts)

    @property
    def failed_seeds(self) -> int:
        """Seeds left out as not finite, in all cells."""
        return sum(claim.failed_seeds for claim in self.claims)

    @property
    def without_value(self) -> int:
        """Number of cells in which the measured value is not finite."""
        return sum(not np.isfinite(claim.measured) for claim in self.claims)

    def range(self, name: str) -> tuple[float, float]:
        """Smallest and largest of a number, such as ``measured``, over the cells where it is finite; else nan."""
        values = np.array([getattr(claim, name) for claim in self.claims], float)
        values = values[np.isfinite(values)]
        return (float(values.min()), float(values.max())) if values.size else (np.nan, np.nan)

    @property
    def tolerance(self) -> tuple[float, float] | None:
        """The allowed interval, None where it differs from cell to cell."""
        allowed = {claim.tolerance for claim in self.claims}
        return allowed.pop() if len(allowed) == 1 else None

    def where(self, verdict: str) -> str:
        """The first cells with a verdict, in words; "" if there are none."""
        cells = [
            cell_label(cell_of(claim.id)[1]) for claim in self.claims if claim.verdict == verdict
        ]
        return "; ".join(cells[:_NAMED]) + ("; ..." if len(cells) > _NAMED else "")


def gather(claims: Iterable[Claim]) -> list[Claim | CellClaims]:
    """The claims in their order, those judged in more than `MANY` cells gathered where the first of them stood."""
    claims = list(claims)
    return [
        claims[numbers[0]]
        if len(numbers) == 1
        else CellClaims(cell_of(claims[numbers[0]].id)[0], tuple(claims[n] for n in numbers))
        for numbers in positions([claim.id for claim in claims])
    ]


def by_claim(claims: Iterable[Claim]) -> list[CellClaims]:
    """Every claim that names a cell with all its cells, however few, in order of appearance."""
    claims = list(claims)
    held = _by_name([claim.id for claim in claims])
    return [CellClaims(name, tuple(claims[n] for n in numbers)) for name, numbers in held.items()]


def positions(ids: Sequence[str]) -> list[list[int]]:
    """The positions of claims with these ids, each alone but for those of one claim in more than `MANY` cells."""
    gathered = [numbers for numbers in _by_name(ids).values() if len(numbers) > MANY]
    alone = set(range(len(ids))).difference(*gathered)
    return sorted([*gathered, *([number] for number in alone)])


def _by_name(ids: Sequence[str]) -> dict[str, list[int]]:
    """Id without a cell to the positions of the ids that name one."""
    held: dict[str, list[int]] = {}
    for number, (name, cell) in enumerate(map(cell_of, ids)):
        if cell:
            held.setdefault(name, []).append(number)
    return held


def over_axes(
    group: CellClaims, axes: dict[str, Sequence]
) -> tuple[dict[str, Sequence], dict[tuple[int, ...], Claim]]:
    """The claims of a group by their place on the axes along which they were judged.

    Args:
        group: The claims.
        axes: Parameter to its values; parameters that no cell names are left out.

    Returns:
        The axes that the cells name, and index per axis to claim; cells that name a value no axis has are left out.
    """
    named = {name for claim in group.claims for name in cell_of(claim.id)[1]}
    along = {name: values for name, values in axes.items() if name in named}
    places = {
        name: {axis_value(value): i for i, value in enumerate(values)}
        for name, values in along.items()
    }
    found = {}
    for claim in group.claims:
        cell = cell_of(claim.id)[1]
        index = tuple(places[name].get(cell.get(name, "")) for name in along)
        if None not in index:
            found[index] = claim
    return along, found
