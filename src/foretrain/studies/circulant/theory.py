"""What the linearised flow says of every seed of the circulant study before it is trained."""

from functools import lru_cache

import numpy as np

from foretrain.studies.circulant.study import LIMIT, Parameters, sample
from foretrain.study import Seed
from foretrain.tasks import masks
from foretrain.theory import masked_rank_one_escape as linearised
from foretrain.theory.masked_rank_one import alignment_exponent, misalignment
from foretrain.theory.masked_rank_one_escape import EarlyFlow, rescaled, signs_agree, weights_when
from foretrain.theory.random_matrix import circulant_singular_values
from foretrain.training.masked_rank_one import ESCAPE, STAGES


def predict(p: Parameters, step: np.ndarray, seed: Seed) -> dict:
    """Exponent of the mask; misalignment and agreement of signs where the linearised flow reaches a stage."""
    trained, unit = unit_flow(p.domains, p.width, p.offsets, seed)
    values = unit.singular_values
    if p.offsets == "band":
        values = circulant_singular_values(p.domains, p.width)
    early = rescaled(unit, p.init_scale)
    reached = [weights_when(early, level) for level in STAGES]
    found = {
        "alignment_exponent": alignment_exponent(values),
        "second_over_first": values[1] / values[0],
        "predicted_misalignment": [misalignment(u, v, trained) for u, v, _ in reached],
        "predicted_agreement": [signs_agree(weights) for weights in reached],
    }
    return found | (drawn_outcome(p.domains, p.width, seed) if p.offsets == "band" else {})


@lru_cache(maxsize=100_000)
def drawn_outcome(domains: int, width: int, seed: Seed) -> dict:
    """Whether all signs agree on the drawn circulant in the limit of small weights, and its number of components."""
    trained, unit = unit_flow(domains, width, "drawn", seed)
    inputs, outputs = masks.components(trained)
    return {
        "drawn_agreement": signs_agree(weights_when(rescaled(unit, LIMIT), STAGES[ESCAPE])),
        "drawn_components": int(max(inputs.max(), outputs.max())) + 1,
    }


@lru_cache(maxsize=100_000)
def unit_flow(domains: int, width: int, offsets: str, seed: Seed) -> tuple[np.ndarray, EarlyFlow]:
    """The mask of a seed, and the linearised flow from the start of unit scale."""
    drawn = sample(domains, width, offsets, seed)
    return drawn.trained_pairs, linearised.early_flow(*drawn)
