"""Values of single seeds for claims that do not hold and that no figure shows: the page draws them against what is allowed."""

from collections.abc import Collection, Iterable

import numpy as np

from foretrain.claims.claim import HOLDS, Claim
from foretrain.claims.judge import measured
from foretrain.plans.grid import Grid
from foretrain.plans.study import Study
from foretrain.quantities.cell import Cell
from foretrain.quantities.measured import PerSeed
from foretrain.words import cell_label


def per_seed(
    study: Study, grid: Grid, claims: Iterable[Claim], shown: Collection[str]
) -> dict[str, list[float]]:
    """Return the label of each claim that does not hold and whose id is not among those shown to the values of its seeds.

    An exact fact has one deviation for all seeds, and bounds are not values: they are left out.

    Cost: some milliseconds per claim.
    """
    wanted: dict[str, dict[str, str]] = {}
    for claim in claims:
        if claim.verdict != HOLDS and claim.id not in shown and claim.uncertainty is not None:
            wanted.setdefault(claim.id, {})[cell_label(claim.cell)] = claim.label
    known: dict[str, list[float]] = {}
    for sentence in study.sentences:
        labels = wanted.get(sentence.id, {})
        for cell in grid.cells(keep=sentence.along) if labels else ():
            label = labels.get(cell_label(cell.cell))
            if label is None:
                continue
            values = measured(sentence, Cell(cell.along(*sentence.along)))
            if isinstance(values, PerSeed) and values.upto is None:
                known[label] = np.asarray(values.values, float).tolist()
    return known
