"""A low-rank matrix learned by two factors: where decay ends it."""

import numpy as np


def decayed_loss(target: np.ndarray, components: int, weight_decay: float) -> float:
    """Squared error at which descent with weight decay ends.

    Decay penalises the sum of the singular values of Z: each of the k largest of C ends at max(s - lambda/2, 0), which
    leaves min(s, lambda/2)^2; the others leave s^2.
    """
    strengths = np.linalg.svd(target, compute_uv=False)
    left = strengths.copy()
    left[:components] = np.minimum(strengths[:components], weight_decay / 2)
    return float(np.sum(left**2))
