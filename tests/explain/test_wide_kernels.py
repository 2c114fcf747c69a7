"""Kernels of wide networks in closed form, derived here, beside what the program measures at width 4,096.

Of f(x) = sum_j a_j phi(w_j x) / sqrt(m) with independent standard normal a and w, the kernel of the gradients is on average
over starts, at every width m, E[phi(z) phi(z')] + x x' E[phi'(z) phi'(z')], where (z, z') = (w x, w x') is normal with
covariances q = |x|^2, q' = |x'|^2 and c = x x'. Both averages are integrals over the plane that (z, z') spans.

- Rectified: both are positive in the sector of angle pi - t between the half planes, with cos t = c / sqrt(q q'). Its share of
  all angles gives E[phi' phi'] = (pi - t) / (2 pi). The length of a normal vector has mean square 2, so that E[phi phi] =
  sqrt(q q') / pi times the integral of cos(s) cos(s - t) over the sector, which is (sin t + (pi - t) cos t) / 2.
- Error function: phi' = 2 / sqrt(pi) exp(-z^2), and E exp(-z^2 - z'^2) = det(1 + 2 C)^(-1/2) for the covariance C, which gives
  E[phi' phi'] = 4 / pi / sqrt(D), D = (1 + 2 q)(1 + 2 q') - 4 c^2. By Price's theorem dE[phi phi] / dc = E[phi' phi'], and
  both vanish at c = 0: E[phi phi] = 2 / pi asin(2 c / sqrt((1 + 2 q)(1 + 2 q'))).

A second hidden layer sees normal inputs whose covariances are those averages, at infinite width; the kernel of both is
that of the first, times E[phi' phi'], and E[phi phi], both at the covariances of the layer.
"""

import jax
import numpy as np
import pytest

from foretrain.explain.kernel.kernel_recursion import Kernel
from foretrain.explain.own_network import described, start_of, starts

WIDTH, STARTS = 4096, 16
X = np.random.default_rng(0).standard_normal((5, 4)) / 2


def rectified(covariance):
    """E[phi phi] and E[phi' phi'] of rectified units."""
    size = np.sqrt(np.outer(np.diag(covariance), np.diag(covariance)))
    angle = np.arccos(np.clip(covariance / size, -1, 1))
    both = (np.pi - angle) / (2 * np.pi)
    return size * (np.sin(angle) / (2 * np.pi) + both * np.cos(angle)), both


def error_function(covariance):
    """The same of units erf(z)."""
    sizes = 1 + 2 * np.diag(covariance)
    whole = np.outer(sizes, sizes)
    product = 2 / np.pi * np.arcsin(2 * covariance / np.sqrt(whole))
    return product, 4 / np.pi / np.sqrt(whole - 4 * covariance**2)


UNITS = {"relu": (jax.nn.relu, rectified), "erf": (jax.scipy.special.erf, error_function)}


def kernel(averages, hidden):
    covariance = result = X @ X.T
    for _ in range(hidden):
        covariance, slopes = averages(covariance)
        result = covariance + result * slopes
    return result


def measured(units, hidden):
    """Kernels of some starts, shape (start, example, example)."""

    def init(key):
        keys = jax.random.split(key, hidden + 1)
        sizes = [X.shape[1], *[WIDTH] * hidden, 1]
        return [jax.random.normal(item, sizes[at : at + 2]) for at, item in enumerate(keys)]

    def apply(w, x):
        result = units(x @ w[0])
        for layer in w[1:-1]:
            result = units(result @ layer / WIDTH**0.5)
        return result @ w[-1] / WIDTH**0.5

    training = described(apply, init, X, np.zeros((len(X), 1)), learning_rate=1.0, steps=1)
    number = 1 if hidden > 1 else STARTS
    drawn = starts(training, number)
    return np.array([Kernel(training, start_of(drawn, k)).values for k in range(number)])


@pytest.mark.parametrize("name", UNITS)
def test_the_kernel_of_a_wide_network_is_its_closed_form_within_the_error_of_the_mean(x64, name):
    """Four and a half standard errors of 15 degrees of freedom: once in two hundred draws of fifteen entries."""
    units, averages = UNITS[name]
    outcome = measured(units, 1)
    error = outcome.std(0, ddof=1) / STARTS**0.5
    message = kernel(averages, 1)
    assert (np.abs(outcome.mean(0) - message) < 4.5 * error).all()
    # The error is small enough to tell the kernel from that of the last layer alone.
    assert (np.abs(outcome.mean(0) - averages(X @ X.T)[0]) > 4.5 * error).any()
    assert (error / np.abs(np.diag(message)).max() < 2 / (STARTS * WIDTH) ** 0.5).all()


@pytest.mark.slow
@pytest.mark.parametrize("name", UNITS)
def test_the_kernel_of_a_second_layer_follows(x64, name):
    """One start: an entry scatters by a few over the root of the width, of the largest one."""
    units, averages = UNITS[name]
    message = kernel(averages, 2)
    assert np.abs(measured(units, 2)[0] - message).max() < 5 * message.max() / WIDTH**0.5
