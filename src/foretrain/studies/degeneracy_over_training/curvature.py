"""Effective parameters from curvatures of the behavioural loss."""

import numpy as np

from foretrain.degeneracy.counts.grams import jacobian


def effective(curvatures, scales) -> np.ndarray:
    """``sum h/(h + eps)`` at every scale: 2 lambda_Z(beta) with a pull of eps beta, as beta grows and all stays near.

    `curvatures` are h of the loss, rounding below zero cut off; `scales` are eps.
    """
    h = np.maximum(curvatures, 0)
    return np.array([(h / (h + eps)).sum() for eps in scales])


def of_network(network, x) -> np.ndarray:
    """Eigenvalues of the Hessian of the behavioural loss on these inputs but for zeros, those of (2/n) J J^T."""
    slopes = jacobian(network, x)
    small = slopes @ slopes.T if len(slopes) <= slopes.shape[1] else slopes.T @ slopes
    return 2 / len(x) * np.linalg.eigvalsh(small)
