"""The state at which a gated network with small random weights joins the submanifold of its reduction."""

import numpy as np

from foretrain.theory.reduced_dynamics import decoupled_start
from foretrain.theory.reduction import Reduction


def grown_start(weights: dict[str, np.ndarray], reduction: Reduction) -> np.ndarray:
    """State of the reduction that small weights of parallel two-layer pathways grow from, shape (edge, mode).

    While weights are small the sum q = (W_in v + W_out^T u) / 2 of a mode grows and the difference decays, so that
    both edges tend to |q|; derived in docs/theory/gated-networks.md.
    """
    start = {}
    for group in reduction.groups:
        (first, second) = group.edges
        right, left = group.frames["x"], group.frames["y"]
        growing = (weights[first] @ right + weights[second].T @ left) / 2
        start[first] = start[second] = np.linalg.norm(growing, axis=0)
    return decoupled_start(start, reduction)
