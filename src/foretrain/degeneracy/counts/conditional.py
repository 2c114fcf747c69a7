"""Free directions by neurons that are on for part of the data, which no mean over all data shows.

A neuron k of layer l + 2 matters on X_k, the examples on which its preactivation moves an output. Changes V of section l and U
of section l + 1, with r the slopes of the neurons between, move no output if they move no preactivation where that matters:

    U_k f^{l+1} + W_k diag(r) V f^l = 0      on X_k, for every k.

With V = 0, U_k is any null direction of the mean of ``f f^T`` over X_k. Else ``W_k diag(r) V f^l`` must lie in the span of
f^{l+1} on X_k, and U_k is minus its coefficients there, other ones for each reader; synchronised neurons are the case in which
one U serves all readers on all data. All of this is free, but more may be: readers whose effects on the outputs depend on one
another may take back each other's changes, and more than two sections may be at work.
"""

from typing import Any

import numpy as np

from foretrain.degeneracy.derivatives import batches, passed
from foretrain.degeneracy.network import Network
from foretrain.degeneracy.nonlinearities import nonlinearity

LEAST = 1e-13  # of singular values against the largest
_WORK = 2**33  # operations above which nothing is counted


def feasible(network: Network, x: np.ndarray, at: int) -> bool:
    """True if `conditional_directions` can take section l, `at`: its nonlinearity is named, and the work bounded."""
    section, following = network.sections[at], network.sections[at + 1]
    if section.activation is None:
        return False
    wide = np.size(network.params[at][section.weight or ""]) + 1
    readers, reads = np.shape(network.params[at + 1][following.weight or ""])
    return 2 * len(x) * readers * (wide + reads + len(network.params[at])) ** 2 <= _WORK


def conditional_directions(
    network: Network, x: np.ndarray, at: int
) -> list[tuple[np.ndarray, np.ndarray]]:
    """Directions of sections l and l + 1 that no neuron of layer l + 2 notices where it matters.

    Pairs V (d_{l+1}, d_l) and U (d_{l+2}, d_{l+1}), with the bias as another last column where a section has one; independent
    of one another. Synchronised blocks and dependent activations of layer l + 1 are among them. Cost: for each reader 2 n
    (d_{l+1} d_l)² operations; memory of a batch of n.
    """
    inner, outer = network.sections[at], network.sections[at + 1]
    weight = np.asarray(network.params[at + 1][outer.weight or ""], float)
    slope = nonlinearity(inner.activation or "").slope
    norms = np.linalg.norm(weight, axis=1)  # a reader of small weights must not be moved either
    scales = np.where(norms > LEAST * norms.max(), norms, norms.max() or 1.0)
    triangles: list[Any] = [None] * len(weight)
    sizes = (0, 0, 0)
    for part in batches(network, x):
        derivatives = passed(network, part)
        read = _with_unit(derivatives, at, inner.bias)
        sent = _with_unit(derivatives, at + 1, outer.bias)
        r = slope(derivatives.preactivations[at], np)
        matters = (derivatives.by_preactivations[at + 1] != 0).any(1)
        sizes = r.shape[1], read.shape[1], sent.shape[1]
        for k, row in enumerate(weight / scales[:, None]):
            here = matters[:, k]
            if not here.any():
                continue
            moved = ((r[here] * row)[:, :, None] * read[here, None]).reshape(here.sum(), -1)
            rows = np.concatenate([sent[here], moved], 1)
            before = triangles[k]
            rows = rows if before is None else np.concatenate([before, rows])
            triangles[k] = np.linalg.qr(rows, mode="r")
    return _solutions(weight, triangles, sizes, scales)


def _with_unit(derivatives, layer, bias):
    f = derivatives.activations[layer]
    return f if bias is None else np.concatenate([f, np.ones((len(f), 1))], 1)


def _solutions(weight, triangles, sizes, scales):
    (*shape, wide), many = sizes, sizes[0] * sizes[1]
    triangles = [np.zeros((1, wide + many)) if t is None else t for t in triangles]
    alone, back, left = [], [], []
    for k, triangle in enumerate(triangles):
        u, values, v = np.linalg.svd(triangle[:, :wide])  # all of v: what is not read is free
        kept = int((values > LEAST * values.max()).sum())
        for direction in v[kept:]:
            own = np.zeros((len(weight), wide))
            own[k] = direction
            alone.append((np.zeros(shape), own))
        moved = u[:, :kept].T @ triangle[:, wide:]
        back.append(-(v[:kept].T / values[:kept]) @ moved)
        left.append(triangle[:, wide:] - u[:, :kept] @ moved)
    largest = np.linalg.norm(np.concatenate([t[:, wide:] for t in triangles]))
    _, values, v = np.linalg.svd(np.linalg.qr(np.concatenate(left), mode="r"))
    kept = int((values > LEAST * largest).sum())
    taken = [
        (solution.reshape(shape), scales[:, None] * np.array([c @ solution for c in back]))
        for solution in v[kept:]
    ]
    return alone + taken
