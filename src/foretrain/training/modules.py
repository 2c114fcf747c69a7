"""Two modules side by side in one perceptron, and the posterior around the parameters of a small network."""

from typing import Any

import numpy as np
from scipy.linalg import block_diag

from foretrain.degeneracy.counts.grams import jacobian
from foretrain.degeneracy.network import perceptron
from foretrain.degeneracy.sampled.posterior import posterior

THRESHOLD = 1e-10  # of singular values against the largest
ACTIVATIONS = ("relu", "identity", "tanh")
# Inverse temperature, gamma, and whether the control variate is used. Gamma keeps chains away from networks of other
# coefficients. Linear and rectified networks have bent surfaces that are free, which chains cross in fewer steps at a lower
# beta, and on which the Hessian at the start is of no use.
TANH, RECTIFIED = (1e7, 50.0, True), (1e4, 12.0, False)


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
    values = np.linalg.svd(rows.reshape(-1, rows.shape[-1]), compute_uv=False)
    return float((values > THRESHOLD * values[0]).sum())


def activated(values: Any, activation: Any):
    """Return an activation of JAX arrays, by its number in `ACTIVATIONS`, which may be traced."""
    import jax.numpy as jnp

    bent = jnp.where(activation == 0, jnp.maximum(values, 0), jnp.tanh(values))
    return jnp.where(activation == 1, values, bent)


def around(losses, centre, slopes, moving, scale, share, place=None, **data):
    """Return the posterior around w* = `centre`, (d,), in coordinates y in which the Hessian is diagonal, and options.

    The weights are ``data["origin"] + data["basis"] @ y``; one example stands for all: arrays have a first axis of length one.
    ``losses(y, data)`` is the mean loss, (1,); `moving` are booleans, (d,); `share` is the step over the largest stable one;
    `scale` is the inverse temperature, gamma, and True where the control variate is used.
    The Hessian is that of `slopes`, the Jacobian of all residuals of n examples, (n, residuals, d), at w* or, where that is
    singular and says nothing of its surroundings, at another `place` of equal function.
    """
    beta, localisation, controlled = scale
    origin, own = centre if place is None else place, np.flatnonzero(moving)
    rows = slopes.reshape(-1, len(moving))[:, own]
    steep, vectors = np.linalg.eigh(2 * rows.T @ rows / len(slopes))
    basis, units = np.eye(len(moving)), np.ones(len(moving))
    basis[np.ix_(own, own)] = vectors
    units[own] = np.sqrt(localisation / (beta * np.maximum(steep, 0) + localisation))
    data = {"basis": basis, "origin": origin, **data}
    data = {name: np.asarray(values)[None] for name, values in data.items()}
    parts = {"moving": moving.astype(float)}
    # Gamma is part of the density: nothing is extrapolated.
    options = {"pull": localisation, "units": units, "share": share, "richardson": False}
    density = posterior(losses, basis.T @ (centre - origin), data, beta=beta, parts=parts)
    return density, options | {"controlled": controlled}
