"""What is known beforehand of an image-routing study: least squares, and chance."""

import math
from dataclasses import replace

import numpy as np

from foretrain.studies.image_routing.study import Parameters
from foretrain.studies.image_routing.training import domain_data
from foretrain.tasks.image_domains import least_squares


def predict(p: Parameters, step: np.ndarray) -> dict[str, float]:
    """Where a linear network with squared error ends on every trained route, the least-squares map; and chance."""
    loss = accuracy = math.nan
    if p.loss_function == "squared" and p.negative_slope == 1 and not p.biases:
        data, found = domain_data(replace(p, training="statistics"))
        assert found is not None
        loss, accuracy = least_squares(data, found, p.evaluation_samples)
    return {
        "least_squares_loss": loss,
        "least_squares_accuracy": accuracy,
        "chance_accuracy": 1 / domain_data(p)[0].classes,
    }
