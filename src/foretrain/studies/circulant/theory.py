"""What the linearised flow says of every seed of the circulant study before it is trained, and at the S of its runs."""

from functools import lru_cache

import numpy as np

from foretrain.study import Grid, Seed
from foretrain.tasks import masks
from foretrain.theory import masked_rank_one_escape as linearised
from foretrain.theory.masked_rank_one import alignment_exponent, misalignment
from foretrain.theory.masked_rank_one_escape import EarlyFlow, rescaled, signs_agree
from foretrain.theory.random_matrix import circulant_singular_values
from foretrain.training.masked_rank_one import DEPARTURE, ESCAPE, STAGES

from .study import LIMIT, Parameters, sample

PLACE = ("stage_progress", "stage_scale")  # where a run is: S and s


def predict(p: Parameters, step: np.ndarray, seed: Seed) -> dict:
    """Exponent of the mask, and agreement of signs where the linearised flow reaches a stage."""
    _, unit = unit_flow(p.domains, p.width, p.offsets, seed)
    values = unit.singular_values
    if p.offsets == "band":
        values = circulant_singular_values(p.domains, p.width)
    early = rescaled(unit, p.init_scale)
    reached = [linearised.weights_when(early, level) for level in STAGES]
    found = {
        "alignment_exponent": alignment_exponent(values),
        "second_over_first": values[1] / values[0],
        "predicted_agreement": [signs_agree(weights) for weights in reached],
    }
    if p.offsets == "drawn":
        return found
    shift = drawn_outcome(p.domains, 1, seed)["drawn_agreement"]
    return {**found, **drawn_outcome(p.domains, p.width, seed), "shift_agreement": shift}


def fit(cell: Grid) -> dict[str, np.ndarray]:
    """Misalignment and s of the linearised flow where each run departs from zero, nan for those that do not."""
    p, runs = cell.parameters, cell.simulation.isel(stage=DEPARTURE)
    told = []
    for seed, *place in zip(range(cell.seeds), *(runs[n].values for n in PLACE), strict=True):
        trained, unit = unit_flow(p.domains, p.width, p.offsets, cell.seed(seed))
        early = rescaled(unit, p.init_scale)
        left, right, scale = linearised.weights_at(early, *map(float, place))
        told.append((misalignment(left, right, trained), scale))
    return dict(zip(("predicted_misalignment", "predicted_scale"), np.array(told).T, strict=True))


@lru_cache(maxsize=100_000)
def drawn_outcome(domains: int, width: int, seed: Seed) -> dict:
    """Whether all signs agree on the drawn circulant in the limit of small weights, and its number of components."""
    trained, unit = unit_flow(domains, width, "drawn", seed)
    inputs, outputs = masks.components(trained)
    return {
        "drawn_agreement": signs_agree(
            linearised.weights_when(rescaled(unit, LIMIT), STAGES[ESCAPE])
        ),
        "drawn_components": int(max(inputs.max(), outputs.max())) + 1,
    }


@lru_cache(maxsize=100_000)
def unit_flow(domains: int, width: int, offsets: str, seed: Seed) -> tuple[np.ndarray, EarlyFlow]:
    """The mask of a seed, and the linearised flow from the start of unit scale."""
    trained, *start = sample(domains, width, offsets, seed)
    return trained, linearised.early_flow(start, trained)
