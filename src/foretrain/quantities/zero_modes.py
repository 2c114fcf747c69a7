"""Components of a graph of trained pairs from its spectrum: a second way to what theory finds by search."""

import numpy as np

_ZERO = 1e-9  # of eigenvalues that are 0 or above 1/n^2, and of entries that are 0 or above 1/n, n domains


def zero_modes(trained_pairs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return how many modes of the graph's Laplacian cost nothing, and which pairs these modes join (Kirchhoff).

    There is one such mode for each component, constant on it, so that the projector on all of them is positive just within
    components.

    Masks have shape (..., input_domain, output_domain), 1 or True where a pair is trained; a domain that is never trained is a
    component of its own. Their number is int64, (...), the pairs bool of the shape of the masks. Cost: one eigenvalue problem
    of all domains for each mask.
    """
    pairs = np.asarray(trained_pairs, float)
    inputs, outputs = pairs.shape[-2:]
    laplacian = np.zeros((*pairs.shape[:-2], inputs + outputs, inputs + outputs))
    laplacian[..., :inputs, inputs:] = -pairs
    laplacian[..., inputs:, :inputs] = -np.swapaxes(pairs, -1, -2)
    diagonal = np.arange(inputs + outputs)
    laplacian[..., diagonal, diagonal] = -laplacian.sum(-1)
    costs, modes = np.linalg.eigh(laplacian)
    free = np.where((costs < _ZERO)[..., None, :], modes, 0)
    joined = free[..., :inputs, :] @ np.swapaxes(free[..., inputs:, :], -1, -2) > _ZERO
    return np.asarray((costs < _ZERO).sum(-1)), joined
