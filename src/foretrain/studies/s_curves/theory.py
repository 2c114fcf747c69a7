"""What is known of an S-curve run without training it: the rank-one reduction, its end, and softmax without factors."""

import dataclasses

import numpy as np

from foretrain.streams import Seed
from foretrain.studies.s_curves.study import LARGE_SCALE, Parameters
from foretrain.theory import factorization as known
from foretrain.theory import rank_one
from foretrain.training import factorization

DIRECT_SEEDS = 100


def predict(p: Parameters, step: np.ndarray, seed: Seed) -> dict[str, np.ndarray]:
    """Loss of the exact reduction where it holds, the end under weight decay, and descent on the logits themselves.

    Elsewhere nothing exact is known and the values are nan. For the logits only the first hundred seeds are computed,
    beside cross-entropy at rank two, for a target as it is and for one of logits of order one.
    """
    unknown = np.full(step.size, np.nan)
    squared = p.loss_function == "mse"
    descends = p.optimizer in ("sgd", "sgd_decay")
    one = p.rank == factorization.components(p) == 1 and p.target_scale == 1
    ends = squared and p.optimizer == "sgd_decay"
    direct = not squared and (p.rank, p.optimizer) == (2, "sgd") and seed.number < DIRECT_SEEDS
    large = dataclasses.replace(p, target_scale=LARGE_SCALE)
    return {
        "loss": rank_one_loss(p, seed) if squared and descends and one else unknown,
        "decayed_loss": np.asarray(decayed_loss(p, seed) if ends else np.nan),
        "direct_loss": direct_loss(p, seed) if direct else unknown,
        "direct_loss_large": direct_loss(large, seed) if direct else unknown,
    }


def rank_one_loss(p: Parameters, seed: Seed) -> np.ndarray:
    """Loss of the four-number reduction, shape (stored step,)."""
    target, start = factorization.draw(p, seed)
    columns = (start.left[:, 0], start.right[:, 0], target.left[:, 0], target.right[:, 0])
    rates = factorization.learning_rate(p), factorization.weight_decay(p)
    path = rank_one.descent(rank_one.stack([rank_one.reduce(*columns)]), p.steps, *rates)
    return np.asarray(rank_one.loss(path))[:: p.observe_every, 0]


def direct_loss(p: Parameters, seed: Seed) -> np.ndarray:
    """Loss where the logits are trained, from the product of the run's start, shape (stored step,); its time is another."""
    target, start = _products(p, seed)
    return known.direct_loss(target, start, p.steps, p.observe_every)


def decayed_loss(p: Parameters, seed: Seed) -> float:
    """Squared error at which descent with weight decay ends."""
    decay = factorization.weight_decay(p)
    return known.decayed_loss(_products(p, seed)[0], factorization.components(p), decay)


def _products(p: Parameters, seed: Seed) -> list[np.ndarray]:
    """The matrices of target and start, shape (n, n) each."""
    return [factors.left @ factors.right.T for factors in factorization.draw(p, seed)]
