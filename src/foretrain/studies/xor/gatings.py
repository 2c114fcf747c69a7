"""Which gating will a ReLU network choose for exclusive-or? Every candidate, its predicted time, its agreement."""

import functools

import numpy as np
import xarray as xr

from foretrain.forecast.predict import Prediction, rank
from foretrain.measures.gates import gate_agreement
from foretrain.studies.xor import study
from foretrain.tasks.gatings import least_loss, partitions, pathways_data
from foretrain.tasks.logic import xor as xor_data

# A unit is open on an example where it answers at least a tenth as much as on its best one: units slide along the
# border of two further examples and flicker there by a learning rate's worth of angle.
OPEN = 0.1
SINGLE = "1 | 2 | 3 | 4"  # one pathway per example


@functools.cache
def gatings() -> dict[str, np.ndarray]:
    """The 15 ways to divide the four examples among pathways: name to gates of shape (pathway, example)."""
    found = {}
    for groups in partitions(range(4)):
        groups = sorted(sorted(group) for group in groups)
        name = " | ".join(",".join(str(example + 1) for example in group) for group in groups)
        found[name] = np.array([[float(e in group) for e in range(4)] for group in groups])
    return found


def predict(parameters: study.Parameters) -> xr.Dataset:
    """Predicted learning time and lowest loss of every gating, and whether it is self-consistent."""
    data = xor_data(1)
    made = {
        name: pathways_data(data.inputs["x"], data.targets["y"], gates)
        for name, gates in gatings().items()
    }
    ranking = rank(
        {name: (one.graph, one) for name, one in made.items()},
        init_scale=study.decoupled_strength(parameters),
        approximate=True,
    )
    by_name = {one.label: one for one in ranking.predictions}
    times = {
        one.label: t for one, t in zip(ranking.predictions, ranking.learning_times, strict=True)
    }
    consistent = [self_consistent(by_name[name], gates) for name, gates in gatings().items()]
    return xr.Dataset(
        {
            "gating_time": ("gating", [times[name] for name in gatings()]),
            "gating_final_loss": ("gating", [_least(data, gates) for gates in gatings().values()]),
            "gating_consistent": ("gating", np.array(consistent)),
        },
        coords={"gating": list(gatings())},
    )


def _least(data, gates):
    return least_loss(data.inputs["x"], data.targets["y"], gates)


def self_consistent(prediction: Prediction, gates: np.ndarray) -> bool:
    """Whether rectified units along every pathway's learned input weights would open just where the pathway does."""
    x = xor_data(1).inputs["x"]
    for number, group in enumerate(prediction.reduction.groups):
        # Pathways that divide the examples are groups of their own, with one mode each, since there is one output.
        (pathway,) = group.bundles
        along = x @ group.frames["x"][:, 0]
        learns = abs(prediction.reduction.singular_values[number, 0]) > 1e-9
        fits = [((sign * along > OPEN) == (gates[pathway] > 0)).all() for sign in (1, -1)]
        if not (learns and any(fits)):
            return False
    return True


def agreement(run: xr.Dataset) -> np.ndarray:
    """Agreement of a trained ReLU network's gates with each gating, shape (gating,); nan where it diverged."""
    weights = run["input_weights"].transpose("unit", "input").values
    arriving = weights @ xor_data(1).inputs["x"].T
    if not np.isfinite(arriving).all():
        return np.full(len(gatings()), np.nan)
    is_open = arriving > OPEN * arriving.max(1, keepdims=True)
    part = np.abs(run["output_weights"].values) * np.linalg.norm(weights, axis=1)
    return np.array([gate_agreement(is_open, part, gates) for gates in gatings().values()])


def closest(found: np.ndarray) -> str:
    """The gating that agrees best; of several that agree equally well the one with fewest pathways says most."""
    names = list(gatings())
    return max(names, key=lambda n: (round(found[names.index(n)], 6), -len(gatings()[n])))
