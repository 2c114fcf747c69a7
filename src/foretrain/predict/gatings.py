"""Candidate gatings of one task, and when a network with each of them is predicted to learn."""

from collections.abc import Mapping

import numpy as np

from foretrain.predict.predict import rank
from foretrain.predict.prediction import Prediction
from foretrain.tasks.gatings import least_loss, pathways_data


def rank_gatings(
    x: np.ndarray, y: np.ndarray, gatings: Mapping[str, np.ndarray], init_scale: float
) -> tuple[dict[str, np.ndarray], dict[str, Prediction]]:
    """Predict candidate gatings of one task.

    x is (sample, input), y (sample, 1), a gating (pathway, sample). Returns ``gating_time`` and ``gating_final_loss``,
    (gating,), and the prediction of every gating by name.
    """
    data = {name: pathways_data(x, y, gates) for name, gates in gatings.items()}
    candidates = {name: (task.graph, task) for name, task in data.items()}
    # No loss curve is asked for but at time zero, which saves a third of the work.
    ranking = rank(candidates, init_scale=init_scale, approximate=True, times=np.zeros(1))
    predictions = {prediction.label: prediction for prediction in ranking.predictions}
    times = dict(zip(predictions, ranking.learning_times, strict=True))
    table = {
        "gating_time": np.array([times[name] for name in gatings]),
        "gating_final_loss": np.array([least_loss(x, y, gates) for gates in gatings.values()]),
    }
    return table, predictions
