"""What a study's ``claims`` and figures look at: labelled runs of the networks beside their theory."""

import dataclasses
import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import xarray as xr

from foretrain.claims import Claim


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

    def cells(self) -> Iterator[tuple[str, "LabelledRuns"]]:
        """Every cell of the grid as (label, runs without axes); the label is "" where there is no axis."""
        for values in itertools.product(*self.axes.values()):
            chosen = dict(zip(self.axes, values, strict=True))
            pick = lambda data, at=chosen: data.sel({k: v for k, v in at.items() if k in data.dims})  # noqa: E731
            label = ", ".join(
                f"{name}={value:g}" if isinstance(value, float) else f"{name}={value}"
                for name, value in chosen.items()
            )
            yield (
                label,
                LabelledRuns(
                    dataclasses.replace(self.parameters, **chosen),
                    {},
                    self.seeds,
                    self.root_seed,
                    pick(self.simulation),
                    {name: pick(data) for name, data in self.variants.items()},
                    pick(self.theory),
                ),
            )


def judge_cells(judge: Callable[[LabelledRuns], list[Claim]], runs: LabelledRuns) -> list[Claim]:
    """Judge every cell of a grid by itself; a claim's id then names its cell, as in ``zero-shot[init_scale=0.2]``."""
    claims = []
    for label, cell in runs.cells():
        for claim in judge(cell):
            claims.append(dataclasses.replace(claim, id=f"{claim.id}[{label}]") if label else claim)
    return claims
