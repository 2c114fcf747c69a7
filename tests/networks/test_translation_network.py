import jax
import jax.numpy as jnp
import numpy as np
import pytest

from foretrain.networks import routing, translation
from foretrain.networks.translation import (
    maps,
    negative_gradient,
    orientations,
    pair_diagonal_errors,
    pair_errors,
    random_weights,
)
from foretrain.tasks.masks import nested

LANGUAGES, WORDS, WIDTH = 4, 3, 5


@pytest.fixture
def network(x64):
    trained = nested(LANGUAGES, 9, np.random.default_rng(3)).astype(float)
    weights = random_weights(jax.random.key(0), LANGUAGES, WORDS, WIDTH, 0.7, jnp.dtype("float64"))
    return weights, jnp.asarray(trained)


def block_loss(weights, trained, block_mask):
    """Eq. (1) with its shapes put right: the whole stacked product, masked block by block."""
    encoders, hidden, decoders = weights
    inward = jnp.concatenate(list(encoders), axis=1)  # H x LD
    outward = jnp.concatenate(list(decoders), axis=0)  # LD x H
    target = jnp.kron(jnp.ones((LANGUAGES, LANGUAGES)), jnp.eye(WORDS))
    mask = jnp.kron(trained.T, block_mask)
    return (((outward @ hidden @ inward - target) * mask) ** 2).sum() / (2 * WORDS * trained.sum())


@pytest.mark.parametrize(
    ("loss_mask", "block", "few"),
    [("full", np.ones((3, 3)), 3), ("full", np.ones((3, 3)), 2), ("diagonal_only", np.eye(3), 3)],
)
def test_gradient_is_that_of_the_note_s_block_loss(network, loss_mask, block, few, monkeypatch):
    """In one large product and, above `FEW` words, from Gram matrices of the languages."""
    monkeypatch.setattr(translation, "FEW", few)
    weights, trained = network
    slope = jax.jit(jax.grad(block_loss))(weights, trained, jnp.asarray(block))
    for got, expected in zip(negative_gradient(weights, trained, loss_mask), slope, strict=True):
        # Same arithmetic in another order, float64.
        np.testing.assert_allclose(got, -expected, rtol=1e-12, atol=1e-14)
    error = (pair_errors if loss_mask == "full" else pair_diagonal_errors)(maps(weights))
    mean = (error * trained).sum() / trained.sum()
    np.testing.assert_allclose(mean, block_loss(weights, trained, jnp.asarray(block)), rtol=1e-12)


def test_translation_is_routing_with_one_hot_items(network):
    weights, trained = network
    words = jnp.eye(WORDS)[None] / np.sqrt(WORDS)
    slopes = negative_gradient(weights, trained)
    routed = routing.negative_gradient(weights, words, words, trained)
    for got, expected in zip(slopes, routed, strict=True):
        np.testing.assert_allclose(got, expected, rtol=1e-11, atol=1e-14)
    np.testing.assert_allclose(
        pair_errors(maps(weights)), routing.pair_errors(weights, words, words), rtol=1e-12
    )


def test_the_same_draw_is_rescaled_and_is_the_same_in_both_precisions(x64):
    small, large, wide = (
        random_weights(jax.random.key(5), LANGUAGES, WORDS, WIDTH, scale, jnp.dtype(floats))
        for scale, floats in ((0.01, "float32"), (1.0, "float32"), (1.0, "float64"))
    )
    for item, other, exact in zip(small, large, wide, strict=True):
        np.testing.assert_allclose(100 * item, other, rtol=1e-6)
        np.testing.assert_array_equal(other, exact)
    entries = np.concatenate([np.ravel(x) for x in large])
    # 145 normal entries: their standard deviation is 1 within four standard errors of 1/sqrt(2 n).
    assert entries.std() == pytest.approx(1, abs=4 / np.sqrt(2 * entries.size))


def test_orientation_of_square_factors_is_the_product_of_theirs(x64):
    weights = random_weights(jax.random.key(4), 5, 4, 4, 0.3, jnp.dtype("float64"))
    signs = [np.sign(np.linalg.det(np.asarray(w))) for w in weights]
    expected = signs[0][:, None] * signs[1] * signs[2][None]
    np.testing.assert_array_equal(orientations(maps(weights)), expected)
    assert set(np.unique(expected)) == {-1, 1}
