"""What the linearised flow says of every seed of the circulant study before it is trained."""

import numpy as np
import xarray as xr
from scipy.optimize import brentq

from foretrain.studies.circulant import study
from foretrain.studies.masked_rank_one.study import STAGES
from foretrain.studies.masked_rank_one.theory import closed_form
from foretrain.theory.masked_rank_one import alignment_exponent, misalignment
from foretrain.theory.masked_rank_one_escape import EarlyFlow, early_flow
from foretrain.theory.random_matrix import circulant_singular_values


def predict(parameters: study.Parameters, root_seed: int, seeds: int) -> xr.Dataset:
    """Exponent of the width; misalignment and agreement of signs of every seed where it reaches a stage."""
    values = circulant_singular_values(parameters.domains, parameters.width)
    misaligned = np.full((seeds, len(STAGES)), np.nan)
    agrees = np.zeros((seeds, len(STAGES)), bool)
    for seed in range(seeds):
        drawn = study.draw(parameters, root_seed, seed)
        sigma, trained = parameters.init_scale, drawn.trained_pairs
        early = early_flow(trained, sigma * drawn.left, sigma * drawn.right, sigma * drawn.scale)
        for stage, level in enumerate(STAGES):
            left, right, scale = weights_at(early, trained, level)
            misaligned[seed, stage] = misalignment(left, right, trained)
            agrees[seed, stage] = (scale * np.outer(left, right) > 0).all()
    return xr.Dataset(
        {
            "alignment_exponent": alignment_exponent(values),
            "second_over_first": values[1] / values[0],
            "predicted_misalignment": (("seed", "stage"), misaligned),
            "predicted_agreement": (("seed", "stage"), agrees),
        },
        coords={"stage": np.array(STAGES)},
    )


def weights_at(
    early: EarlyFlow, trained_pairs: np.ndarray, level: float
) -> tuple[np.ndarray, np.ndarray, float]:
    """u, v and s of the linearised flow where s u^T T v, to first order the loss that is gone, is a share of |T|/2.

    On its way out s u^T T v = |s| d|s|/dt crosses zero once, where |s| is least, and then grows for ever; if the start
    is past `level` already, the start is returned.
    """
    aim = level * trained_pairs.sum() / 2
    turns = np.isfinite(early.turning_point)
    origin, direction = (early.turning_point, -1.0) if turns else (0.0, 1.0)

    def weights(distance):
        progress = early.sign * (origin + direction * distance)
        return closed_form(early, progress, early.sign * direction)

    def excess(distance):
        left, right, scale = weights(distance)
        return scale * left @ trained_pairs @ right - aim

    if not turns and excess(0.0) >= 0:
        return weights(0.0)
    near, far = 0.0, 1 / early.singular_values[0]
    while excess(far) < 0:
        near, far = far, 2 * far
    return weights(brentq(excess, near, far, rtol=1e-12))
