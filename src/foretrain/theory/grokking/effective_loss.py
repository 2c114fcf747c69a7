"""Effective loss of representation learning: a quadratic energy of embeddings, and the time until they are linear.

l_eff = l_0 / Z_0, with l_0 the sum over the parallelograms P0(D) of a training set of |E_i + E_j - E_m - E_n|^2 and Z_0 the
sum over symbols of |E_k|^2. At fixed Z_0 the flow is linear, dR/dt = -H R with H = 2 A^T A / Z_0, whose smallest eigenvalue
that does not vanish for all samples (the third, for addition) is the grokking rate. With Z_0 free the flow has a closed
form too. See docs/theory/grokking.md. Time is continuous: step k of descent with rate eta is t = eta k. All in float64.
"""

import numpy as np

from foretrain.errors import argument_error, finite_array, real
from foretrain.tasks.groups import Operation
from foretrain.theory.grokking import parallelograms
from foretrain.theory.integration import checked_times


def effective_loss(embedding, operation: Operation, training):
    """l_0 / Z_0 of embeddings (..., symbol, dimension) as they are, shape (...,): neither centred nor scaled."""
    loss, size = _parts(parallelograms.gram(operation, training), embedding)
    return loss / size


def hessian(operation: Operation, training, squared_norm=None):
    """H = 2 A^T A / Z_0 at fixed Z_0, shape (..., symbol, symbol).

    Args:
        squared_norm: Z_0. None: p - 1, that of one dimension with unbiased variance 1; d such dimensions have d (p - 1).
    """
    size = operation.symbols - 1 if squared_norm is None else squared_norm
    return 2 * parallelograms.gram(operation, training) / real("squared_norm", size, above=0)


def grokking_rate(operation: Operation, training, squared_norm=None):
    """lambda_3, shape (...,): the slowest rate of the Hessian that all samples would make positive; exactly 0 where it is not.

    For addition the third smallest eigenvalue, for a group (whose embeddings then coincide) the second. nan where no sample
    ever acts, as for two numbers, so that there is no such rate. Arguments as in `hessian`.

    Example:
        >>> from foretrain.tasks.groups import addition
        >>> operation = addition(10)
        >>> rate = grokking_rate(operation, np.ones(len(operation.samples), bool))
        >>> round(float(rate), 3), round(float(grokking_time(rate, learning_rate=0.1)), 1)
        (6.667, 1.5)
    """
    training = parallelograms.checked_training(operation, training)
    values = np.linalg.eigvalsh(hessian(operation, training, squared_norm))
    least = parallelograms.least_degrees_of_freedom(operation)
    if least == operation.symbols:
        return np.full(training.shape[:-1], np.nan)
    unique = parallelograms.degrees_of_freedom(operation, training) == least
    return np.where(unique, values[..., least], 0.0)


def grokking_time(grokking_rate, learning_rate: float = 1.0):
    """1 / lambda_3 in continuous time, or 1 / (lambda_3 eta) in steps of descent with learning rate eta; inf at rate 0."""
    grokking_rate = np.asarray(grokking_rate, float)
    if (grokking_rate < 0).any():
        raise argument_error("grokking_rate", "not be negative", f"is {grokking_rate.min():g}")
    with np.errstate(divide="ignore"):
        return 1 / (grokking_rate * real("learning_rate", learning_rate, above=0))


def linear_flow(start, times, operation: Operation, training):
    """exp(-H t) R_0 with Z_0 fixed at that of the start, (..., time, symbol, dimension); arguments as in `exact_flow`."""
    return _decayed(operation, training, start, times)[0]


def exact_flow(start, times, operation: Operation, training):
    """Gradient flow of l_0 / Z_0, Z_0 moving: exp(-H t) R_0, rescaled to the Z_0 of the start, which is conserved.

    The sum C of all embeddings obeys dC/dt = (2 l_0 / Z_0^2) C: it is conserved only where it is zero, or at a minimum.

    `start` R_0 is (..., symbol, dimension), not all zero; `times` (time,) not negative; the result (..., time, symbol,
    dimension).
    """
    path, size = _decayed(operation, training, start, times)
    return path * np.sqrt(size[..., None, None, None] / (path**2).sum((-2, -1), keepdims=True))


def _parts(matrix, embedding, name="embedding"):
    """l_0 and Z_0."""
    embedding = finite_array(name, embedding)
    if embedding.ndim < 2 or embedding.shape[-2] != matrix.shape[-1]:
        rule = f"have shape (..., {matrix.shape[-1]} symbols, dimensions)"
        raise argument_error(name, rule, f"has shape {embedding.shape}")
    size = (embedding**2).sum((-2, -1))
    if not (size > 0).all():
        raise argument_error(name, "not be zero everywhere", "one is")
    return (embedding * (matrix @ embedding)).sum((-2, -1)), size


def _decayed(operation, training, start, times):
    matrix = parallelograms.gram(operation, training)
    start, times = finite_array("start", start), checked_times(times, ordered=False)
    size = _parts(matrix, start, "start")[1]
    values, vectors = np.linalg.eigh(matrix)
    values = np.maximum(values, 0)
    part = vectors.swapaxes(-1, -2) @ start
    rate = 2 * values / size[..., None]
    decay = np.exp(-rate[..., None, :] * times[:, None])
    return vectors[..., None, :, :] @ (decay[..., None] * part[..., None, :, :]), size
