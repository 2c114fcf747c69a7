r"""Costs of unit steps in weight space, and the effective parameters that they make at any noise scale.

Around given parameters the behavioural loss of a step v is $v^T A v$ to second order, with $A = \frac1n J^T J$ for the
squared error and $\frac1{2n} J^T (\mathrm{diag}\, p - p p^T) J$ for the divergence of softmax outputs; the same matrices are
the Gauss-Newton parts of the squared error and of the cross-entropy with labels. Its eigenvalues c are the costs. At a noise
scale eps

$$ N(\epsilon) = \sum_i \frac{c_i}{c_i + \epsilon}, $$

which is 2 beta E[L] of the posterior with beta = 1/(2 eps) and a Gaussian prior of unit width, as long as the loss is
quadratic where the posterior lies. It is at most the smaller of parameters and examples times outputs. The divergence is the
squared error of the outputs $\sqrt{2 p}$, to second order, so that one Jacobian serves both.

Where the Jacobian fits all costs are computed (`foretrain.degeneracy.counts.jacobian_spectrum`); beyond, their distribution by
stochastic Lanczos quadrature (Ubaru, Chen & Saad 2017). Of each probe Gauss's rule bounds N from above and Radau's, with a
node at 0, from below (Golub & Meurant 2010), so that a scale too small for the number of products shows itself.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from scipy.linalg import eigh_tridiagonal, solve_banded

from foretrain.degeneracy.counts.jacobian_spectrum import Spectrum, jacobian_spectrum
from foretrain.degeneracy.function import Function
from foretrain.degeneracy.noise_scale import SCALES
from foretrain.degeneracy.sampled.posterior import flattened
from foretrain.errors import TooLarge, argument_error
from foretrain.lazy import flatten_util, jax, jnp
from foretrain.words import memory

ROOM = 2**29  # bytes that a block of examples may take
MOST = 2**32  # bytes of the vectors of the quadrature
EXACT = 30.0  # seconds of a core up to which all costs are computed
PROBES, STEPS, FEWEST = 8, 120, 3  # of the quadrature, at most; probes at least
# Relative errors that end probes and steps, looked at after so many steps.
ENOUGH, CLOSE, EVERY = 0.03, 0.02, 10
SINGLE = 2.0**-24  # of rounding in float32
APART = 0.05  # relative error above which the quadrature has not converged


@dataclass(frozen=True, eq=False)
class UnitCosts:
    """Costs of unit steps along the eigenvectors, or nodes that stand for their distribution.

    Args:
        costs: Nodes c, (probe, node); one probe where all are known, descending.
        weights: Directions that a node stands for, like `costs`; ones where all are known.
        below: The same pair by Radau's rule, which bounds N from below; None where all are known.
        parameters: d.
        answers: Examples times outputs; with d the largest number of costs that are not zero.
    """

    costs: np.ndarray
    weights: np.ndarray
    below: tuple[np.ndarray, np.ndarray] | None
    parameters: int
    answers: int

    def effective(self, eps: Any) -> tuple[Any, Any]:
        """N and its error at every noise scale, each shaped like `eps`; the error is 0 where all costs are known.

        The error is the standard error over probes and half of the distance between both bounds.
        """
        return self._summed(eps, _effective)

    def above(self, eps: Any) -> tuple[Any, Any]:
        """Number of costs above every noise scale, and its error, as of `effective`."""
        return self._summed(eps, lambda c, e: (c > e).astype(float))

    def converged(self, eps: float) -> bool:
        """True if N at this scale is known to a twentieth."""
        value, error = self.effective(eps)
        return bool(error <= APART * max(float(value), 1.0))

    def _summed(self, eps, of):
        each = self._by_probe(eps, of)
        value, error = each.mean((0, -1)), _scatter(each)
        if self.below is not None:
            error = error + abs(np.diff(each.mean(-1), axis=0)[0]) / 2
        return np.minimum(value, min(self.parameters, self.answers)), error

    def _by_probe(self, eps, of):
        """Bounds of each probe, (rule, ..., probe)."""
        eps = np.asarray(eps, float)[..., None, None]
        bounds = [(self.costs, self.weights)] + ([] if self.below is None else [self.below])
        return np.array([(weights * of(costs, eps)).sum(-1) for costs, weights in bounds])


def _effective(cost, eps):
    return cost / (cost + eps)


def _scatter(each):
    """Standard error over probes, of bounds (rule, ..., probe); 0 of one probe, which knows all."""
    many = each.shape[-1]
    mean = each.mean(0)
    return mean.std(-1, ddof=1) / many**0.5 if many > 1 else np.zeros(mean.shape[:-1])


def costs_of(
    function: Function, x: np.ndarray, loss: str, eps: float, seed: int = 0
) -> tuple[UnitCosts, Spectrum | None, list[str]]:
    """Costs of unit steps: all of them where the Jacobian fits, else their distribution; its singular values, or None; doubts.

    `function` and x are checked, and the smallest noise scale that matters is that of `SCALES` times `eps`.
    """
    network = function.network
    of: Any = (network, function.rows(x)) if network else (function.apply, x, function.params)
    try:
        jacobian = jacobian_spectrum(*of, loss=loss, seconds=EXACT)
    except TooLarge as error:
        options = {"loss": loss, "resolve": min(SCALES) * eps, "seed": seed}
        costs = quadrature(function.apply, function.params, x, **options)
        doubts = [f"Counts: estimates. {error}"]
        if not costs.converged(eps):
            value, error = costs.effective(eps)
            known = f"{value:,.0f} effective parameters are known to {error:,.0f} only"
            doubts.append(f"Curvature: {known}.")
        return costs, None, doubts
    kept, doubts = jacobian.values[: jacobian.rank], []
    lost = int((kept < SINGLE * kept.max(initial=0)).sum())
    if lost and all(leaf.dtype.itemsize == 4 for leaf in jax.tree.leaves(function.params)):
        below = f"{lost:,} of the singular values that count are below {SINGLE:.0e} of the largest"
        doubts.append(f"Storage: {below}, which weights kept in float32 do not tell from zero.")
    return of_jacobian(jacobian), jacobian, doubts


def of_jacobian(spectrum: Spectrum) -> UnitCosts:
    """All costs, from the singular values of the Jacobian."""
    costs = spectrum.costs[None]
    return UnitCosts(costs, np.ones_like(costs), None, spectrum.parameters, spectrum.answers)


def quadrature(
    apply: Callable[[Any, Any], Any],
    params: Any,
    x: Any,
    *,
    loss: str = "mse",
    resolve: float = 0.0,
    probes: int = PROBES,
    steps: int = STEPS,
    seed: int = 0,
) -> UnitCosts:
    """The distribution of the costs, by stochastic Lanczos quadrature in float64.

    >>> costs = quadrature(lambda w, x: x * w, np.ones(2), np.array([[1.0, 0.5]]))
    >>> float(costs.effective(1.0)[0].round(9))  # 1/(1 + 1) + .25/(.25 + 1)
    0.7

    Args:
        apply, params, x: As of a `foretrain.degeneracy.function.Function`, x being (example, ...).
        loss: "mse", or "kl" of outputs that are logits.
        resolve: Noise scale that matters: fewer steps are taken if both bounds agree there to a fiftieth, and fewer probes,
            three at least, once their mean is known there to a thirtieth; 0 takes all.
        probes, steps: At most.

    Raises:
        ArgumentError: The vectors of the quadrature would take more than 4 GiB.

    Cost: probes x steps products with J and its transpose, each some three gradients, and memory for `steps` vectors.
    """
    flat = np.asarray(flattened(params), np.float64)
    with jax.enable_x64(True):
        params = jax.tree.map(lambda leaf: jax.numpy.asarray(leaf, "float64"), params)
        x = jax.numpy.asarray(x)
        product = _compiled(apply, loss)
        outputs = jax.eval_shape(apply, params, x[:1]).shape[-1]
        d, answers = flat.size, len(x) * outputs
        if 8 * d * steps > MOST:
            rule = f"have at most {MOST // (8 * steps):,} numbers"
            got = f"have {d:,}, of which {steps} vectors take {memory(8 * d * steps)}"
            raise argument_error("params", rule, got, "Choose a part of them.")
        # What a product keeps for each example: its inputs and outputs, and of parameters a fraction.
        size = max(1, min(len(x), ROOM // (64 * (int(np.size(x[:1])) + outputs + 1024))))
        parts = [x[at : at + size] for at in range(0, len(x), size)]

        def along(v):
            return sum(np.asarray(product(params, v, part)) for part in parts) / len(x)

        signs = np.random.default_rng(seed).choice([-1.0, 1.0], (probes, d))
        measures = []
        while True:
            measures.append(_quadrature(along, signs[len(measures)], min(steps, d), resolve))
            above, below = zip(*measures, strict=True)
            costs = UnitCosts(*_stacked(above), _stacked(below), d, answers)
            if len(measures) == probes:
                return costs
            if resolve and len(measures) >= FEWEST:
                each = costs._by_probe(resolve, _effective)
                if _scatter(each) <= ENOUGH * max(each.mean(), 1.0):
                    return costs


def slope_shift(
    apply: Callable[[Any, Any], Any], params: Any, x: Any, y: Any, loss: str, eps: float
) -> float:
    r"""By how much the slope of a training loss at the weights moves 2 beta E[L - L*], where the loss is quadratic.

    With the slope g and the costs' matrix A the posterior is centred at $u = -(A + \epsilon)^{-1} g/2$, and the number moves
    by $(g \cdot u + u^T A u)/\epsilon$, which is not positive: it is 0 at a minimum alone.

    Args:
        apply, params, x, loss: As of `quadrature`.
        y: Targets, (example, output), or of "kl" classes, (example,).
        eps: Noise scale.

    Cost: up to 200 products with J and its transpose, by conjugate gradients.
    """
    from scipy.sparse.linalg import LinearOperator, cg

    with jax.enable_x64(True):
        params = jax.tree.map(lambda leaf: jax.numpy.asarray(leaf, "float64"), params)
        x = jax.numpy.asarray(x)
        outputs, back = jax.vjp(lambda w: apply(w, x), params)
        if loss == "mse":
            gap = 2 * (outputs - y)
        else:
            gap = jax.nn.softmax(outputs) - jax.nn.one_hot(y, outputs.shape[1])
        slope = np.asarray(flatten_util.ravel_pytree(back(gap / len(x))[0])[0])
        product = _compiled(apply, loss)
        costs = lambda v: np.asarray(product(params, v, x)) / len(x)  # noqa: E731
        shifted = lambda v: costs(v) + eps * v  # noqa: E731
        operator: Any = LinearOperator((len(slope),) * 2, matvec=shifted, dtype=np.float64)  # pyright: ignore[reportCallIssue]
        centre, _ = cg(operator, -slope / 2, rtol=1e-4, maxiter=200)
        return float((slope @ centre + centre @ costs(centre)) / eps)


@lru_cache(maxsize=64)
def _compiled(apply, loss):
    """Jitted product v -> J^T J v of some examples, rows of J as the loss weighs them."""

    def outputs(params, x):
        logits = apply(params, x)
        return logits if loss == "mse" else jnp.sqrt(2 * jax.nn.softmax(logits))

    @jax.jit
    def product(params, v, x):
        flat, unravel = flatten_util.ravel_pytree(params)
        at = lambda w: outputs(unravel(w), x)  # noqa: E731
        _, moved = jax.jvp(at, (flat,), (v,))
        return jax.vjp(at, flat)[1](moved)[0]

    return product


def _tridiagonal(
    product: Callable[[np.ndarray], Any], start: np.ndarray, most: int
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Lanczos's matrix of a symmetric map, product by product, kept orthogonal in full.

    Yields its diagonal and its second diagonal, the latter with one number more than the matrix holds; ends after `most`
    products, where the space is exhausted, or with inf where a product is not finite. Memory: `most` vectors.
    """
    basis, diagonal, between = np.empty((most, len(start))), np.empty(most), np.empty(most)
    vector = start / np.linalg.norm(start)
    for at in range(most):
        basis[at] = vector
        image = np.asarray(product(vector), float)
        if not np.isfinite(image).all():
            diagonal[at] = between[at] = np.inf
            yield diagonal[: at + 1], between[: at + 1]
            return
        diagonal[at] = vector @ image
        for _ in range(2):
            image = image - basis[: at + 1].T @ (basis[: at + 1] @ image)
        between[at] = np.linalg.norm(image)
        yield diagonal[: at + 1], between[: at + 1]
        if _exhausted(diagonal[: at + 1], between[: at + 1]):
            return
        vector = image / between[at]


def _exhausted(diagonal: np.ndarray, between: np.ndarray) -> bool:
    """True where nothing is left of the space of `_tridiagonal` but rounding."""
    return bool(between[-1] <= 1e-14 * abs(diagonal).max())


def _quadrature(product, start, most, resolve):
    """Nodes and weights of the spectral measure of a start by Gauss's rule, and by Radau's with a node at 0."""
    measures = []
    for diagonal, between in _tridiagonal(product, start, most):
        last = len(diagonal) == most or _exhausted(diagonal, between)
        if not (last or (resolve and len(diagonal) % EVERY == 0)):
            continue
        measures = _measures(diagonal, between, start @ start)
        if last:
            break
        upper, lower = ((w * _effective(c, resolve)).sum() for c, w in measures)
        if upper - lower <= CLOSE * upper:
            break
    return measures


def _measures(diagonal, between, size):
    """Both rules of a tridiagonal matrix; `between` has one number more than the matrix."""
    last = np.zeros(len(diagonal))
    last[-1] = between[-1] ** 2
    bands = np.stack([np.append(0, between[:-1]), diagonal, np.append(between[:-1], 0)])
    node = np.append(diagonal, solve_banded((1, 1), bands, last)[-1]) if last[-1] else diagonal
    measures = []
    for matrix in ((diagonal, between[:-1]), (node, between[: len(node) - 1])):
        nodes, vectors = eigh_tridiagonal(*matrix)
        measures.append((np.maximum(nodes, 0), size * vectors[0] ** 2))
    return measures


def _stacked(measures):
    """Nodes and weights of all probes, (probe, node), short ones filled with nodes of weight 0."""
    most = max(len(nodes) for nodes, _ in measures)
    pad = lambda values: np.pad(values, (0, most - len(values)))  # noqa: E731
    nodes, weights = (np.stack([*map(pad, kind)]) for kind in zip(*measures, strict=True))
    return nodes, weights
