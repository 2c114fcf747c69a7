"""What the claims of the four studies of the thread on S-curves share: words, intervals, curves, pairs of cells.

A sentence that fails keeps its tolerance; beside it stands ``<name>.corrected``. The corrected forms were written after
runs had been seen and are judged on those of another root seed.
"""

from collections.abc import Iterable, Iterator
from itertools import permutations

import numpy as np
import xarray as xr

from foretrain.claims.claim import cell_label
from foretrain.plans.grid import LabelledRuns

THREAD = "Jermyn & Shlegeris (2022), comments"

# "A plateau is there", "it is not", "I see two": a statement about every run one looks at. One in ten may differ.
ALWAYS, NEVER, SOME = (0.9, 1.0), (0.0, 0.1), (0.1, 0.9)
MOST = (0.5, 1.0)  # a majority
POSITIVE, NEGATIVE = (1e-9, np.inf), (-np.inf, -1e-9)  # a difference that the seeds establish


def curves(data: xr.Dataset, name: str = "loss") -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Steps and values of every run of one cell, as far as it went."""
    for row in data[name].transpose("seed", "step").values:
        kept = np.isfinite(row)
        yield data["step"].values[kept], row[kept]


def pairs(
    cells: Iterable[LabelledRuns], field: str, axes: Iterable[str]
) -> Iterator[tuple[LabelledRuns, LabelledRuns]]:
    """Ordered pairs of cells that differ in `field` and agree in the other `axes`."""
    shared = [name for name in axes if name != field]
    for one, other in permutations(cells, 2):
        values = [[getattr(cell.parameters, name) for name in shared] for cell in (one, other)]
        if values[0] == values[1]:
            yield one, other


def where(parameters, names: Iterable[str]) -> str:
    """The label of a cell in a claim's id, such as ``[rank=2, init_scale=0.1]``."""
    return f"[{cell_label({name: getattr(parameters, name) for name in names})}]"
