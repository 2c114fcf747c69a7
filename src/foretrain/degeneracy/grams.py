"""Gram matrices of activations and of Jacobians, streamed over data; the exact Jacobian and the Hessian of small networks.

Of layer l: ``G^l = (1/n) sum f f^T`` of its activations; of section l, with J = df^L/dp^{l+1},
``K^{l+1} = (1/n) sum J^T J``; of layer l again ``M^l = (1/n) sum (df^L/df^l)^T (df^L/df^l)``, which is W^T K W where the
section is linear first. A null direction of G^l leaves d^{l+1} weights of section l free, one of K^{l+1} leaves d^l null
directions of the Hessian (not all of them free beyond second order). The Hessian of the behavioural loss with no 1/2 is
``H = (2/n) sum J_theta^T J_theta``; half its rank bounds the learning coefficient from below.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from foretrain.degeneracy.curvature import lanczos
from foretrain.degeneracy.derivatives import Pass, batches, evaluated, passed
from foretrain.degeneracy.network import Network, is_perceptron, size
from foretrain.degeneracy.nonlinearities import nonlinearity
from foretrain.errors import ForetrainError, argument_error, one_of, real

THRESHOLD = 1e-14  # of eigenvalues against the largest: of singular values its root, 1e-7
_LARGEST = 2**30  # bytes of the largest Jacobian or Hessian that is formed


@dataclass(frozen=True)
class Grams:
    """Of a network with L sections over n examples, float64.

    Args:
        examples: n.
        means: Mean activations of layers 0 to L, (d_l,).
        activations: G^0 to G^L, (d_l, d_l), not centred.
        jacobians: K^1 to K^L, (d_{l+1}, d_{l+1}); None for a section that names no weight.
        sensitivities: M^0 to M^L, (d_l, d_l); the last is the identity.
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

    Args:
        network: Of any sections.
        x: (example, d_0).
        batch: Examples at a time; None takes as many as 256 MiB hold. The results do not depend on it but for rounding.

    Cost is one Jacobian of the outputs by the activations for each example: outputs x parameters multiplications.
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

    Args:
        gram: (d, d), symmetric, positive semidefinite.
        threshold: Relative, of eigenvalues. Zero matrices have rank 0.
        scale: Loss epsilon below which a direction counts as none: root-mean-square values below its root.
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

    Parameters are in the order of `foretrain.degeneracy.network.restricted`.

    Raises:
        ForetrainError: It would take more than 1 GiB.
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


def jacobian_rank(network: Network, x: np.ndarray, threshold: float = 1e-8) -> int:
    """Rank of the Jacobian by all parameters on this data: parameters less the first-order free directions.

    Args:
        network: Of some thousand parameters at most.
        x: (example, d_0).
        threshold: Of singular values against the largest.

    Raises:
        ArgumentError: Examples times outputs are fewer than parameters, so that they bound the rank, not the network.
        ForetrainError: The triangle, parameters squared, would take more than 1 GiB.
    """
    return len(singular_values(network, x, threshold))


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


def hessian(network: Network, x: np.ndarray) -> np.ndarray:
    """``(2/n) sum J^T J``, (parameter, parameter), of the behavioural loss (squares), for small networks.

    Raises:
        ForetrainError: It would take more than 1 GiB.
    """
    number = size(network)
    _room("the Hessian", number**2)
    total, by_parameters = np.zeros((number, number)), _by_parameters(network)
    for part in batches(network, x, max(1, 2**22 // number)):
        rows = by_parameters(part)
        total += rows.T @ rows
    return 2 * total / len(x)


@dataclass(frozen=True)
class KroneckerError:
    """How far the Kronecker form ``delta_ll' 2 K^{l+1} (x) G^l`` is from the Hessian, in Frobenius norm.

    Args:
        within: For each section, of its own block, against that block's norm.
        between: Norm of all that lies between sections, against the Hessian's: dropped by the form.
        total: Norm of the whole difference against the Hessian's.
    """

    within: tuple[float, ...]
    between: float
    total: float


def kronecker_hessian(network: Network, found: Grams) -> list[np.ndarray]:
    """2 K^{l+1} (x) G^l for each section with a weight, in the order of `restricted`: bias first, weights row by row.

    It is the Hessian where activations and Jacobians are independent over the data and sections do not interact.
    """
    blocks = []
    for at, section in enumerate(network.sections):
        k = found.jacobians[at]
        if k is None:
            continue
        if section.bias is None:
            blocks.append(2 * np.kron(k, found.activations[at]))
            continue
        whole = 2 * np.kron(k, found.augmented(at))
        index = np.arange(len(whole)).reshape(len(k), -1)
        weights, bias = index[:, :-1].ravel(), index[:, -1]
        first_bias = section.bias < (section.weight or "")
        order = np.concatenate([bias, weights] if first_bias else [weights, bias])
        blocks.append(whole[np.ix_(order, order)])
    return blocks


def kronecker_error(network: Network, x: np.ndarray) -> KroneckerError:
    """The Kronecker form against the exact Hessian of a small network in which every section has a weight."""
    exact, blocks = hessian(network, x), kronecker_hessian(network, grams(network, x))
    if sum(map(len, blocks)) != len(exact):
        rule = "have nothing but weights and biases, named, in each section"
        raise argument_error("network", rule, f"has {len(exact)} parameters")
    norm = np.linalg.norm
    between, form, within, begin = exact.copy(), np.zeros_like(exact), [], 0
    for block in blocks:
        here = slice(begin, begin + len(block))
        begin += len(block)
        own = exact[here, here]
        within.append(float(norm(own - block) / norm(own)) if own.any() else 0.0)
        between[here, here] = 0
        form[here, here] = block
    whole = norm(exact)
    return KroneckerError(
        tuple(within), float(norm(between) / whole), float(norm(exact - form) / whole)
    )


def hessian_product(
    network: Network, x: np.ndarray, kind: str = "mse"
) -> Callable[[np.ndarray], np.ndarray]:
    """The Hessian of the behavioural loss at the network's own parameters times a vector, without forming it.

    Args:
        network: Of any sections.
        x: (example, d_0).
        kind: `mse`, ``(2/n) sum J^T J``, or `kl`, ``(1/n) sum J^T (diag s - s s^T) J`` with s the softmax of the outputs.

    Returns:
        Of (parameter,), in the order of `restricted`: (parameter,), float64. Each product costs about three passes.
    """
    one_of("kind", kind, ("mse", "kl"))
    products = _products_by_hand if is_perceptron(network) else _products_by_jax
    return products(network, x, kind)


def _metric(kind, outputs, moved):
    if kind == "mse":
        return 2 * moved
    odds = np.exp(outputs - outputs.max(-1, keepdims=True))
    odds /= odds.sum(-1, keepdims=True)
    return odds * (moved - (odds * moved).sum(-1, keepdims=True))


def _products_by_hand(network, x, kind):
    kept = []
    for part in batches(network, x):
        layers, before = evaluated(network, part)
        slopes = [
            nonlinearity(s.activation or "").slope(p, np)
            for s, p in zip(network.sections, before, strict=True)
        ]
        kept.append((layers, slopes))
    params = [{k: np.asarray(v, float) for k, v in p.items()} for p in network.params]
    spots, begin = [], 0
    for leaves in params:
        spots.append({})
        for name in sorted(leaves):
            spots[-1][name] = slice(begin, begin + leaves[name].size)
            begin += leaves[name].size

    def product(vector):
        out = np.zeros(begin)
        for layers, slopes in kept:
            moved = np.zeros_like(layers[0])
            for at, section in enumerate(network.sections):
                w = params[at][section.weight]
                shift = vector[spots[at][section.weight]].reshape(w.shape)
                moved = moved @ w.T + layers[at] @ shift.T
                if section.bias is not None:
                    moved = moved + vector[spots[at][section.bias]]
                moved = moved * slopes[at]
            back = _metric(kind, layers[-1], moved)
            for at in reversed(range(len(network.sections))):
                section = network.sections[at]
                back = back * slopes[at]
                out[spots[at][section.weight]] += (back.T @ layers[at]).ravel()
                if section.bias is not None:
                    out[spots[at][section.bias]] += back.sum(0)
                back = back @ params[at][section.weight]
        return out / len(x)

    return product


def _products_by_jax(network, x, kind):
    import jax

    from foretrain.degeneracy.network import forward, restricted

    with jax.enable_x64(True):
        start, rebuilt = restricted(network)
        start = start.astype(np.float64)

        @jax.jit
        def along(vector, part):
            return jax.jvp(lambda v: forward(network, part, rebuilt(v)), (start,), (vector,))

        @jax.jit
        def back(rows, part):
            return jax.vjp(lambda v: forward(network, part, rebuilt(v)), start)[1](rows)[0]

    def product(vector):
        out = np.zeros(start.size)
        with jax.enable_x64(True):
            for part in batches(network, x):
                outputs, moved = along(np.asarray(vector, float), part)
                out += back(_metric(kind, np.asarray(outputs), np.asarray(moved)), part)
        return out / len(x)

    return product


def largest_eigenvalue(network: Network, x: np.ndarray, kind: str = "mse") -> float:
    """The largest eigenvalue of the Hessian of the behavioural loss, by Lanczos's method, to 1e-6 of itself."""
    start = np.random.default_rng(0).normal(size=size(network))
    return lanczos(hessian_product(network, x, kind), start, 300, 1e-7)
