"""The verdicts of a sentence as a small map of the cells in which it was judged: a square each, where the axes put it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product

from foretrain.claims.cells import CellClaims, over_axes
from foretrain.words import cell_words, number, span

_SIDE, _GAP = 15, 2  # pixels of a square and between two
_MOST = 400  # squares: of more cells the figure of the claims over the grid shows most


@dataclass(frozen=True)
class CellMap:
    """A small map, its lengths in pixels."""

    width: int
    height: int
    # Left and upper end in pixels, verdict and cell in words.
    squares: tuple[tuple[int, int, str, str], ...]
    axes: str  # the axis from left to right and those from top to bottom, in words


def cell_map(group: CellClaims, axes: Mapping[str, Sequence]) -> CellMap | None:
    """The map of a sentence, the longest axis from left to right; None for one cell, too many, or along no known axis."""
    seen = {name: {claim.cell.get(name) for claim in group.claims} for name in axes}
    several = {name: [v for v in axes[name] if v in seen[name]] for name in axes}
    several = {name: values for name, values in several.items() if len(values) > 1}
    along, claims = over_axes(group, several)
    if not along or not 1 < len(claims) <= _MOST:
        return None
    across = max(along, key=lambda name: len(along[name]))
    down = [name for name in along if name != across]
    from foretrain.quantities.curves import some  # reads xarray, which is slow

    order = {name: list(some(values, len(values))) for name, values in along.items()}
    squares = []
    for y, fixed in enumerate(product(*(order[name] for name in down))):
        for x, at in enumerate(order[across]):
            index = {**dict(zip(down, fixed, strict=True)), across: at}
            if (claim := claims.get(tuple(index[name] for name in along))) is not None:
                words = f"{cell_words(claim.cell)}: {claim.verdict}, {number(claim.measured)}"
                step = _SIDE + _GAP
                squares.append((x * step, y * step, claim.verdict, words))
    words = [f"{name} {span(along[name])}" for name in (across, *down)]
    return CellMap(
        max(x for x, *_ in squares) + _SIDE,
        max(y for _, y, *_ in squares) + _SIDE,
        tuple(squares),
        f"left to right: {words[0]}" + (f"; top to bottom: {', '.join(words[1:])}" if down else ""),
    )
