"""The interaction basis: in each layer the directions that matter, in the order in which they matter, whatever the neurons.

In layer l let G = U' D_G U be the Gram matrix of its activations and M that of the Jacobians of what comes later, in
whitened coordinates M~ = D_G^{1/2} U M U' D_G^{1/2} = V' D_M V. Then f^ = C f with

    C = D_M^{1/2} V (D_G^{1/2})^+ U,    C^+ = U' D_G^{1/2} V' (D_M^{1/2})^+,

has C C^+ = 1 on the directions kept, and C G C' = D_M: the variance of a direction is its importance. C^+ C is an oblique
projector, the identity where every direction is kept; it is not the Moore-Penrose one. Directions without variance, or
without effect, are left out. (The document's section 6.1 writes (D_M^{1/2})^+ where its appendix has D_M^{1/2}: the
appendix is followed. M~ is formed with D_G^{1/2}, not its pseudo-inverse.)
"""

from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from scipy.sparse import bmat
from scipy.sparse.csgraph import connected_components

from foretrain.degeneracy import folded as chains
from foretrain.degeneracy.folded import together
from foretrain.degeneracy.moments import factor, moments
from foretrain.degeneracy.network import Network
from foretrain.errors import argument_error, one_of, real

KINDS = ("global", "local")
THRESHOLD = 1e-10
CHANCE = 6.0  # scatters n^(-1/2) up to which a correlation is one by chance: rare activations have heavy tails


@dataclass(frozen=True)
class LayerBasis:
    """Coordinates f^ = C (f̄ - mean) of one layer; f̄ has the constant as last entry where biases are folded in.

    C is (k, d), C^+ (d, k), with C C^+ = 1; the importance D_M (k,), descending, of the final layer the variances; the mean
    (d,), zero unless centred.
    """

    forward: np.ndarray
    backward: np.ndarray
    importance: np.ndarray
    mean: np.ndarray

    @property
    def size(self) -> int:
        """Number of directions kept, k."""
        return len(self.importance)

    def coordinates(self, f: np.ndarray) -> np.ndarray:
        """f̄ (..., d) to f^ (..., k)."""
        return (f - self.mean) @ self.forward.T

    def activations(self, coordinates: np.ndarray) -> np.ndarray:
        """f^ (..., k) to f̄ (..., d), in the span of the directions kept."""
        return coordinates @ self.backward.T + self.mean

    def first(self, kept: int) -> "LayerBasis":
        """The same with the most important directions alone."""
        part = slice(kept)
        forward, backward = self.forward[part], self.backward[:, part]
        return LayerBasis(forward, backward, self.importance[part], self.mean)


@dataclass(frozen=True)
class InteractionBasis:
    """The basis of every layer, L + 1, the input first; `folded` if all but the output have a constant as last activation."""

    layers: tuple[LayerBasis, ...]
    folded: bool


def whitening(gram_factor: np.ndarray, threshold: float = THRESHOLD):
    """(D_G^{1/2})^+ U, (k, d), and U' D_G^{1/2}, (d, k), from R with R'R = G; see `_principal` for what is left out."""
    spread, directions = _principal(gram_factor, threshold)
    return directions / spread[:, None], directions.T * spread


def _principal(rows, threshold):
    """Singular values above this share of the largest, (k,), and their right singular vectors, (k, d)."""
    _, sizes, directions = np.linalg.svd(rows, full_matrices=False)
    kept = sizes > threshold * max(sizes.max(initial=0.0), np.finfo(float).tiny)
    return sizes[kept], directions[kept]


def layer_basis(
    white: np.ndarray,
    unwhite: np.ndarray,
    jacobian_factor: np.ndarray,
    *,
    mean: np.ndarray,
    threshold: float,
    signs: np.ndarray,
) -> LayerBasis:
    """The basis of one layer, from its `whitening` and R, (any, k), with R'R = M~, of its Jacobians in whitened coordinates.

    The largest change of the rows `signs`, (any, k), along a direction is positive.
    """
    effect, directions = _principal(jacobian_factor, threshold)
    directions = directions * _signs(directions @ signs.T)[:, None]
    forward, backward = (effect[:, None] * directions) @ white, (unwhite @ directions.T) / effect
    return LayerBasis(forward, backward, effect**2, mean)


def _signs(rows):
    """1 or -1 for each row: the sign of its entry that is largest in size."""
    if not rows.size:
        return np.ones(len(rows))
    largest = np.take_along_axis(rows, np.abs(rows).argmax(1)[:, None], 1)[:, 0]
    return np.where(largest < 0, -1.0, 1.0)


def pca(gram_factor: np.ndarray, mean=None, threshold: float = THRESHOLD) -> LayerBasis:
    """Principal components without whitening, from a factor R of G; importance is the variance."""
    spread, directions = _principal(gram_factor, threshold)
    directions = directions * _signs(directions)[:, None]
    mean = np.zeros(gram_factor.shape[1]) if mean is None else mean
    return LayerBasis(directions, directions.T, spread**2, mean)


def interaction_basis(
    network: Network,
    x: np.ndarray,
    *,
    kind: str = "global",
    centre: bool = False,
    threshold: float = THRESHOLD,
    few: bool = False,
    separate: bool = False,
) -> InteractionBasis:
    """The interaction basis of every layer of a network.

    >>> from foretrain.degeneracy.network import perceptron
    >>> network = perceptron([np.eye(3), np.ones((1, 3))], None, "identity")
    >>> basis = interaction_basis(network, np.eye(3), few=True)
    >>> [layer.size for layer in basis.layers]
    [1, 1, 1]

    Args:
        kind: "global": M from Jacobians to the output. "local": from those to the next layer in its own basis, from the
            output back to the input.
        centre: True if activations are measured from their mean. If not, biases are folded in: every layer but the
            output has a constant as its last activation.
        threshold: Relative: a direction is left out if the root of its variance, or of its importance, is at most this
            share of the layer's largest.
        few: True to go on where examples are fewer than a layer's activations, so that the data limit the directions.
        separate: True if parts of the network that no weight joins are taken as uncorrelated where correlations can be by
            chance, which otherwise mix directions that matter alike; with `centre` alone.

    Returns:
        Bases with which, in a deep linear network, every layer map is the identity and importances are the same in all
        layers. Each direction points so that the largest mean change of what M measures along it is positive.

    Cost: two passes over the data (global), L + 1 passes (local); per example and layer about 2 d_L d² operations
    (global) or 2 d_{l+1} d_l² (local); through a section that reads positions together as many gradients of it as it has
    outputs at all positions, T' d_{l+1}.
    """
    one_of("kind", kind, KINDS)
    real("threshold", threshold, minimum=0, maximum=1)
    chain, sizes = chains.steps(network, not centre), chains.shapes(network, x, not centre)
    # Of an example: activations, and Jacobians of the largest layer.
    local = max(max(a[0], b[0]) * a[1] * b[1] for a, b in pairwise(sizes))
    whole = [t * d for t, d in sizes]
    to_output = sizes[-1][1] * max(whole[:-1]) if kind == "global" else local
    size = chains.block_size(8 * (3 * sum(whole) + 3 * local + 4 * to_output))
    layer_moments = moments(network, x, centre=centre)
    for at, labels in enumerate(_parts(chain, layer_moments, len(x)) if separate else ()):
        if len(names := np.unique(labels)) > 1:
            own = [factor(layer_moments[at].factor * (labels == name)) for name in names]
            layer_moments[at] = replace(layer_moments[at], factor=np.concatenate(own))
    count = min(moment.examples for moment in layer_moments[:-1])
    short = max(d for _, d in sizes[:-1])
    if count < short and not few:
        rule = f"hold at least {short} examples, as many as the widest layer has activations"
        repair = (
            "Try more examples, or few=True, with which the data limit the number of directions."
        )
        raise argument_error("x", rule, f"holds {count}", repair)
    last = layer_moments[-1]
    top = pca(last.factor, last.mean, threshold)
    white = [whitening(moment.factor, threshold) for moment in layer_moments[:-1]]
    if kind == "global":
        effects, signs = _to_output(chain, x, size, white, top, layer_moments, not centre)
        below = [
            layer_basis(*w, e, mean=m.mean, threshold=threshold, signs=s)
            for w, e, s, m in zip(white, effects, signs, layer_moments, strict=False)
        ]
        return InteractionBasis((*below, top), not centre)
    bases = [top]
    for at in reversed(range(len(chain))):
        shared = (layer_moments[at].examples, sizes[at + 1][0], not centre)
        effect, sign = _to_next(chain, at, x, size, white[at][1], bases[0], *shared)
        options = {"mean": layer_moments[at].mean, "threshold": threshold, "signs": sign}
        bases.insert(0, layer_basis(*white[at], effect, **options))
    return InteractionBasis(tuple(bases), not centre)


def _parts(chain, layer_moments, n):
    """Of each layer the part of every activation, (d,): no weight and no correlation of any two joins one part to another."""
    rows = [[None] * len(layer_moments) for _ in layer_moments]
    for at, moment in enumerate(layer_moments):
        gram = moment.factor.T @ moment.factor
        rows[at][at] = gram**2 > CHANCE**2 / n * np.outer(np.diag(gram), np.diag(gram))
        if at:
            weights = getattr(chain[at - 1], "matrix", np.ones(()))
            rows[at][at - 1] = weights + np.zeros((len(gram), len(layer_moments[at - 1].mean)))  # pyright: ignore
    labels = connected_components(bmat(rows), directed=False)[1]
    return np.split(labels, np.cumsum([len(moment.mean) for moment in layer_moments])[:-1])


def _to_output(chain, x, size, white, top, layer_moments, folded):
    """Factors of M~ of every layer but the output, and mean Jacobians of the output's coordinates."""
    factors = [np.zeros((0, w[1].shape[1])) for w in white]
    means = [np.zeros((top.size, w[1].shape[1])) for w in white]
    for block in chains.blocks(x, size):
        values = chains.layers(chain, block, folded)
        *whole, outputs = values[-1].shape
        for slopes in _slopes(np.eye(outputs), *whole):
            for at in reversed(range(len(chain))):
                slopes = chain[at].pulled(slopes, values[at])
                rows, count = slopes @ white[at][1], layer_moments[at].examples
                means[at] += top.forward @ _over_examples(rows) / count
                factors[at] = factor(_stacked(rows) / np.sqrt(count), factors[at])
    return factors, means


def _to_next(chain, at, x, size, unwhite, above, count, positions, folded):
    """Factor of M~ of one layer by Jacobians of the next in its basis, and their mean."""
    triangle, mean = np.zeros((0, unwhite.shape[1])), np.zeros((above.size, unwhite.shape[1]))
    for block in chains.blocks(x, size):
        f = chains.read(chain[at], chains.layers(chain[:at], block, folded)[-1])
        whole = (len(f), positions) if together(chain[at]) else (len(f),)
        for slopes in _slopes(above.forward, *whole):
            rows = chain[at].pulled(slopes, f) @ unwhite
            mean += _over_examples(rows) / count
            triangle = factor(_stacked(rows) / np.sqrt(count), triangle)
    return triangle, mean


def _slopes(forward, examples, positions=None):
    """Rows (o, d) for each example, (n, o, d); of positions one after another, (n, o, T, d)."""
    if positions is None:
        yield np.broadcast_to(forward, (examples, *forward.shape))
        return
    for at in range(positions):
        weights = np.broadcast_to(np.arange(positions) == at, (examples, positions))
        yield weights[:, None, :, None] * forward[:, None]


def _over_examples(rows):
    """(n, o, k) or (n, o, T, k) to (o, k)."""
    return rows.sum((0, *range(2, rows.ndim - 1)))


def _stacked(rows):
    """(n, o, k) or (n, o, T, k) to (n o T, k), k = 0 too."""
    return rows.reshape(int(np.prod(rows.shape[:-1])), rows.shape[-1])
