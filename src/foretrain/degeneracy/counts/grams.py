"""Gram matrices of activations and of Jacobians, streamed over data; the whole Jacobian of small networks.

Of layer l: ``G^l = (1/n) sum f f^T`` of its activations; of section l, with J = df^L/dp^{l+1},
``K^{l+1} = (1/n) sum J^T J``; of layer l again ``M^l = (1/n) sum (df^L/df^l)^T (df^L/df^l)``, which is W^T K W where the
section is linear first. A null direction of G^l leaves d^{l+1} weights of section l free, one of K^{l+1} leaves d^l null
directions of the Hessian (not all of them free beyond second order). The Hessian of the behavioural loss with no 1/2 is
``H = (2/n) sum J_theta^T J_theta``; half its rank bounds the learning coefficient from below.

With positions all of these are means over positions, too, and the outputs in f^L are those at all positions: M^l is of all of
them by the activation at one position. A null direction is so at every position.
"""

from dataclasses import dataclass

import numpy as np

from foretrain.degeneracy.counts.jacobian_rows import jacobian_rows
from foretrain.degeneracy.derivatives import Pass, batches, passed
from foretrain.degeneracy.network import Network
from foretrain.errors import real
from foretrain.lazy import jax

THRESHOLD = 1e-14  # of eigenvalues against the largest: of singular values its root, 1e-7


@dataclass(frozen=True)
class Grams:
    """Of a network with L sections over n examples, float64.

    `means` are the mean activations of layers 0 to L, (d_l,); `activations` G^0 to G^L, (d_l, d_l), not centred; `jacobians`
    K^1 to K^L, (d_{l+1}, d_{l+1}), None for a section that names no weight; `sensitivities` M^0 to M^L, (d_l, d_l), the last
    the identity.
    """

    examples: int
    means: tuple[np.ndarray, ...]
    activations: tuple[np.ndarray, ...]
    jacobians: tuple[np.ndarray | None, ...]
    sensitivities: tuple[np.ndarray, ...]

    def augmented(self, layer: int) -> np.ndarray:
        """G of (f, 1), (d_l + 1, d_l + 1): what a section with a bias reads."""
        mean = self.means[layer][:, None]
        return np.block([[self.activations[layer], mean], [mean.T, np.ones((1, 1))]])


def grams(network: Network, x: np.ndarray) -> Grams:
    """All Gram matrices in one pass over the data.

    Cost: one Jacobian of the outputs by the activations for each example, outputs x parameters multiplications.
    """
    total, count, positions = None, 0, []
    for part in batches(network, x):
        derivatives = passed(network, part)
        here, positions = _sums(derivatives), [len(f) // len(part) for f in derivatives.activations]
        total = here if total is None else jax.tree.map(np.add, total, here)
        count += len(part)
    means, inner, outer, through = (
        tuple(None if a is None else a / (count * t) for a, t in zip(kind, positions, strict=False))
        for kind in total or ()
    )
    return Grams(count, means, inner, outer, through)  # pyright: ignore[reportArgumentType]


def _sums(derivatives: Pass):
    return [
        [f.sum(0) for f in derivatives.activations],
        [f.T @ f for f in derivatives.activations],
        [None if j is None else _square(j) for j in derivatives.by_preactivations],
        [_square(j) for j in derivatives.by_activations],
    ]


def _square(j):
    flat = j.reshape(-1, j.shape[-1])
    return flat.T @ flat


def rank(gram: np.ndarray, threshold: float = THRESHOLD, scale: float | None = None) -> int:
    """Eigenvalues of a Gram matrix above `threshold` times the largest and of at least `scale`, a loss; 0 of a zero matrix."""
    return range_basis(gram, threshold, scale).shape[1]


def range_basis(
    gram: np.ndarray, threshold: float = THRESHOLD, scale: float | None = None
) -> np.ndarray:
    """Orthonormal columns spanning what `rank` counts, (d, rank)."""
    values, vectors = np.linalg.eigh(gram)
    least = real("threshold", threshold, minimum=0) * values[-1]
    kept = (values > least) & (values > 0)
    return vectors[:, kept & (values >= scale) if scale is not None else kept]


def jacobian(network: Network, x: np.ndarray) -> np.ndarray:
    """Every output by every parameter, in `jax.flatten_util.ravel_pytree`'s order: (example x output, parameter), float64."""
    rows = jacobian_rows(network, x)
    return np.concatenate([rows.of(*span) for span in rows.spans()])
