"""Which untrained pairs will generalise, from the trained pairs alone."""

import numpy as np

from foretrain.tasks.domains import Task
from foretrain.theory.connectivity import error_across_components, predicted_error


def predicted_pairs(trained_pairs: np.ndarray, data: Task) -> np.ndarray:
    """Error of every pair in the limit of small initial weights, shape (input_domain, output_domain), float64.

    Zero within a connected component of the graph of trained pairs, the error of unrelated bases across components,
    and that of answering zero, <|y|^2>/2, where a domain is never trained: its small weights stay as they were.
    """
    across = error_across_components(
        data.singular_values, data.variances, output_power=data.output_power
    )
    error = predicted_error(trained_pairs, across)
    idle = (trained_pairs.sum(1) == 0)[:, None] | (trained_pairs.sum(0) == 0)[None, :]
    return np.where(idle, data.output_power / 2, error)
