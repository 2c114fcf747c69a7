"""What is known of an S-curve run without training it: the rank-one reduction, and softmax without factors."""

import numpy as np
import xarray as xr

from foretrain.studies import s_curves as study
from foretrain.theory import s_curve

DIRECT_SEEDS = 10


def predict(parameters: study.Parameters, root_seed: int, seeds: int) -> xr.Dataset:
    """Loss of the exact reduction where it holds, and of descent on the logits beside cross-entropy at rank two.

    Elsewhere nothing exact is known and the values are nan. For the logits only the first ten seeds are computed.
    """
    step = np.arange(0, parameters.steps + 1, parameters.observe_every)
    loss = np.full((seeds, step.size), np.nan)
    direct = np.full((seeds, step.size), np.nan)
    reducible = (
        parameters.loss_kind == "mse"
        and parameters.rank == study.components(parameters) == 1
        and parameters.optimiser in ("sgd", "sgd_decay")
        and parameters.target_scale == 1
    )
    if reducible:
        loss = rank_one_loss(parameters, root_seed, seeds)
    if parameters.loss_kind == "cross_entropy" and (parameters.rank, parameters.optimiser) == (
        2,
        "sgd",
    ):
        for seed in range(min(seeds, DIRECT_SEEDS)):
            direct[seed] = direct_loss(parameters, root_seed, seed)
    variables = {"loss": (("seed", "step"), loss), "direct_loss": (("seed", "step"), direct)}
    coords = {"step": step, "seed": np.arange(seeds), **study.coordinates(parameters, step)}
    return xr.Dataset(variables, coords)


def rank_one_loss(parameters: study.Parameters, root_seed: int, seeds: int) -> np.ndarray:
    """Loss of the four-number reduction from every seed's start, shape (seed, stored step)."""
    starts = []
    for seed in range(seeds):
        target, start = study.draw(parameters, root_seed, seed)
        columns = (start.left[:, 0], start.right[:, 0], target.left[:, 0], target.right[:, 0])
        starts.append(s_curve.reduce(*columns))
    fields = s_curve.RankOneState.__dataclass_fields__
    stacked = {name: np.array([getattr(start, name) for start in starts]) for name in fields}
    decay = parameters.weight_decay if parameters.optimiser == "sgd_decay" else 0.0
    path = s_curve.descent(
        s_curve.RankOneState(**stacked), parameters.steps, study.learning_rate(parameters), decay
    )
    return np.asarray(s_curve.loss(path))[:: parameters.observe_every].T


def direct_loss(parameters: study.Parameters, root_seed: int, seed: int) -> np.ndarray:
    """Divergence of softmax Z from softmax C while Z itself descends, from the product of the run's start.

    The step is the reciprocal of the largest probability that occurs, below which descent of this convex loss behaves
    as its flow does: the Hessian diag(Q) - Q Q^T has no eigenvalue above max Q. Shape (stored step,); the number of
    steps is that of the run, the time of a step another.
    """
    target, start = study.draw(parameters, root_seed, seed)
    goal = _softmax(target.left @ target.right.T)
    logits = start.left @ start.right.T
    rate = 0.25 / max(goal.max(), _softmax(logits).max())
    losses = np.empty(parameters.steps + 1)
    for index in range(parameters.steps + 1):
        current = _softmax(logits)
        losses[index] = np.sum(goal * np.log(goal / current))
        logits = logits - rate * (current - goal)
    return losses[:: parameters.observe_every]


def decay_ratio(parameters: study.Parameters, root_seed: int, seed: int) -> float:
    """Length of cross-entropy's decay term over that of the centred squared error / (2 n^2), at the start.

    Zero if cross-entropy had no decay term; see docs/theory/s-curves.md.
    """
    _, start = study.draw(parameters, root_seed, seed)
    own = start.left @ start.right.T
    pull = (_softmax(own) - 1 / own.size) @ start.right
    centred = (own - own.mean()) @ start.right / own.size
    return float(np.linalg.norm(pull) / np.linalg.norm(centred))


def _softmax(logits):
    weights = np.exp(logits - logits.max())
    return weights / weights.sum()
