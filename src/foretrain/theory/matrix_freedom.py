"""The freedom of matrices that obey the products of a training set: the non-abelian count, to first order.

Near a true representation rho, the products E_i E_j = E_m E_n of P0(D) are linear equations in the displacements of all
entries. All samples leave d^2 directions, those of E_a = G rho_a G^-1 Z with Z that commutes with rho. Where a training set
leaves no more, its solutions near rho are these alone. See docs/theory/grokking.md. All in float64.
"""

import numpy as np

from foretrain.errors import argument_error, finite_array
from foretrain.tasks.groups import Operation
from foretrain.theory.parallelograms import checked_training, parallelograms

_ZERO = 1e-10  # of the sum of squares of all slopes, whose differences the energy is made of
_STILL = (
    1e-6  # of the largest slope: what differs by less along a random free direction is the same
)


def product_slopes(operation: Operation, matrices) -> np.ndarray:
    """Derivative of the product E_a E_b of each sample by the entries of all E, shape (sample, d d, symbol d d).

    At p = 24 and d = 4 (576 samples) it takes 28 MB.

    Args:
        operation: What is learned, with ordered pairs.
        matrices: rho, (symbol, d, d), in which all parallelograms hold.

    Raises:
        ArgumentError: the matrices have another shape, or are no representation.
    """
    rho = finite_array("matrices", matrices, ndim=3)
    p, d = operation.symbols, rho.shape[-1]
    if rho.shape != (p, d, d):
        raise argument_error("matrices", f"be {p} square matrices", f"has shape {rho.shape}")
    left, right = operation.samples.T
    products = rho[left] @ rho[right]
    first, second = parallelograms(operation)[1].T
    if not np.allclose(products[first], products[second], rtol=0, atol=1e-9):
        raise argument_error("matrices", "represent the operation", "equal samples differ")
    sample, identity = np.arange(len(left)), np.eye(d)
    slopes = np.zeros(
        (len(left), p, d, d, d, d)
    )  # (sample, symbol, row, column, by row, by column)
    slopes[sample, left] += np.einsum("ac,keb->kabce", identity, rho[right])
    slopes[sample, right] += np.einsum("kac,eb->kabce", rho[left], identity)
    return np.moveaxis(slopes, 1, 3).reshape(len(left), d * d, p * d * d)


def matrix_freedom(operation: Operation, training, matrices) -> tuple[np.ndarray, np.ndarray]:
    """Count the directions that a training set leaves free near a representation, and find what holds along all of them.

    Args:
        operation: What is learned, with ordered pairs.
        training: bool (..., sample).
        matrices: A true representation, (symbol, d, d).

    Returns:
        Degrees of freedom, int (...,), at least d^2; and bool (..., parallelogram), to first order.

    Cost:
        An eigendecomposition of (p d d) x (p d d) per training set.
    """
    training = checked_training(operation, training)
    slopes = product_slopes(operation, matrices)
    first, second = parallelograms(operation)[1].T
    random = np.random.default_rng(0).standard_normal((slopes.shape[-1], 4))
    least, still = _ZERO * np.square(slopes).sum(), _STILL * np.abs(slopes).max()
    counts, holds = [], []
    for known in training.reshape(-1, training.shape[-1]):
        values, vectors = np.linalg.eigh(_energy(slopes, known, operation.labels))
        free = vectors[:, values <= least]
        moved = slopes @ (free @ (free.T @ random))
        counts.append(free.shape[1])
        holds.append((np.abs(moved[first] - moved[second]) < still).all((1, 2)))
    shape = training.shape[:-1]
    return np.array(counts).reshape(shape), np.array(holds).reshape(*shape, -1)


def _energy(slopes, known, labels):
    """Second derivative of half the sum over P0(D) of |E_i E_j - E_m E_n|^2, label by label as in `gram`."""
    size = slopes.shape[-1]
    total = np.zeros((size, size))
    for label in np.unique(labels[known]):
        members = slopes[known & (labels == label)]
        rows, sums = members.reshape(-1, size), members.sum(0)
        total += len(members) * rows.T @ rows - sums.T @ sums
    return total
