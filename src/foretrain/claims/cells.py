"""A sentence that was judged in several cells of a grid, as one: how often it holds, and where it does not."""

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from foretrain.claims.claim import FAILS, HOLDS, INCONCLUSIVE, NOT_CLAIMED, VERDICTS, Claim
from foretrain.claims.way_out import open_reasons
from foretrain.words import count, told_apart

WORST_FIRST = (FAILS, INCONCLUSIVE, HOLDS, NOT_CLAIMED)
_NAMED = 3


@dataclass(frozen=True)
class CellClaims:
    """One sentence in all the cells in which it was judged; often that is one."""

    id: str  # its id
    claims: tuple[Claim, ...]  # one per cell

    @cached_property
    def counts(self) -> dict[str, int]:
        """Verdict to the number of cells with it, those with none left out."""
        verdicts = Counter(claim.verdict for claim in self.claims)
        return {verdict: verdicts[verdict] for verdict in VERDICTS if verdicts[verdict]}

    @cached_property
    def verdict(self) -> str:
        """The worst of the verdicts; not claimed where it is claimed in no cell."""
        return next(verdict for verdict in WORST_FIRST if verdict in self.counts)

    @property
    def claimed(self) -> tuple[Claim, ...]:
        """The claims in the domain of the sentence, all where none is."""
        return tuple(claim for claim in self.claims if claim.verdict != NOT_CLAIMED) or self.claims

    @property
    def outside(self) -> dict[str, list[Claim]]:
        """Why the sentence is not claimed in the cells in which it is not: reason to those cells."""
        reasons: dict[str, list[Claim]] = {}
        for claim in self.claims:
            if claim.verdict == NOT_CLAIMED:
                reasons.setdefault(claim.reason, []).append(claim)
        return reasons

    @property
    def reasons(self) -> dict[str, list[Claim]]:
        """Why the sentence is inconclusive in the cells in which it is, with what would settle it: reason to those cells."""
        return open_reasons(self.claims)

    def range(self, name: str) -> tuple[float, float]:
        """Smallest and largest of a number, such as ``measured``, over the claimed cells where it is finite; else nan."""
        values = [float(getattr(claim, name)) for claim in self.claimed]
        values = [value for value in values if math.isfinite(value)]
        return (min(values), max(values)) if values else (math.nan, math.nan)

    @property
    def allowed(self) -> tuple[float, float] | None:
        """The allowed interval, None where it differs from cell to cell."""
        allowed = {claim.allowed for claim in self.claimed}
        return allowed.pop() if len(allowed) == 1 else None

    def where(self, claims: Sequence[Claim]) -> str:
        """The first of some cells in words, and "all 3 cells" where there are no others."""
        if len(claims) == len(self.claims):
            return f"all {len(claims)} cells"
        cells = "; ".join(self.place(claim) for claim in claims[:_NAMED])
        return f"{count(len(claims), 'cell')}: {cells}" + ("; ..." if len(claims) > _NAMED else "")

    def place(self, claim: Claim) -> str:
        """The cell of a claim in words, with as many digits as tell it from the others."""
        axes = {name: list({other.cell.get(name) for other in self.claims}) for name in claim.cell}
        texts = (
            told_apart(values)[values.index(claim.cell[name])] for name, values in axes.items()
        )
        return ", ".join(f"{name}={text}" for name, text in zip(axes, texts, strict=True))


def gather(claims: Iterable[Claim]) -> list[CellClaims]:
    """Every sentence with all the cells it was judged in, where the first of them stood."""
    by_name: dict[str, list[Claim]] = {}
    for claim in claims:
        by_name.setdefault(claim.id, []).append(claim)
    return [CellClaims(name, tuple(group)) for name, group in by_name.items()]


def over_axes(
    group: CellClaims, axes: Mapping[str, Sequence]
) -> tuple[dict[str, Sequence], dict[tuple[int, ...], Claim]]:
    """The axes, parameter to values, that the cells of a group name, and index per axis to claim.

    Left out are cells that name a value no axis has, and those that do not name all of these axes.
    """
    named = {name for claim in group.claims for name in claim.cell}
    along = {name: values for name, values in axes.items() if name in named}
    places = {name: {value: i for i, value in enumerate(along[name])} for name in along}
    cells = {}
    for claim in group.claims:
        index = tuple(places[name].get(claim.cell.get(name)) for name in along)
        if None not in index:
            cells[index] = claim
    return along, cells
