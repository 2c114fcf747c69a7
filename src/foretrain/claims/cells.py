"""A sentence that was judged in several cells of a grid, as one: how often it holds, and where it does not."""

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from foretrain.claims.claim import FAILS, HOLDS, INCONCLUSIVE, VERDICTS, Claim
from foretrain.words import cell_label

_NAMED = 3


@dataclass(frozen=True)
class CellClaims:
    """One sentence in all the cells in which it was judged; often that is one.

    Attributes:
        id: Its id.
        claims: One per cell.
    """

    id: str
    claims: tuple[Claim, ...]

    @property
    def counts(self) -> dict[str, int]:
        """Verdict to the number of cells with it, those with none left out."""
        found = Counter(claim.verdict for claim in self.claims)
        return {verdict: found[verdict] for verdict in VERDICTS if found[verdict]}

    @property
    def verdict(self) -> str:
        """The worst of the verdicts."""
        return next(v for v in (FAILS, INCONCLUSIVE, HOLDS) if v in self.counts)

    @property
    def left_out(self) -> int:
        """Seeds without a value, in all cells."""
        return sum(claim.left_out for claim in self.claims)

    @property
    def without_value(self) -> int:
        """Number of cells in which the measured value is not finite."""
        return sum(not math.isfinite(claim.measured) for claim in self.claims)

    def range(self, name: str) -> tuple[float, float]:
        """Smallest and largest of a number, such as ``measured``, over the cells where it is finite; else nan."""
        values = [float(getattr(claim, name)) for claim in self.claims]
        values = [value for value in values if math.isfinite(value)]
        return (min(values), max(values)) if values else (math.nan, math.nan)

    @property
    def allowed(self) -> tuple[float, float] | None:
        """The allowed interval, None where it differs from cell to cell."""
        allowed = {claim.allowed for claim in self.claims}
        return allowed.pop() if len(allowed) == 1 else None

    def where(self, verdict: str) -> str:
        """The first cells with a verdict, in words; "" if there are none."""
        cells = [place(claim) for claim in self.claims if claim.verdict == verdict]
        return "; ".join(cells[:_NAMED]) + ("; ..." if len(cells) > _NAMED else "")


def place(claim: Claim) -> str:
    """The cell of a claim in words."""
    return cell_label(claim.cell) or "nothing cut"


def gather(claims: Iterable[Claim]) -> list[CellClaims]:
    """Every sentence with all the cells it was judged in, where the first of them stood."""
    held: dict[str, list[Claim]] = {}
    for claim in claims:
        held.setdefault(claim.id, []).append(claim)
    return [CellClaims(name, tuple(found)) for name, found in held.items()]


def over_axes(
    group: CellClaims, axes: Mapping[str, Sequence]
) -> tuple[dict[str, Sequence], dict[tuple[int, ...], Claim]]:
    """The claims of a group by their place on the axes along which they were judged.

    Args:
        group: The claims.
        axes: Parameter to its values; parameters that no cell names are left out.

    Returns:
        The axes that the cells name, and index per axis to claim. Left out are cells that name a value no axis has, and
        those that do not name all of these axes.
    """
    named = {name for claim in group.claims for name in claim.cell}
    along = {name: values for name, values in axes.items() if name in named}
    places = {name: {value: i for i, value in enumerate(along[name])} for name in along}
    found = {}
    for claim in group.claims:
        index = tuple(
            places[name].get(claim.cell[name]) if name in claim.cell else None for name in along
        )
        if None not in index:
            found[index] = claim
    return along, found
