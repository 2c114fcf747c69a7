"""Predictions for an S-curve run: the flow from its start, and where weight decay ends it."""

from dataclasses import replace
from functools import lru_cache

import numpy as np

from foretrain.theory.factorization import factorization_flow
from foretrain.theory.factorization.factorization_flow import decayed_loss
from foretrain.training.factorization import components, draw, learning_rate, weight_decay

from .study import MODES

FLOW_SEEDS = 20  # those that figures draw


def follows(p):
    """Return True where descent trains a loss that is, or for small logits nearly is, the squared error."""
    return p.optimizer in ("sgd", "sgd_decay") and p.target_scale < p.dimension


def predict(p, step, seed):
    """The flow from the start of the first twenty seeds of descent, and the end under weight decay; nan elsewhere.

    Cross-entropy of small logits is the squared error over 2 n^2, which its learning rate gives back.
    """
    unknown = np.full(step.size, np.nan)
    flow = {name: unknown for name in ("flow_loss", "flow_inside", "flow_outside")}
    flow |= {"flow_half_step": np.full(MODES, np.nan)}
    if follows(p) and seed.number < FLOW_SEEDS:
        flow = _flow(replace(p, loss_function="mse"), tuple(step.tolist()), seed)
    ends = p.loss_function == "mse" and p.optimizer == "sgd_decay"
    return {**flow, "decayed_loss": np.asarray(end_of_decay(p, seed) if ends else np.nan)}


@lru_cache(maxsize=200)
def _flow(p, step, seed):
    target, start = draw(p, seed)
    rate, decay = learning_rate(p), weight_decay(p)
    curves = factorization_flow.descent_curves(start, rate, np.array(step), target, decay)
    values = np.linalg.svd(target.left @ target.right.T, compute_uv=False)
    modes = slice(min(p.rank, MODES))
    ends = np.maximum(values[modes] - decay / 2, 1e-9)
    halves = factorization_flow.half_steps(np.array(step), curves.modes[:, modes], ends)
    return {
        "flow_loss": curves.loss / np.sum(values**2),
        "flow_inside": curves.inside / (2 * values.sum()),
        "flow_outside": curves.outside / (2 * values.sum()),
        "flow_half_step": np.pad(halves, (0, MODES - halves.size), constant_values=np.nan),
    }


def end_of_decay(p, seed):
    target, _ = draw(p, seed)
    return decayed_loss(target.left @ target.right.T, components(p), weight_decay(p))
