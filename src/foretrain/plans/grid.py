"""What a study's ``claims`` and figures look at: labelled runs of the networks beside their theory."""

import dataclasses
import itertools
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from typing import Any

import xarray as xr

from foretrain.claims.claim import Claim, cell_label, in_cell


@dataclass(frozen=True)
class LabelledRuns:
    """All that was run and predicted for a plan.

    Attributes:
        parameters: The study's ``Parameters``, every axis at its first value.
        axes: Field name to its values; dims of the datasets in this order, before ``seed``.
        seeds: Number of seeds of the main network.
        root_seed: Root of the random streams.
        simulation: Runs of the study's own network.
        variants: Runs of the networks trained beside it, by name.
        theory: The predictions, with the dims of `simulation` (no ``seed`` unless they differ by seed).
    """

    parameters: Any
    axes: dict[str, tuple]
    seeds: int
    root_seed: int
    simulation: xr.Dataset
    variants: dict[str, xr.Dataset]
    theory: xr.Dataset

    def cells(self, keep: Collection[str] = ()) -> Iterator[tuple[str, "LabelledRuns"]]:
        """Every cell of the grid as (label, runs of it); the label is "" where there is no axis.

        Axes named in `keep` are not cut: they stay dims of the runs.
        """
        cut = {name: values for name, values in self.axes.items() if name not in keep}
        kept = {name: values for name, values in self.axes.items() if name in keep}
        for values in itertools.product(*cut.values()):
            chosen = dict(zip(cut, values, strict=True))
            pick = lambda data, at=chosen: data.sel({k: v for k, v in at.items() if k in data.dims})  # noqa: E731
            yield (
                cell_label(chosen),
                LabelledRuns(
                    dataclasses.replace(self.parameters, **chosen),
                    kept,
                    self.seeds,
                    self.root_seed,
                    pick(self.simulation),
                    {name: pick(data) for name, data in self.variants.items()},
                    pick(self.theory),
                ),
            )


def judge_cells(
    judge: Callable[[LabelledRuns], list[Claim]], runs: LabelledRuns, keep: Collection[str] = ()
) -> list[Claim]:
    """Judge every cell of a grid by itself; a claim's id then names its cell, as in ``zero-shot[init_scale=0.2]``.

    Axes named in `keep` belong to what `judge` looks at; only the others are cut into cells.
    """
    claims = []
    for label, cell in runs.cells(keep):
        claims += [in_cell(claim, label) for claim in judge(cell)]
    return claims
