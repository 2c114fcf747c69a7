"""Error against K/M: how many routes must be trained before all the others come for free?"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from foretrain.study import Seed, default
from foretrain.theory.connectivity import error_across_components, predict_masks
from foretrain.training import routing_to_loss
from foretrain.training.routing import check_routes as check  # noqa: F401
from foretrain.training.routing import items_task, labels, mask  # noqa: F401
from foretrain.training.routing_to_loss import inputs, program  # noqa: F401

SOURCE = "Saxe, Sodhani & Lewallen (2022), Fig. 5c"
COST = "1 min"
REFERENCES = ("saxe2022",)
SEEDS = 5
AXES = {
    "mask": ("circulant", "random_rows", "biregular"),
    "trained_outputs": (1, 2, 3, 4, 5, 7, 10),
}
_LONGER = {"seeds": 10, "steps": 40000, "loss_tolerance": 1e-5}
PRESETS = {"paper": {"trained_outputs": (1, 2, 3, 4, 5, 6, 7, 8, 9, 10), **_LONGER}}
SMALLER = 8  # how much smaller the weights of `small-init` are


@dataclass(frozen=True)
class Parameters(routing_to_loss.ToLoss):
    """Parameters of the study, each with its rule."""

    domains: int = default(10)
    learning_rate: float = default(
        0.14, "step of descent; the paper's .05/K on the sum over routes is .143 on their mean"
    )
    steps: int = default(16000)
    observe_every: int = default(40)


def variants(p: Parameters) -> dict[str, dict]:
    """Return the same draws at an eighth of the study's own scale, nearer to the limit of small weights."""
    return {"small-init": {"init_scale": p.init_scale / SMALLER, "seeds": 5}}


def predict(p: Any, step: np.ndarray, seed: Seed) -> dict[str, Any]:
    """Predict the error of every pair in the limit of small initial weights.

    Zero within a connected component of the graph of trained pairs, the error of unrelated bases across components, and
    that of answering zero, <|y|^2>/2, where a domain is never trained: its small weights stay as they were.
    """
    data = items_task(p.level_weights)
    modes, power = (data.singular_values, data.variances), data.output_power
    across = error_across_components(*modes, output_power=power)
    graph = predict_masks([mask(p, seed)], across, power / 2)
    return {
        "pair_error": graph.pair_error[0],
        "converged_untrained_error": graph.untrained_error[0],
        "component_count": graph.component_count[0],
    }
