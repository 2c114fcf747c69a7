"""Gatings that a ReLU network may choose for exclusive-or: every candidate, its predicted time, its agreement."""

import functools

import numpy as np
import xarray as xr

from foretrain.predict.gatings import rank_gatings
from foretrain.quantities.cell import Runs
from foretrain.quantities.gates import gate_agreement
from foretrain.tasks.gatings import partitions
from foretrain.tasks.logic import xor
from foretrain.theory.pathways.rectified_start import self_consistent

# A unit is open on an example where it answers at least a tenth as much as on its best one: units slide along the
# border of two further examples and flicker there by a learning rate's worth of angle.
OPEN = 0.1
SINGLE = "1 | 2 | 3 | 4"  # one pathway per example


@functools.cache
def gatings() -> dict[str, np.ndarray]:
    """Return the 15 ways to divide the four examples among pathways: name to gates of shape (pathway, example)."""
    ways = {}
    for groups in partitions(range(4)):
        groups = sorted(sorted(group) for group in groups)
        name = " | ".join(",".join(str(example + 1) for example in group) for group in groups)
        ways[name] = np.array([[float(e in group) for e in range(4)] for group in groups])
    return ways


@functools.lru_cache(maxsize=64)
def candidates(init_scale: float) -> dict[str, np.ndarray]:
    """Return predicted learning time, lowest loss and self-consistency of every gating, shape (gating,) each.

    Args:
        init_scale: Strength of every edge at the start.
    """
    data = xor(1)
    x, y = data.inputs["x"], data.targets["y"]
    table, predictions = rank_gatings(x, y, gatings(), init_scale)
    fits = [
        self_consistent(predictions[name].reduction, x, gates, OPEN)
        for name, gates in gatings().items()
    ]
    return {**table, "gating_consistent": np.array(fits)}


def agreement(run: Runs | xr.Dataset) -> np.ndarray:
    """Return the agreement of a trained ReLU network's gates with each gating, shape (gating,); nan where it diverged."""
    weights = run["input_weights"].transpose("unit", "input").values
    arriving = weights @ xor(1).inputs["x"].T
    if not np.isfinite(arriving).all():
        return np.full(len(gatings()), np.nan)
    is_open = arriving > OPEN * arriving.max(1, keepdims=True)
    part = np.abs(run["output_weights"].values) * np.linalg.norm(weights, axis=1)
    return np.array([gate_agreement(is_open, part, gates) for gates in gatings().values()])
