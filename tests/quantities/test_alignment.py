import jax
import jax.numpy as jnp
import numpy as np
import pytest

from foretrain.quantities.alignment import alignment


def draw(seed, *shape):
    return np.random.default_rng(seed).standard_normal(shape)


def test_alignment_is_the_product_of_cosines():
    x, y, a, b = draw(1, 6, 3), draw(2, 5, 3), draw(3, 6, 2), draw(4, 5, 2)
    found = alignment(x, y, a, b)
    assert found.shape == (2, 3)
    for i in range(2):
        for j in range(3):
            left = x[:, j] @ a[:, i] / np.linalg.norm(x[:, j]) / np.linalg.norm(a[:, i])
            right = y[:, j] @ b[:, i] / np.linalg.norm(y[:, j]) / np.linalg.norm(b[:, i])
            assert found[i, j] == pytest.approx(left * right, rel=1e-13)


def test_a_component_on_its_target_has_alignment_one_whatever_its_scale_and_common_sign():
    a, b = draw(5, 6, 2), draw(6, 5, 2)
    found = alignment(-3 * a, -0.1 * b, a, b)
    np.testing.assert_allclose(np.diag(found), 1.0, rtol=1e-14)
    np.testing.assert_allclose(np.diag(alignment(-a, b, a, b)), -1.0, rtol=1e-14)


def test_rotating_target_and_learner_together_changes_nothing():
    x, y, a, b = draw(8, 6, 3), draw(9, 5, 3), draw(10, 6, 2), draw(11, 5, 2)
    p, q = np.linalg.qr(draw(12, 6, 6))[0], np.linalg.qr(draw(13, 5, 5))[0]
    rotated = alignment(p @ x, q @ y, p @ a, q @ b)
    np.testing.assert_allclose(rotated, alignment(x, y, a, b), atol=1e-14)


def test_jax_and_numpy_agree_and_each_stays_itself():
    x, y, a, b = (draw(s, 6, 3).astype(np.float32) for s in range(14, 18))
    plain = alignment(x, y, a, b)
    traced = jax.jit(alignment)(*map(jnp.asarray, (x, y, a, b)))
    assert isinstance(plain, np.ndarray)
    assert isinstance(traced, jax.Array)
    assert plain.dtype == traced.dtype == np.float32
    np.testing.assert_allclose(plain, traced, atol=1e-6)  # float32
