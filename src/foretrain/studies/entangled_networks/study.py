"""Entangled networks: does the modular one of two networks of equal function have the lower learning coefficient?"""

from dataclasses import dataclass

import numpy as np

from foretrain.study import Sampling, declare, default, parameter
from foretrain.theory.aoyagi import deep_linear

SOURCE = "Bushnaq et al. (2024), Using degeneracy in the loss landscape, section 5"
COST = "17 min"
EXPLORE = ("units",)
REFERENCES = ("bushnaq2024degeneracy", "aoyagi2024")
SEEDS = 8
REVISION = 2
NETWORKS = (
    "blocks", "rotated", "idle", "within", "across", "idle rectified", "across rectified", "twice", "once", "apart", "whole",
)  # fmt: skip
AXES = {"network": NETWORKS, "units": (1, 2, 3)}
PRESETS = {"paper": {"seeds": 8, "gradients": 4_000_000}}
IN, OUT, LINEAR = 6, 2, 6  # inputs, outputs, outputs of the linear networks
declare(
    exact_rank="Rank of the Jacobian of the outputs.",
    function_gap="Root mean square distance from the function of the modular network.",
)


@dataclass(frozen=True)
class Parameters(Sampling):
    """One hidden layer without biases, two modules with inputs and an output of their own, and two neurons left over."""

    network: str = parameter(
        "idle", "which network of a pair of equal function, see the study's page", choices=NETWORKS
    )
    units: int = parameter(2, "neurons of each module", symbol="h", minimum=1, maximum=3)
    gradients: int = default(1_000_000)


def predict(p, step):
    """Predict the learning coefficient of each network that was not trained."""
    return {"learning_coefficient": limits(p.units).get(p.network, np.nan) / 2}


def limits(units: int) -> dict[str, float]:
    """Twice the learning coefficients by name, sums over neurons that ``docs/studies/entangled-networks.md`` derives."""
    used = 2 * units * (OUT + IN)
    idle = 2 * deep_linear([IN, 2, OUT], 0).coefficient
    linear = 2 * deep_linear([IN, 2 * units, LINEAR], 2 * units).coefficient
    rectified = used - 2 * units
    return {
        "blocks": linear,
        "rotated": linear,
        "idle": used + idle,
        "within": used + OUT + IN,
        "across": used + OUT + IN,
        "idle rectified": rectified + idle,
        "across rectified": rectified + OUT + IN - 1,
        "twice": units * (OUT + 2 * IN),
        "once": units * (OUT + IN) + 2 * deep_linear([IN, units, OUT], 0).coefficient,
    }
