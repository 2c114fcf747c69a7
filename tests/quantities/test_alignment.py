import jax
import jax.numpy as jnp
import numpy as np
import pytest

from foretrain.quantities.alignment import alignment


def draw(seed, *shape):
    return np.random.default_rng(seed).standard_normal(shape)


def test_alignment_is_the_product_of_cosines():
    x, y, a, b = draw(1, 6, 3), draw(2, 5, 3), draw(3, 6, 2), draw(4, 5, 2)
    result = alignment(x, y, a, b)
    assert result.shape == (2, 3)
    for i in range(2):
        for j in range(3):
            left = x[:, j] @ a[:, i] / np.linalg.norm(x[:, j]) / np.linalg.norm(a[:, i])
            right = y[:, j] @ b[:, i] / np.linalg.norm(y[:, j]) / np.linalg.norm(b[:, i])
            assert result[i, j] == pytest.approx(left * right, rel=1e-13)


def test_jax_and_numpy_agree_and_each_stays_itself():
    x, y, a, b = (draw(s, 6, 3).astype(np.float32) for s in range(14, 18))
    plain = alignment(x, y, a, b)
    traced = jax.jit(alignment)(*map(jnp.asarray, (x, y, a, b)))
    assert isinstance(plain, np.ndarray)
    assert isinstance(traced, jax.Array)
    assert plain.dtype == traced.dtype == np.float32
    np.testing.assert_allclose(plain, traced, atol=1e-6)  # float32
