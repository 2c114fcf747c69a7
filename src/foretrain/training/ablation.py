"""Behavioural loss of a network of which only the most important directions, or edges, of every layer are kept.

The same curves for any basis: the interaction basis beside principal components, singular vectors of the weights, and the
neurons themselves. What is not kept is set to zero (to its mean, where the basis is centred), the constant that carries the
biases included, and the outputs are compared with the network's own: the behavioural loss, no training loss.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.special import log_softmax

from foretrain.degeneracy.folded import Pointwise, block_size, blocks, layers, shapes, steps
from foretrain.degeneracy.interactions.interaction_basis import (
    KINDS,
    THRESHOLD,
    InteractionBasis,
    LayerBasis,
    interaction_basis,
    pca,
)
from foretrain.degeneracy.interactions.interaction_graph import InteractionGraph
from foretrain.degeneracy.moments import factor, moments
from foretrain.degeneracy.network import Network

_TOGETHER = 2**17  # activations that go through a section at once


def all_bases(
    network: Network, data: np.ndarray, *, names: Sequence[str], centre: bool = False
) -> dict[str, InteractionBasis]:
    """Return bases of every layer, by name, all with the same output layer.

    ``global`` and ``local`` are the interaction bases. ``pca`` has principal components in the order of variance, ``svd``
    right singular vectors of each section's weights (with the folded bias) in the order of singular values, and of its
    Jacobians, stacked over the data, where it is no linear map and then a nonlinearity; ``neurons`` the activations
    themselves in the order of their variance times their mean squared effect, G_jj M_jj.
    `centre` is that of `interaction_basis`.
    """
    bases = {
        kind: interaction_basis(network, data, kind=kind, centre=centre, few=True)
        for kind in KINDS
        if kind == "global" or kind in names
    }
    whole, chain = bases["global"], steps(network, not centre)
    layer_moments = moments(network, data, centre=centre)[: len(chain)]
    for name in {*names} - bases.keys():
        below = []
        for at, (layer, moment) in enumerate(zip(whole.layers[:-1], layer_moments, strict=True)):
            if name == "pca":
                below.append(pca(moment.factor, moment.mean, THRESHOLD))
            elif name == "neurons":
                importance = (moment.factor**2).sum(0) * (layer.forward**2).sum(0)
                order = np.argsort(-importance, kind="stable")
                own = np.eye(len(order))[order]
                below.append(LayerBasis(own, own.T, importance[order], moment.mean))
            else:
                rows = _read(chain, at, len(moment.mean), data, not centre)
                _, values, directions = np.linalg.svd(rows, full_matrices=False)
                below.append(LayerBasis(directions, directions.T, values**2, moment.mean))
        every = (*below, whole.layers[-1])
        bases[name] = InteractionBasis(every, whole.folded)
    return {name: bases[name] for name in names}


def _read(chain, at, width, data, folded):
    """Rows (any, width) by which a section reads its activations: its weights, or a factor of its mean squared Jacobians."""
    step = chain[at]
    if isinstance(step, Pointwise):
        # The constant is read as well where it is handed on.
        return np.concatenate([step.matrix, np.eye(width)[-1:]]) if step.carries else step.matrix
    rows, seen = np.zeros((0, width)), 0
    for block in blocks(data, block_size(24 * width**2)):
        f = layers(chain[:at], block, folded)[-1]
        seen += f[..., 0].size
        rows = factor(step.jacobians(f).reshape(-1, width), rows)
    return rows / np.sqrt(seen)


def ablation_curve(
    network: Network,
    data: np.ndarray,
    basis: InteractionBasis,
    counts: Sequence[int],
    *,
    graph: InteractionGraph | None = None,
    loss: str = "mse",
) -> np.ndarray:
    """Return the behavioural loss against the number of directions kept, or with a `graph` of edges kept, (count,).

    `data` are inputs (example, d_0), or a function that gives blocks of them; `counts` numbers of most important directions
    that are kept in each layer, or of strongest edges in each section, where each direction of the next layer is computed
    from those alone to which it keeps an edge; more than there are being all. `loss` is "mse", the squared distance summed
    over outputs, or "kl" of the softmax, mean over examples. Cost: for each count 4 n d² operations a layer, or 2 n k' m k
    a section, k' times those of the section itself.
    """
    chain = steps(network, basis.folded)
    sizes = [positions * width for positions, width in shapes(network, data, basis.folded)]
    strengths: Any = [] if graph is None else graph.strengths
    orders = [np.argsort(-part, axis=None, kind="stable") for part in strengths]

    def section(at, step, f, count):
        if graph is None:
            part = basis.layers[at].first(count)
            return step.values(part.activations(part.coordinates(f)))
        if count >= orders[at].size:
            return step.values(f)
        mask = np.zeros(strengths[at].shape, bool)
        mask.flat[orders[at][:count]] = True
        return _cut(step, basis.layers[at], basis.layers[at + 1], f, mask)

    sums, seen = np.zeros(len(counts)), 0
    numbers = sum(sizes) if graph is None else 2 * max(sizes)
    for block in blocks(data, block_size(24 * numbers)):
        seen += len(block)
        values = layers(chain, block, basis.folded)
        for number, count in enumerate(counts):
            f = values[0]
            for at, step in enumerate(chain):
                f = section(at, step, f, count)
            if loss == "mse":
                sums[number] += ((f - values[-1]) ** 2).sum()
            else:
                there, here = log_softmax(values[-1], -1), log_softmax(f, -1)
                sums[number] += (np.exp(there) * (there - here)).sum()
    return sums / seen


def _cut(step, below, above, f, mask):
    """Return the next layer's activations where each of its directions sees only the edges of its row of the mask."""
    here = below.coordinates(f)
    above_values = np.zeros(0)
    alike, rows = np.unique(mask, axis=0, return_inverse=True)
    # Those that see the same are computed once; several kinds at a time, as a section through JAX is slow to call.
    many = max(1, _TOGETHER // max(1, len(f) * f[0].size))
    for begin in range(0, len(alike), many):
        some = alike[begin : begin + many]
        kinds = some.reshape(len(some), *[1] * (f.ndim - 1), -1)
        seen = step.values(below.activations(here * kinds))
        above_values = above_values if begin else np.empty((*seen.shape[1:-1], above.size))
        for number, values in enumerate(seen, begin):
            mine = rows.ravel() == number
            above_values[..., mine] = (values - above.mean) @ above.forward[mine].T
    return above.activations(above_values)
