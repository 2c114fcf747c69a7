"""Predictions of the untrained pairs that generalise, from the trained pairs alone."""

from typing import Any

import numpy as np

from foretrain.study import Seed
from foretrain.theory.connectivity import error_across_components, predict_masks
from foretrain.training.routing import items_task, mask


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
