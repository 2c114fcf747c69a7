"""Two modules side by side in one perceptron."""

from typing import Any

import numpy as np
from scipy.linalg import block_diag

from foretrain.degeneracy.counts.grams import jacobian
from foretrain.degeneracy.network import perceptron

THRESHOLD = 1e-10  # of singular values against the largest
ACTIVATIONS = ("relu", "identity", "tanh")
# Inverse temperature and gamma at which networks are sampled. Gamma keeps chains away from networks of other coefficients.
# Linear and rectified networks have bent surfaces that are free, which chains cross in fewer steps at a lower beta.
SCALES = {"tanh": (1e7, 50.0), "relu": (1e4, 12.0)}


def joined(pair, activation: str, mediators: int, strength: float):
    """Return both modules, each weights (out, in) and biases, as one network.

    Unit i of M2's second hidden layer reads unit i of M1's first by a weight `strength`, for so many `mediators`.
    """
    weights = [np.asarray(block_diag(*both)) for both in zip(pair[0][0], pair[1][0], strict=True)]
    unit = np.arange(mediators)
    weights[1][len(weights[1]) // 2 + unit, unit] = strength
    biases = [np.concatenate(both) for both in zip(pair[0][1], pair[1][1], strict=True)]
    return perceptron(weights, biases, activation)


def owners(network) -> np.ndarray:
    """Return the module of every parameter in the order of `jacobian`: 1 or 2, and 0 between the modules."""
    parts = []
    for leaves in network.params:
        rows, columns = (size // 2 for size in leaves["weight"].shape)
        bias, weight = np.ones(2 * rows, int), np.zeros((2 * rows, 2 * columns), int)
        bias[rows:] = 2
        weight[:rows, :columns], weight[rows:, columns:] = 1, 2
        parts += [bias, weight.ravel()]
    return np.concatenate(parts)


def of_first_layer(network, x, activation: str) -> np.ndarray:
    """Return the Jacobian of the first hidden layer by all parameters of the network, (n, units, parameters)."""
    leaves = network.params[0]
    first = perceptron([leaves["weight"]], [leaves["bias"]], [activation])
    slopes = jacobian(first, x).reshape(len(x), len(leaves["bias"]), -1)
    return np.pad(slopes, ((0, 0), (0, 0), (0, len(owners(network)) - slopes.shape[-1])))


def rank(rows: np.ndarray) -> float:
    """Return the rank of (..., parameter): effective parameters, twice the learning coefficient of a regular minimum."""
    return float(np.linalg.matrix_rank(rows.reshape(-1, rows.shape[-1]), rtol=THRESHOLD))


def activated(values: Any, activation: Any):
    """Return an activation of JAX arrays, by its number in `ACTIVATIONS`, which may be traced."""
    import jax.numpy as jnp

    bent = jnp.where(activation == 0, jnp.maximum(values, 0), jnp.tanh(values))
    return jnp.where(activation == 1, values, bent)
