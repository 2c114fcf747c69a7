"""How the claims on bumps read the cells of their grid.

A cell is stable where no run diverged and half of the runs leave at most a percent of the loss and never rise again by
more than a tenth of it; sentences that name no learning rate are judged over all stable rates of an optimiser.
"""

from collections.abc import Callable

import numpy as np

from foretrain.measures.competition import mean_over_cells
from foretrain.measures.stability import is_stable
from foretrain.plans.grid import LabelledRuns

OURS = "docs/studies/bumps.md"


def stable(cell: LabelledRuns) -> bool:
    """Whether training in this cell was stable."""
    return is_stable(cell.simulation["relative_loss"].transpose("seed", "step").values)


def per_component(cell: LabelledRuns, name: str, variant: str = "") -> np.ndarray:
    """A variable along (seed, component), without the padding of cells with fewer components."""
    data = cell.variants[variant] if variant else cell.simulation
    values = data[name].transpose("seed", "component").values
    count = 2 if variant else cell.parameters.components or cell.parameters.rank
    return values[:, : min(count, values.shape[1])]


def bumps(cell: LabelledRuns) -> np.ndarray:
    """Bumps per tracked component of every run, shape (seed,)."""
    return per_component(cell, "component_bumps").mean(1)


def select(cells, **wanted) -> list[LabelledRuns]:
    """The cells whose parameters have these values."""
    return [
        cell for cell in cells if all(getattr(cell.parameters, k) == v for k, v in wanted.items())
    ]


def values(cells, field: str) -> list:
    """The values of a parameter that occur, in order."""
    return list(dict.fromkeys(getattr(cell.parameters, field) for cell in cells))


def mean(cells, function: Callable[[LabelledRuns], np.ndarray]) -> np.ndarray:
    """Per seed the mean over cells of what `function` gives per seed; nan where no cell gives a number."""
    return mean_over_cells([function(cell) for cell in cells])


def rates(cells) -> str:
    """The learning rates of these cells, for a note."""
    return "relative rates " + ", ".join(f"{rate:g}" for rate in values(cells, "relative_rate"))
