"""Softmax without factors: logits trained directly, from the run's own start, to its likeliest entry."""

import numpy as np

from foretrain.theory.softmax_curve import descent
from foretrain.training import factorization

from .study import LARGE_SCALE

SEEDS, END, SUBSTEPS = 20, 60.0, 4


def predict(p, step, seed):
    """Probability of the likeliest entry of the target, stored at even times up to `END`, of the first twenty seeds."""
    if p.target_scale < LARGE_SCALE or seed.number >= SEEDS or step.size < 2:
        return {"direct_probability": np.full(step.size, np.nan)}
    target, start = (f.left @ f.right.T for f in factorization.draw(p, seed))
    rate, steps = END / (step.size - 1) / SUBSTEPS, (step.size - 1) * SUBSTEPS
    path = descent(start.ravel(), rate, steps, int(target.argmax()), every=SUBSTEPS)
    return {"direct_probability": path}
