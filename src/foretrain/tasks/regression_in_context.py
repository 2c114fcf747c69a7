"""Linear regression in context: x normal of covariance diag(spectrum), y = w^T x with a normal w of its own in each sequence.

A prediction beta^T A x for the last x of a sequence uses beta, the mean of y_n x_n over the N pairs before. Its squared error
depends on sequences through three statistics alone, of which A is read row by row.
"""

from typing import Any

import numpy as np


def statistics(spectrum, beta_moments) -> dict[str, Any]:
    """Return E y^2 (), E[y beta x^T] (D^2,) and E[(beta x^T) (beta x^T)^T] (D^2, D^2) of the distribution.

    Args:
        spectrum: (D,), variances of the inputs along the axes.
        beta_moments: (D,), E beta_d^2.
    """
    square = np.kron(np.diag(beta_moments), np.diag(spectrum))
    return {"power": spectrum.sum(), "cross": np.diag(spectrum**2).ravel(), "square": square}


def sampled(spectrum, context: int, count: int, generator) -> dict[str, Any]:
    """Return the same of `count` sequences of N = `context` pairs and one input that is asked for."""
    x = generator.standard_normal((count, context + 1, len(spectrum))) * spectrum**0.5
    y = np.einsum("snd,sd->sn", x, generator.standard_normal((count, len(spectrum))))
    beta = np.einsum("sn,snd->sd", y[:, :-1], x[:, :-1]) / context
    seen = np.einsum("sd,se->sde", beta, x[:, -1]).reshape(count, -1)
    last = y[:, -1]
    return {
        "power": (last**2).mean(),
        "cross": last @ seen / count,
        "square": seen.T @ seen / count,
    }
