"""Singular values of small matrices by the method for a GPU, on a CPU, against LAPACK in double precision."""

import jax
import numpy as np
import pytest

from foretrain.networks.singular_values import by_jacobi

EPS = np.finfo(np.float32).eps


def graded(shape, smallest, count=16):
    """Matrices whose singular values fall from 1 to `smallest`, float32."""
    normal = np.random.default_rng(0).normal(size=(count, *shape))
    left, values, right = np.linalg.svd(normal, full_matrices=False)
    return ((left * np.geomspace(1, smallest, values.shape[-1])) @ right).astype(np.float32)


@pytest.mark.parametrize("shape", [(64, 4), (4, 64), (16, 16), (33, 7), (5, 1)])
@pytest.mark.parametrize("smallest", [1.0, 1e-4])
@pytest.mark.parametrize("scale", [1.0, 1e-12, 1e12])
def test_the_error_of_every_value_is_a_few_roundings_of_the_largest(shape, smallest, scale):
    matrices = np.float32(scale) * graded(shape, smallest)
    exact = np.linalg.svd(matrices.astype(float), compute_uv=False)
    ours = np.asarray(jax.jit(by_jacobi)(matrices))
    assert ours.shape == exact.shape
    assert (np.abs(ours - exact) <= 2 * max(shape) * EPS * exact[:, :1]).all()


def test_a_value_that_a_gram_matrix_would_lose_has_three_digits():
    matrices = graded((64, 4), 1e-4)
    exact = np.linalg.svd(matrices.astype(float), compute_uv=False)[:, -1]
    gram = np.linalg.eigvalsh(matrices.mT @ matrices)[:, 0]
    assert np.abs(np.sqrt(np.abs(gram)) / exact - 1).max() > 0.1
    np.testing.assert_allclose(by_jacobi(jax.numpy.asarray(matrices))[:, -1], exact, rtol=1e-3)


def test_zero_matrices_and_those_of_lower_rank_have_zeros_and_nan_stays_nan():
    matrices = graded((16, 16), 1.0)
    matrices[0], matrices[1] = 0, matrices[1, :, :1] @ matrices[1, :1]
    matrices[2, 0, 0] = np.nan
    values = np.asarray(by_jacobi(jax.numpy.asarray(matrices)))
    assert (values[0] == 0).all()
    assert (values[1, 1:] <= 32 * EPS * values[1, 0]).all()
    assert np.isnan(values[2]).any()
    assert np.isfinite(values[3:]).all()
