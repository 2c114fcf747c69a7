"""First and second moments of activations, streamed over data, by triangular factors.

A Gram matrix G is known by R with G = R'R, which a QR decomposition updates block by block: nothing is squared, and small
directions of correlated activations are seen as far as double precision goes.
"""

from dataclasses import dataclass

import numpy as np

from foretrain.degeneracy.folded import block_size, blocks, layers, shapes, steps
from foretrain.degeneracy.network import Network
from foretrain.errors import argument_error

_ROWS = 1024  # that are decomposed at once, about what a cache holds


def factor(rows: np.ndarray, before: np.ndarray | None = None) -> np.ndarray:
    """Triangular R, (<= d, d), with R'R the sum of squares of rows (n, d) and of those of `before`; 2 n d² operations."""
    triangle = np.zeros((0, rows.shape[1])) if before is None else before
    for begin in range(0, len(rows), _ROWS):
        stacked = np.concatenate([triangle, rows[begin : begin + _ROWS]])
        triangle = np.asarray(np.linalg.qr(stacked, mode="r"))
    return triangle


@dataclass(frozen=True)
class Moments:
    """First and second moments of one layer's activations f̄, over examples and, where it has them, their positions.

    R'R = G, (any, d), about the mean where `centred`; `mean` (d,) was subtracted, zero where not centred; `examples` is the
    number of activations averaged over, that of positions times that of examples.
    """

    factor: np.ndarray
    mean: np.ndarray
    examples: int


def moments(network: Network, x: np.ndarray, *, centre: bool = False) -> list[Moments]:
    """Moments of every layer in one pass over the data.

    With `centre` moments are about the mean, and nothing is folded in; else biases are, and f̄ = (f, 1).

    Cost: 2 n d² operations a layer, memory of a block of examples and of L + 1 triangular matrices.
    """
    chain, sizes = steps(network, not centre), shapes(network, x, not centre)
    factors = [np.zeros((0, d + centre)) for _, d in sizes]
    for block in blocks(x, block_size(24 * sum(t * d for t, d in sizes))):
        for at, f in enumerate(layers(chain, block, not centre)):
            if not np.isfinite(f).all():
                raise argument_error("x", "give finite activations", "gives some that are not")
            f = f.reshape(-1, f.shape[-1])
            rows = np.concatenate([np.ones((len(f), 1)), f], 1) if centre else f
            factors[at] = factor(rows, factors[at])
    all_moments = []
    for triangle, (positions, d) in zip(factors, sizes, strict=True):
        count = len(x) * positions
        if centre:  # the first row holds the mean, what lies below is about it
            part, mean = triangle[1:, 1:], triangle[0, 1:] / triangle[0, 0]
            part = part if len(part) else np.zeros((1, d))
        else:
            part, mean = triangle, np.zeros(d)
        all_moments.append(Moments(part / np.sqrt(count), mean, count))
    return all_moments
