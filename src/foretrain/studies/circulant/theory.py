"""Predictions of the linearised flow for every seed before training, and its misalignment at the S of the runs."""

from functools import lru_cache

import numpy as np

from foretrain.tasks import masks
from foretrain.theory.factorization import masked_rank_one_escape as escape
from foretrain.theory.factorization.masked_rank_one import alignment_exponent, misalignment
from foretrain.theory.factorization.random_matrix import circulant_singular_values
from foretrain.training.masked_rank_one import DEPARTURE, ESCAPE, STAGES

from .study import LIMIT, sample


def predict(p, step, seed):
    """Predict the exponent of the mask, and agreement of signs where the linearised flow reaches a stage."""
    _, unit = unit_flow(p.domains, p.width, p.offsets, seed)
    band = p.offsets == "band"
    values = circulant_singular_values(p.domains, p.width) if band else unit.singular_values
    early = escape.rescaled(unit, p.init_scale)
    known = {
        "alignment_exponent": alignment_exponent(values),
        "predicted_agreement": [
            escape.signs_agree(escape.weights_when(early, level)) for level in STAGES
        ],
    }
    if not band:
        return known
    shift = drawn_outcome(p.domains, 1, seed)["drawn_agreement"]
    return {**known, **drawn_outcome(p.domains, p.width, seed), "shift_agreement": shift}


def fit(cell):
    """Return the misalignment of the linearised flow where each run departs from zero, nan for those that do not."""
    p, runs = cell.parameters, cell.simulation.isel(stage=DEPARTURE)
    places = zip(runs["stage_progress"].values, runs["stage_scale"].values, strict=True)
    gaps = []
    for number, place in enumerate(places):
        trained, unit = unit_flow(p.domains, p.width, p.offsets, cell.seed(number))
        left, right, _ = escape.weights_at(escape.rescaled(unit, p.init_scale), *map(float, place))
        gaps.append(misalignment(left, right, trained))
    return {"predicted_misalignment": np.array(gaps)}


@lru_cache(maxsize=100_000)
def drawn_outcome(domains, width, seed):
    """Return agreement of all signs on the drawn circulant in the limit of small weights, and its number of components."""
    trained, unit = unit_flow(domains, width, "drawn", seed)
    inputs, outputs = masks.components(trained)
    at_escape = escape.weights_when(escape.rescaled(unit, LIMIT), STAGES[ESCAPE])
    return {
        "drawn_agreement": escape.signs_agree(at_escape),
        "drawn_components": int(max(inputs.max(), outputs.max())) + 1,
    }


@lru_cache(maxsize=100_000)
def unit_flow(domains, width, offsets, seed):
    """Return the mask of a seed, and the linearised flow from the start of unit scale."""
    trained, *start = sample(domains, width, offsets, seed)
    return trained, escape.early_flow(start, trained)
