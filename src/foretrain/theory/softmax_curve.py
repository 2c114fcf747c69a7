r"""Probability of the right one of N classes while the logits themselves are trained by cross-entropy from equal logits.

All wrong logits stay equal, so that one number rules: the right logit moves at 1 - p, the others at -(1 - p)/(N - 1), and

$$ p' = \frac{N}{N - 1}\, p\, (1 - p)^2, \qquad \frac{N}{N - 1}\, t = \log\frac{p}{1 - p} + \frac{1}{1 - p} + \text{const.} $$

p grows as an exponential at first, bends at p = 1/3 and is late as 1 - p ~ 1/t: an S. The loss -log p falls at N/(N - 1)
(1 - p)^2, ever more slowly: no S.
"""

import numpy as np


def time_of_probability(probability, classes: int, first=None):
    """Time, step x learning rate, at which the right class has this probability.

    Args:
        probability: In (0, 1), of any shape, at least `first`.
        classes: N, at least two.
        first: Probability at time zero, of a shape that goes with it; by default 1/N.
    """
    first = 1 / classes if first is None else first

    def clock(p):
        return np.log(p / (1 - p)) + 1 / (1 - p)

    return (clock(np.asarray(probability, float)) - clock(first)) * (classes - 1) / classes


def train_logits(logits: np.ndarray, right: int, times: np.ndarray, substeps: int) -> np.ndarray:
    """Probability of one entry while all logits are trained to it by descent of the cross-entropy.

    Args:
        logits: At the start, shape (class,).
        right: Index of the right class.
        times: Stored times, evenly spaced from zero.
        substeps: Steps between two of them.

    Returns:
        Shape of `times`.
    """
    rate, logits, found = (times[1] - times[0]) / substeps, logits.astype(float), []
    for number in range((len(times) - 1) * substeps + 1):
        weights = np.exp(logits - logits.max())
        weights /= weights.sum()
        if number % substeps == 0:
            found.append(weights[right])
        logits = logits - rate * weights
        logits[right] += rate
    return np.array(found)
