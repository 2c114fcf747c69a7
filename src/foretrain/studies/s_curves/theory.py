"""What is known of an S-curve run without training it: the flow from its start, its end, and softmax without factors."""

import dataclasses
from functools import lru_cache

import numpy as np

from foretrain.study import Seed
from foretrain.theory import factorization as known
from foretrain.theory import factorization_flow, rank_one
from foretrain.training import factorization

from .study import LARGE_SCALE, MODES, Parameters

DIRECT_SEEDS = 100
FLOW_SEEDS = 20  # those that figures draw


def predict(p: Parameters, step: np.ndarray, seed: Seed) -> dict[str, np.ndarray]:
    """Loss of the exact reduction where it holds, the end under weight decay, and descent on the logits themselves.

    Elsewhere nothing exact is known and the values are nan. The flow is followed for the first twenty seeds. For the logits
    only the first hundred seeds are computed, beside cross-entropy at rank two, for a target as it is and for one of logits
    of order one.
    """
    unknown = np.full(step.size, np.nan)
    squared = p.loss_function == "mse"
    descends = p.optimizer in ("sgd", "sgd_decay")
    one = p.rank == factorization.components(p) == 1 and p.target_scale == 1
    ends = squared and p.optimizer == "sgd_decay"
    direct = not squared and (p.rank, p.optimizer) == (2, "sgd") and seed.number < DIRECT_SEEDS
    large = dataclasses.replace(p, target_scale=LARGE_SCALE)
    follows = descends and p.target_scale < LARGE_SCALE and seed.number < FLOW_SEEDS
    return {
        **(flow(p, step, seed) if follows else _unknown_flow(step)),
        "loss": rank_one_loss(p, seed) if squared and descends and one else unknown,
        "decayed_loss": np.asarray(decayed_loss(p, seed) if ends else np.nan),
        "direct_loss": direct_loss(p, seed) if direct else unknown,
        "direct_loss_large": direct_loss(large, seed) if direct else unknown,
    }


def flow(p: Parameters, step: np.ndarray, seed: Seed) -> dict[str, np.ndarray]:
    """Loss, split and modes predicted from the run's start, and the modes' times from its law alone.

    Cross-entropy of small logits is the squared error over 2 n^2, which its learning rate gives back.
    """
    squared = dataclasses.replace(p, loss_function="mse")
    return _flow(squared, tuple(int(one) for one in step), seed)


@lru_cache(maxsize=200)
def _flow(p: Parameters, step: tuple[int, ...], seed: Seed) -> dict[str, np.ndarray]:
    target, start = factorization.draw(p, seed)
    rates = factorization.learning_rate(p), factorization.weight_decay(p)
    rate, decay = rates
    found = factorization_flow.descent_curves(start, rate, np.array(step), target, decay)
    values = np.linalg.svd(target.left @ target.right.T, compute_uv=False)
    modes = slice(min(p.rank, MODES))
    ends = np.maximum(values[modes] - rates[1] / 2, 1e-9)
    halves = factorization_flow.half_steps(np.array(step), found.modes[:, modes], ends)
    few = factorization.components(p) <= p.dimension / 5
    typical = factorization_flow.typical_half_steps(
        values[modes], p.dimension, factorization.components(p), p.init_scale, *rates
    )
    return {
        "flow_loss": found.loss / np.sum(values**2),
        "flow_inside": found.inside / (2 * values.sum()),
        "flow_outside": found.outside / (2 * values.sum()),
        "flow_half_step": _modes(halves),
        "typical_half_step": _modes(typical if few else np.full(halves.shape, np.nan)),
    }


def _unknown_flow(step: np.ndarray) -> dict[str, np.ndarray]:
    names = ("flow_loss", "flow_inside", "flow_outside")
    curves = {name: np.full(step.size, np.nan) for name in names}
    return curves | {name: _modes([]) for name in ("flow_half_step", "typical_half_step")}


def _modes(values) -> np.ndarray:
    """One value per mode, nan behind them, shape (ten modes,)."""
    return np.pad(np.asarray(values, float), (0, MODES - len(values)), constant_values=np.nan)


def rank_one_loss(p: Parameters, seed: Seed) -> np.ndarray:
    """Loss of the four-number reduction, shape (stored step,)."""
    target, start = factorization.draw(p, seed)
    columns = (start.left[:, 0], start.right[:, 0], target.left[:, 0], target.right[:, 0])
    rate, decay = factorization.learning_rate(p), factorization.weight_decay(p)
    start = rank_one.stack([rank_one.reduce(*columns)])
    path = rank_one.descent(start, rate, p.steps, decay)
    return np.asarray(rank_one.loss(path))[:: p.observe_every, 0]


def direct_loss(p: Parameters, seed: Seed) -> np.ndarray:
    """Loss where the logits are trained, from the product of the run's start, shape (stored step,); its time is another."""
    target, start = _products(p, seed)
    return known.direct_loss(start, p.steps, target, every=p.observe_every)


def decayed_loss(p: Parameters, seed: Seed) -> float:
    """Squared error at which descent with weight decay ends."""
    decay = factorization.weight_decay(p)
    return known.decayed_loss(_products(p, seed)[0], factorization.components(p), decay)


def _products(p: Parameters, seed: Seed) -> list[np.ndarray]:
    """The matrices of target and start, shape (n, n) each."""
    return [factors.left @ factors.right.T for factors in factorization.draw(p, seed)]
