r"""Probability of the right one of N classes while the logits themselves are trained by cross-entropy from equal logits.

All wrong logits stay equal, so that one number rules: the right logit moves at 1 - p, the others at -(1 - p)/(N - 1), and

$$ p' = \frac{N}{N - 1}\, p\, (1 - p)^2, \qquad \frac{N}{N - 1}\, t = \log\frac{p}{1 - p} + \frac{1}{1 - p} + \text{const.} $$

p grows as an exponential at first, bends at p = 1/3 and is late as 1 - p ~ 1/t: an S. The loss -log p falls at N/(N - 1)
(1 - p)^2, ever more slowly: no S.
"""

import numpy as np
from scipy.special import softmax

from foretrain.theory.integration import iterate


def time_of_probability(probability, classes: int, start=None):
    """Time, step x learning rate, at which the right class has this probability.

    The probability, in (0, 1), is at least `start`, that at time zero, by default 1/N of N >= 2 classes.
    """
    start = 1 / classes if start is None else start

    def clock(p):
        return np.log(p / (1 - p)) + 1 / (1 - p)

    return (clock(np.asarray(probability, float)) - clock(start)) * (classes - 1) / classes


def descent(
    start: np.ndarray, learning_rate: float, steps: int, right: int, *, every: int = 1
) -> np.ndarray:
    """Probability of one entry while all logits are trained to it by descent of the cross-entropy.

    `start` are the logits at step 0, (class,), `right` the index of the right class; the probability at steps 0, `every`, ..
    has the shape (steps // every + 1,).
    """

    def step(logits):
        logits = logits - learning_rate * softmax(logits)
        logits[right] += learning_rate
        return logits

    path = iterate(step, start.astype(float), steps, every)
    return np.array([softmax(logits)[right] for logits in path])
