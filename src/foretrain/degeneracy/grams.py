"""Gram matrices of activations and of Jacobians, streamed over data; the exact Jacobian and the Hessian of small networks.

Of layer l: ``G^l = (1/n) sum f f^T`` of its activations; of section l, with J = df^L/dp^{l+1},
``K^{l+1} = (1/n) sum J^T J``; of layer l again ``M^l = (1/n) sum (df^L/df^l)^T (df^L/df^l)``, which is W^T K W where the
section is linear first. A null direction of G^l leaves d^{l+1} weights of section l free, one of K^{l+1} leaves d^l null
directions of the Hessian (not all of them free beyond second order). The Hessian of the behavioural loss with no 1/2 is
``H = (2/n) sum J_theta^T J_theta``; half its rank bounds the learning coefficient from below.
"""

from dataclasses import dataclass

import numpy as np

from foretrain.degeneracy.derivatives import Pass, batches, evaluated, passed
from foretrain.degeneracy.network import Network, is_perceptron, size
from foretrain.errors import ForetrainError, argument_error, real

THRESHOLD = 1e-14  # of eigenvalues against the largest: of singular values its root, 1e-7
_LARGEST = 2**30  # bytes of the largest Jacobian or Hessian that is formed


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


def grams(network: Network, x: np.ndarray, batch: int | None = None) -> Grams:
    """All Gram matrices in one pass over the data.

    `batch` is examples at a time; None takes as many as 256 MiB hold. Cost: one Jacobian of the outputs by the activations
    for each example, outputs x parameters multiplications.
    """
    total, count = None, 0
    for part in batches(network, x, batch):
        here = _sums(passed(network, part))
        total = here if total is None else [_added(a, b) for a, b in zip(total, here, strict=True)]
        count += len(part)
    means, inner, outer, through = (
        tuple(None if one is None else one / count for one in kind) for kind in total or ()
    )
    return Grams(count, means, inner, outer, through)  # pyright: ignore[reportArgumentType]


def _sums(one: Pass):
    return [
        [f.sum(0) for f in one.activations],
        [f.T @ f for f in one.activations],
        [None if j is None else _square(j) for j in one.by_preactivations],
        [_square(j) for j in one.by_activations],
    ]


def _square(j):
    flat = j.reshape(-1, j.shape[-1])
    return flat.T @ flat


def _added(first, second):
    return [None if a is None else a + b for a, b in zip(first, second, strict=True)]


def rank(gram: np.ndarray, threshold: float = THRESHOLD, scale: float | None = None) -> int:
    """Eigenvalues of a Gram matrix above `threshold` times the largest and, where given, of at least `scale`.

    Zero matrices have rank 0. `scale` is the loss epsilon below which a direction counts as none.
    """
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
    """Every output by every parameter, (example x output, parameter), float64, for small networks.

    In the order of `foretrain.degeneracy.network.restricted`; more than 1 GiB raises `ForetrainError`.
    """
    rows, by_parameters = [], _by_parameters(network)
    for part in batches(network, x):
        outputs = evaluated(network, part[:1])[0][-1].shape[1]
        _room("the Jacobian", len(x) * outputs * size(network))
        rows.append(by_parameters(part))
    return np.concatenate(rows)


def _room(what, numbers):
    if 8 * numbers > _LARGEST:
        raise ForetrainError(
            f"{what.capitalize()} would take {8 * numbers / 2**30:.1f} GiB, more than 1: use the Gram matrices instead."
        )


def _by_parameters(network):
    """Of a batch: the Jacobian by all parameters, (example x output, parameter)."""
    if is_perceptron(network):
        return lambda x: _by_hand(network, passed(network, x))
    import jax

    from foretrain.degeneracy.network import forward, restricted

    start, rebuilt = restricted(network)
    found = jax.jit(jax.jacrev(lambda v, x: forward(network, x, rebuilt(v))))

    def by_jax(x):
        with jax.enable_x64(True):
            return np.asarray(found(start.astype(np.float64), x)).reshape(-1, start.size)

    return by_jax


def _by_hand(network, one):
    columns = []
    for section, f, j in zip(
        network.sections, one.activations[:-1], one.by_preactivations, strict=True
    ):
        leaves = {section.weight: (j[..., None] * f[:, None, None]).reshape(*j.shape[:2], -1)}
        if section.bias is not None:
            leaves[section.bias] = j
        columns += [leaves[name] for name in sorted(leaves)]
    whole = np.concatenate(columns, -1)
    return whole.reshape(-1, whole.shape[-1])


def jacobian_rank(network: Network, x: np.ndarray) -> int:
    """Rank of the Jacobian by all parameters on this data: parameters less the first-order free directions.

    Parameters are some thousand at most, below 1 GiB squared, else `ForetrainError`; examples times outputs must not be
    fewer, else `ArgumentError`.
    """
    return len(singular_values(network, x))


def singular_values(network: Network, x: np.ndarray, threshold: float = 1e-8) -> np.ndarray:
    """Those of the Jacobian above `threshold` times the largest, descending; arguments and errors as of `jacobian_rank`.

    A triangle is carried along from batch to batch, so that memory is parameters squared and nothing is squared before
    its rank is read.
    """
    number = size(network)
    _room("the triangle of the Jacobian", number**2)
    triangle = np.zeros((0, number))
    outputs, by_parameters = 0, _by_parameters(network)
    small = max(1, 2**22 // number)
    for part in batches(network, x, small):
        rows = by_parameters(part)
        outputs = len(rows) // len(part)
        triangle = np.linalg.qr(np.concatenate([triangle, rows]), mode="r")
    if len(x) * outputs < number:
        need = -(-number // outputs)
        rule = f"hold at least {need} examples, for {number} parameters and {outputs} outputs"
        raise argument_error("x", rule, f"holds {len(x)}, which bound the rank")
    values = np.linalg.svd(triangle, compute_uv=False)
    return values[values > threshold * values[0]]
