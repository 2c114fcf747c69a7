"""What is known of an S-curve run without training it: the rank-one reduction, and softmax without factors."""

import dataclasses

import numpy as np
import xarray as xr

from foretrain.studies.s_curves import study
from foretrain.theory import rank_one as s_curve

DIRECT_SEEDS = 100


def predict(parameters: study.Parameters, root_seed: int, seeds: int) -> xr.Dataset:
    """Loss of the exact reduction where it holds, and of descent on the logits beside cross-entropy at rank two.

    Elsewhere nothing exact is known and the values are nan. For the logits only the first hundred seeds are computed,
    for a target as it is and for one of logits of order one.
    """
    step = np.arange(0, parameters.steps + 1, parameters.observe_every)
    loss = np.full((seeds, step.size), np.nan)
    direct = {"direct_loss": loss.copy(), "direct_loss_large": loss.copy()}
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
        large = dataclasses.replace(parameters, target_scale=study.LARGE_SCALE)
        for curves, p in zip(direct.values(), (parameters, large), strict=True):
            for seed in range(min(seeds, DIRECT_SEEDS)):
                curves[seed] = direct_loss(p, root_seed, seed)
    variables = {
        name: (("seed", "step"), curves) for name, curves in {"loss": loss, **direct}.items()
    }
    coords = {"step": step, "seed": np.arange(seeds), **study.coordinates(parameters, step)}
    return xr.Dataset(variables, coords)


def rank_one_loss(parameters: study.Parameters, root_seed: int, seeds: int) -> np.ndarray:
    """Loss of the four-number reduction from every seed's start, shape (seed, stored step)."""
    starts = []
    for seed in range(seeds):
        target, start = study.draw(parameters, root_seed, seed)
        columns = (start.left[:, 0], start.right[:, 0], target.left[:, 0], target.right[:, 0])
        starts.append(s_curve.reduce(*columns))
    rates = study.learning_rate(parameters), study.weight_decay(parameters)
    path = s_curve.descent(s_curve.stack(starts), parameters.steps, *rates)
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
    losses = []
    for index in range(parameters.steps + 1):
        current = _softmax(logits)
        if index % parameters.observe_every == 0:
            losses.append(np.sum(goal * np.log(goal / current)))
        logits -= rate * (current - goal)
    return np.array(losses)


def decayed_loss(parameters: study.Parameters, root_seed: int, seed: int) -> float:
    """Squared error at which descent with weight decay ends.

    Decay penalises the sum of the singular values of Z: each of the k largest of C ends at max(s - lambda/2, 0), which
    leaves min(s, lambda/2)^2; the others leave s^2.
    """
    target, _ = study.draw(parameters, root_seed, seed)
    strengths = np.linalg.svd(target.left @ target.right.T, compute_uv=False)
    left = strengths.copy()
    learned = slice(0, study.components(parameters))
    left[learned] = np.minimum(strengths[learned], study.weight_decay(parameters) / 2)
    return float(np.sum(left**2))


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
