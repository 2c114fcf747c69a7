"""A low-rank matrix learned by two factors: where decay ends it, and its logits learned directly."""

import numpy as np

from foretrain.theory.integration import iterate


def decayed_loss(target: np.ndarray, components: int, weight_decay: float) -> float:
    """Squared error at which descent with weight decay ends.

    Decay penalises the sum of the singular values of Z: each of the k largest of C ends at max(s - lambda/2, 0), which
    leaves min(s, lambda/2)^2; the others leave s^2.

    Args:
        target: C, shape (n, n).
        components: k, number of components of the learner.
        weight_decay: lambda.
    """
    strengths = np.linalg.svd(target, compute_uv=False)
    left = strengths.copy()
    left[:components] = np.minimum(strengths[:components], weight_decay / 2)
    return float(np.sum(left**2))


def direct_loss(start: np.ndarray, steps: int, target: np.ndarray, *, every: int = 1) -> np.ndarray:
    """Divergence of softmax Z from softmax C while Z itself descends.

    The step is a quarter of the reciprocal of the largest probability of target and start, below which descent of this
    convex loss behaves as its flow does: the Hessian diag(Q) - Q Q^T has no eigenvalue above max Q.

    Args:
        start: Logits Z at the start.
        steps: Number of steps.
        target: Logits C, of any shape.
        every: Stride of what is returned, shape (stored step,).
    """
    goal = _softmax(target)
    rate = 0.25 / max(goal.max(), _softmax(start).max())

    def step(logits):
        return logits - rate * (_softmax(logits) - goal)

    path = iterate(step, start, steps, every)
    return np.array([np.sum(goal * np.log(goal / _softmax(logits))) for logits in path])


def _softmax(logits):
    weights = np.exp(logits - logits.max())
    return weights / weights.sum()
