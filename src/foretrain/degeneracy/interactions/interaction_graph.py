"""Interactions between the directions of neighbouring layers, in the interaction basis or in any other.

With f^ the coordinates of a layer and f^' those of the next, the attribution of i to j for one example is

    A_ij = integral over a in [0, 1] of f^_j d f^'_i(a f^) / d(a f^_j),

a straight path from zero (from the mean, where the basis is centred). The strength of an edge is E_ij, the mean over data of
A_ij². In a deep linear network E_ij = delta_ij D_M,i.

With positions A_ij is of the output at one position, summed over all positions of j. E_ij sums its square over positions of
the output and divides by the number of positions read. Where a section acts on each position alike this is the mean over all
of them.

The integral is by n Gauss-Legendre points, or by the one point a = 1. For a section that is a linear map and then a pointwise
nonlinearity all points are averaged in its slopes before anything is multiplied, so that five cost about as much as one.
"""

from dataclasses import dataclass

import numpy as np

from foretrain.degeneracy import folded
from foretrain.degeneracy.folded import Pointwise, Step, together
from foretrain.degeneracy.interactions.interaction_basis import InteractionBasis
from foretrain.degeneracy.network import Network
from foretrain.errors import argument_error, integer

_PRODUCTS = 2**17  # attributions that are formed at once, about what a cache holds
_EXAMPLES = 512


@dataclass(frozen=True)
class InteractionGraph:
    """Edges between the directions of all layers: E, for each section (k', k), rows the next layer's directions."""

    strengths: tuple[np.ndarray, ...]

    @property
    def sizes(self) -> list[int]:
        """Number of directions of each layer."""
        return [self.strengths[0].shape[1], *(len(part) for part in self.strengths)]


def path_points(points: int) -> tuple[np.ndarray, np.ndarray]:
    """Places in [0, 1] and weights: Gauss and Legendre's, exact for polynomials of degree 2n - 1; a = 1 for one point."""
    if integer("points", points, minimum=1, maximum=1000) == 1:
        return np.ones(1), np.ones(1)
    places, weights = np.polynomial.legendre.leggauss(points)
    return (places + 1) / 2, weights / 2


def interaction_graph(
    network: Network, x: np.ndarray, basis: InteractionBasis, *, points: int = 1
) -> InteractionGraph:
    """Edges between all neighbouring layers.

    >>> from foretrain.degeneracy.interactions.interaction_basis import interaction_basis
    >>> from foretrain.degeneracy.network import perceptron
    >>> network, x = perceptron([np.diag([2.0, 1.0]), np.eye(2)], None, "identity"), np.eye(2)
    >>> basis = interaction_basis(network, x, few=True)
    >>> interaction_graph(network, x, basis).strengths[0].round(9)
    array([[2. , 0. ],
           [0. , 0.5]])

    Cost: per example and section about 2 k' k m operations, m the preactivations, whatever the points, where it is a linear
    map and then a named nonlinearity, and `points` Jacobians and 2 k' d' d of them elsewhere.
    """
    places = path_points(points)
    chain = folded.steps(network, basis.folded)
    sizes = folded.shapes(network, x, basis.folded)
    width = [d for _, d in sizes]
    own = [layer.forward.shape[1] for layer in basis.layers]
    if own != width:
        rule = f"be of a network with layers of {width} activations"
        raise argument_error("basis", rule, f"has layers of {own}")
    each = max(
        _bytes(step, pair, sizes, at)
        for at, (step, pair) in enumerate(zip(chain, _neighbours(basis), strict=True))
    )
    squared = [np.zeros((above.size, below.size)) for below, above in _neighbours(basis)]
    for block in folded.blocks(x, folded.block_size(each)):
        values = folded.layers(chain, block, basis.folded)
        for at, step in enumerate(chain):
            arguments = basis.layers[at : at + 2], folded.read(step, values[at]), places
            is_pointwise = isinstance(step, Pointwise)
            more = _pointwise(step, *arguments) if is_pointwise else _general(step, *arguments)
            squared[at] += more
    return InteractionGraph(
        tuple(part / (len(x) * t) for part, (t, _) in zip(squared, sizes, strict=False))
    )


def _neighbours(basis):
    return list(zip(basis.layers[:-1], basis.layers[1:], strict=True))


def _bytes(step: Step, pair, sizes, at):
    below, above = pair
    (positions, d), (later, d_above) = sizes[at : at + 2]
    kept = 2 * sum(t * width for t, width in sizes)
    if isinstance(step, Pointwise):
        return 8 * (positions * (6 * len(step.matrix) + 2 * below.size) + kept)
    if together(step):
        each = below.size * (2 * positions * d + 2 * later * d_above + 3 * later * above.size)
        return 8 * (each + kept)
    return 8 * (positions * (4 * d * d_above + 3 * above.size * below.size) + kept)


def _pointwise(step: Pointwise, pair, f, path):
    """Sums over a block of A², (k', k)."""
    below, above = pair
    coordinates = below.coordinates(f)
    shift = step.preactivations(below.mean)
    inner = step.matrix @ below.backward
    arriving = coordinates @ inner.T
    parts = [w * step.slope(shift + a * arriving) for a, w in zip(*path, strict=True)]
    slopes, outer = np.asarray(sum(parts)), above.forward
    if step.carries:  # the constant is one more unit, of slope one
        inner = np.concatenate([inner, below.backward[-1:]])
        slopes = np.concatenate([slopes, np.ones((len(slopes), 1))], 1)
    # A_ij(x) = f^_j(x) sum over units m of outer_im inner_mj slope_m(x): one product for many pairs (i, j).
    squares = np.zeros((above.size, below.size))
    for begin in range(0, len(slopes), _EXAMPLES):
        some = slice(begin, begin + _EXAMPLES)
        weight, slope = coordinates[some].T.copy() ** 2, slopes[some].T.copy()
        few = max(1, _PRODUCTS // max(1, weight.size))
        for first in range(0, above.size, few):
            part = slice(first, first + few)
            pairs = (outer[part, None, :] * inner.T).reshape(-1, len(slope))
            terms = pairs @ slope
            terms *= terms
            squares[part] += np.einsum("ijx,jx->ij", terms.reshape(-1, *weight.shape), weight)
    return squares


def _general(step: Step, pair, f, path):
    below, above = pair
    coordinates = below.coordinates(f)
    if together(step):  # each direction changes at all positions at once: (n, k, T, d)
        changes = coordinates.swapaxes(1, 2)[..., None] * below.backward.T[:, None]
        attributions = np.zeros(1)
        for a, w in zip(*path, strict=True):
            there = step.pushed(changes, below.activations(a * coordinates))
            attributions = attributions + w * (there @ above.forward.T)
        return (attributions**2).sum((0, 2)).T
    attributions = np.zeros((len(f), above.size, below.size))
    for a, w in zip(*path, strict=True):
        jacobian = step.jacobians(below.activations(a * coordinates))
        attributions += w * (above.forward @ jacobian @ below.backward)
    attributions *= coordinates[:, None, :]
    return (attributions**2).sum(0)
