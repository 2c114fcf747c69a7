"""Cells of the bumps study as its sentences and figures look at them: which are stable, and what they hold of bumps.

Training in a cell is stable where no run diverged and half of the runs leave at most a percent of the loss and never rise
again by more than a tenth of it; sentences that name no learning rate are judged over all stable rates of an optimizer.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from foretrain.quantities import competition
from foretrain.quantities.cell import Cell
from foretrain.quantities.stability import is_stable
from foretrain.study import DIVERGED, Grid

OURS = "docs/studies/bumps.md"
STABLE: dict[str, Any] = {"among": "runs at stable learning rates"}
PAIR = ("", "exchanged")  # the study's own network, and its partner with overlaps exchanged


def losses(cell: Cell | Grid, name: str = "loss") -> np.ndarray:
    """A curve of every run, shape (seed, step)."""
    return cell.simulation[name].transpose("seed", "step").values


def stable(cell: Cell | Grid) -> bool:
    """Whether training in this cell was stable."""
    curves = losses(cell, "relative_loss")
    there = np.isfinite(curves[:, 0])
    diverged = (cell.simulation["outcome"].values == DIVERGED).any()
    return bool(there.any() and not diverged) and is_stable(curves[there])


def starts_small(cell: Cell | Grid) -> bool:
    """Whether the start is smaller than the target."""
    return cell.parameters.init_scale < 1


def calm(cell: Cell | Grid, **wanted) -> list[Cell | Grid]:
    """The cells along the axes that are left in which training was stable and parameters are these."""
    return [
        one
        for one in cell.cells()
        if all(getattr(one.parameters, name) == value for name, value in wanted.items())
        and stable(one)
    ]


def of_rank(cell: Cell | Grid, *ranks: int) -> list[Cell | Grid] | None:
    """The stable cells along the axes that are left; None where the rank is none of these."""
    return calm(cell) if cell.parameters.rank in ranks else None


def per_component(cell: Cell | Grid, name: str, variant: str = "") -> np.ndarray:
    """A variable along (seed, component), without the padding of cells with fewer components."""
    values = cell.network(variant)[name].transpose("seed", "component").values
    count = 2 if variant else cell.parameters.components or cell.parameters.rank
    return values[:, : min(count, values.shape[1])]


def first_and_bumps(cell: Cell | Grid, variant: str = "", bumps: str = "component_bumps") -> tuple:
    """First targets and bumps of the components of every run, shape (seed, component) each."""
    return per_component(cell, "first_target", variant), per_component(cell, bumps, variant)


def bumps(cell: Cell | Grid) -> np.ndarray:
    """Bumps per tracked component of every run, shape (seed,)."""
    return per_component(cell, "component_bumps").mean(1)


def matched_bumps(cell: Cell | Grid) -> tuple[np.ndarray, np.ndarray]:
    """Bumps of the run that shares a first target and of its partner without, per seed; nan where that does not decide."""
    own, partner = (first_and_bumps(cell, variant) for variant in PAIR)
    return competition.matched_bumps(*own, *partner)


def mean(cells: list[Cell | Grid] | None, function: Callable[[Cell | Grid], np.ndarray]) -> Any:
    """Per seed the mean over cells of what `function` gives per seed; nan where no cell gives a number, None of None."""
    if cells is None:
        return None
    return competition.mean_over_cells([function(cell) for cell in cells] or [[np.nan]])


def proportion(
    cells: list[Cell | Grid] | None, function: Callable[[Cell | Grid], np.ndarray]
) -> Any:
    """The same of proportions; where they are all 0 or all 1, which has no spread, as booleans: then seeds are counted."""
    found = mean(cells, function)
    if found is None:
        return None
    known = found[np.isfinite(found)]
    return known == 1 if known.size and known[0] in (0, 1) and (known == known[0]).all() else found


def rates(cells: list[Cell | Grid]) -> str:
    """The learning rates of these cells, for a note."""
    found = dict.fromkeys(f"{cell.parameters.relative_rate:g}" for cell in cells)
    return f"relative rates {', '.join(found) or 'none'}"
