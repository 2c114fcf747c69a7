"""Behavioural loss of a network of which only the most important directions, or edges, of every layer are kept.

The same curves for any basis: the interaction basis beside principal components, singular vectors of the weights, and the
neurons themselves. What is not kept is set to zero (to its mean, where the basis is centred), the constant that carries the
biases included, and the outputs are compared with the network's own: the behavioural loss, no training loss.
"""

from collections.abc import Sequence

import numpy as np
from scipy.special import log_softmax

from foretrain.degeneracy.folded import (
    BUDGET,
    Data,
    Pointwise,
    block_size,
    blocks,
    layers,
    shapes,
    steps,
)
from foretrain.degeneracy.interactions.interaction_basis import (
    THRESHOLD,
    InteractionBasis,
    LayerBasis,
    interaction_basis,
    pca,
)
from foretrain.degeneracy.interactions.interaction_graph import InteractionGraph
from foretrain.degeneracy.moments import factor, moments
from foretrain.degeneracy.network import LOSSES, Network
from foretrain.errors import one_of

BASES = ("global", "local", "pca", "svd", "neurons")
_TOGETHER = 2**17  # activations that go through a section at once


def all_bases(
    network: Network,
    data: Data,
    *,
    names: Sequence[str] = BASES,
    centre: bool = False,
    few: bool = False,
) -> dict[str, InteractionBasis]:
    """Return bases of every layer, by name, all with the same output layer.

    ``global`` and ``local`` are the interaction bases. ``pca`` has principal components in the order of variance, ``svd``
    right singular vectors of each section's weights (with the folded bias) in the order of singular values, and of its
    Jacobians, stacked over the data, where it is no linear map and then a nonlinearity; ``neurons`` the activations
    themselves in the order of their variance times their mean squared effect, G_jj M_jj.
    `names` are some of `BASES`; `centre` and `few` are those of `interaction_basis`.
    """
    for name in names:
        one_of("names", name, BASES)
    whole = interaction_basis(network, data, kind="global", centre=centre, few=few)
    layer_moments = moments(network, data, centre=centre)
    chain = steps(network, not centre)
    bases = {"global": whole}
    if "local" in names:
        bases["local"] = interaction_basis(network, data, kind="local", centre=centre, few=few)
    for name in names:
        if name in bases:
            continue
        below = []
        for at, (layer, moment) in enumerate(zip(whole.layers[:-1], layer_moments, strict=False)):
            if name == "pca":
                below.append(pca(moment.factor, moment.mean, THRESHOLD))
            elif name == "neurons":
                below.append(_neurons(layer, moment))
            else:
                below.append(_singular(chain, at, moment.mean, data, not centre))
        bases[name] = InteractionBasis(
            (*below, whole.layers[-1]), name, whole.folded, whole.examples
        )
    return {name: bases[name] for name in names}


def _neurons(layer: LayerBasis, moment):
    width = moment.factor.shape[1]
    plain = LayerBasis(np.eye(width), np.eye(width), (moment.factor**2).sum(0), moment.mean)
    importance = plain.importance * (layer.forward**2).sum(0)
    order = np.argsort(-importance, kind="stable")
    return LayerBasis(
        plain.forward[order], plain.backward[:, order], importance[order], moment.mean
    )


def _singular(chain, at, mean, data, folded):
    step = chain[at]
    if isinstance(step, Pointwise):
        read = step.matrix
        if step.carries:  # the constant is read as well, to be handed on
            read = np.concatenate([read, np.eye(read.shape[1])[-1:]])
    else:
        read, seen = np.zeros((0, len(mean))), 0
        for block in blocks(data, block_size(24 * len(mean) ** 2, BUDGET)):
            f = layers(chain[:at], block, folded)[-1]
            seen += f[..., 0].size
            read = factor(step.jacobians(f).reshape(-1, len(mean)), read)
        read = read / np.sqrt(seen)
    _, values, directions = np.linalg.svd(read, full_matrices=False)
    return LayerBasis(directions, directions.T, values**2, mean)


def _loss(reference, outputs, kind):
    """Sum over examples."""
    if kind == "mse":
        return float(((outputs - reference) ** 2).sum())
    there, here = log_softmax(reference, -1), log_softmax(outputs, -1)
    return float((np.exp(there) * (there - here)).sum())


def direction_curve(
    network: Network,
    data: Data,
    basis: InteractionBasis,
    counts: Sequence[int],
    *,
    loss: str = "mse",
) -> np.ndarray:
    """Return the behavioural loss against the number of directions kept, (count,).

    Args:
        network: The network.
        data: Inputs (example, d_0), or a function that gives blocks of them.
        basis: Of the network on these data.
        counts: Numbers of most important directions that are kept in each of the layers; more than there are is all.
        loss: "mse", the squared distance summed over outputs, or "kl" of the softmax; mean over examples.

    Cost: for each count 4 n d² operations a layer.
    """
    one_of("loss", loss, LOSSES)
    chain = steps(network, basis.folded)
    sums, seen = np.zeros(len(counts)), 0
    sizes = [t * d for t, d in shapes(network, data, basis.folded)]
    for block in blocks(data, block_size(24 * sum(sizes), BUDGET)):
        seen += len(block)
        values = layers(chain, block, basis.folded)
        for number, kept in enumerate(counts):
            f = values[0]
            for at, step in enumerate(chain):
                part = basis.layers[at].first(kept)
                f = step.values(part.activations(part.coordinates(f)))
            sums[number] += _loss(values[-1], f, loss)
    return sums / seen


def edge_curve(
    network: Network,
    data: Data,
    basis: InteractionBasis,
    graph: InteractionGraph,
    counts: Sequence[int],
    *,
    loss: str = "mse",
) -> np.ndarray:
    """Return the behavioural loss against the number of strongest edges that are kept in each section, (count,).

    Each direction of the next layer is computed from those directions alone to which it keeps an edge.

    Cost: for each count and section 2 n k' m k operations, k' times those of the section itself.
    """
    one_of("loss", loss, LOSSES)
    chain = steps(network, basis.folded)
    orders = [np.argsort(-part, axis=None, kind="stable") for part in graph.strengths]
    sums, seen = np.zeros(len(counts)), 0
    sizes = [t * d for t, d in shapes(network, data, basis.folded)]
    for block in blocks(data, block_size(48 * max(sizes), BUDGET)):
        seen += len(block)
        values = layers(chain, block, basis.folded)
        for number, kept in enumerate(counts):
            f = values[0]
            for at, step in enumerate(chain):
                if kept >= orders[at].size:
                    f = step.values(f)
                    continue
                mask = np.zeros(graph.strengths[at].size, bool)
                mask[orders[at][:kept]] = True
                mask = mask.reshape(graph.strengths[at].shape)
                f = _cut(step, basis.layers[at], basis.layers[at + 1], f, mask)
            sums[number] += _loss(values[-1], f, loss)
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
