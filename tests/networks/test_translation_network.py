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
from foretrain.tasks.effective_samples import compress
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
    return ((((outward @ hidden @ inward) - target) * mask) ** 2).sum() / (
        2 * WORDS * trained.sum()
    )


@pytest.mark.parametrize(
    ("loss_mask", "block", "few"),
    [("full", np.ones((3, 3)), 3), ("full", np.ones((3, 3)), 2), ("diagonal_only", np.eye(3), 3)],
)
def test_gradient_is_that_of_the_note_s_block_loss(network, loss_mask, block, few, monkeypatch):
    """In one large product and, above `FEW` words, from Gram matrices of the languages."""
    monkeypatch.setattr(translation, "FEW", few)
    weights, trained = network
    slope = jax.grad(block_loss)(weights, trained, jnp.asarray(block))
    ours = negative_gradient(weights, trained, loss_mask)
    for got, expected in zip(ours, slope, strict=True):
        # Same arithmetic in another order, float64.
        np.testing.assert_allclose(got, -expected, rtol=1e-12, atol=1e-14)
    error = (pair_errors if loss_mask == "full" else pair_diagonal_errors)(maps(weights))
    mean = (error * trained).sum() / trained.sum()
    np.testing.assert_allclose(mean, block_loss(weights, trained, jnp.asarray(block)), rtol=1e-12)


def test_translation_is_routing_with_one_hot_items(network):
    weights, trained = network
    words = jnp.eye(WORDS)[None] / np.sqrt(WORDS)
    for got, expected in zip(
        negative_gradient(weights, trained),
        routing.negative_gradient(weights, words, words, trained),
        strict=True,
    ):
        np.testing.assert_allclose(got, expected, rtol=1e-11, atol=1e-14)
    np.testing.assert_allclose(
        pair_errors(maps(weights)), routing.pair_errors(weights, words, words), rtol=1e-12
    )


def test_gaussian_inputs_give_the_loss_of_one_hot_words(network):
    # x ~ N(0, I/D) whose sample covariance is exactly I/D: the loss sees nothing else of the inputs.
    weights, _ = network
    random = np.random.default_rng(0)
    draw = random.standard_normal((50, WORDS))
    left, _, right = np.linalg.svd(draw, full_matrices=False)
    gaussian = left @ right * np.sqrt(50 / WORDS)
    samples = jnp.asarray(np.broadcast_to(gaussian, (LANGUAGES, 50, WORDS)))
    # Targets are the inputs: under Assumption 2 a word has the same number in every language.
    error = samples[:, None] - jnp.einsum("ijed,isd->ijse", maps(weights), samples)
    per_pair = 0.5 * (error**2).sum(-1).mean(-1)
    np.testing.assert_allclose(per_pair, pair_errors(maps(weights)), rtol=1e-12)
    few = compress(gaussian, gaussian)
    np.testing.assert_allclose(few.inputs @ few.inputs.T, np.eye(WORDS) / WORDS, atol=1e-12)
    assert few.residual_power == pytest.approx(0, abs=1e-12)


def test_permuted_words_are_absorbed_by_the_weights(network):
    # Targets Pi_j Pi_i^T and weights A_i Pi_i^T, Pi_j C_j: every loss and every slope is the permuted one.
    weights, _ = network
    random = np.random.default_rng(1)
    orders = np.array([random.permutation(WORDS) for _ in range(LANGUAGES)])
    permuted = routing.Weights(
        jnp.stack([a[:, order] for a, order in zip(weights.encoders, orders, strict=True)]),
        weights.hidden,
        jnp.stack([c[order] for c, order in zip(weights.decoders, orders, strict=True)]),
    )
    every = np.asarray(maps(permuted))
    for i in range(LANGUAGES):
        for j in range(LANGUAGES):
            target = np.eye(WORDS)[orders[j]][:, orders[i]]
            error = ((every[i, j] - target) ** 2).sum() / (2 * WORDS)
            assert error == pytest.approx(float(pair_errors(maps(weights))[i, j]), rel=1e-12)


def test_the_same_draw_is_rescaled_and_is_the_same_in_both_precisions(x64):
    small, large = (
        random_weights(jax.random.key(5), LANGUAGES, WORDS, WIDTH, scale, jnp.float32)
        for scale in (0.01, 1.0)
    )
    for one, other in zip(small, large, strict=True):
        np.testing.assert_allclose(100 * one, other, rtol=1e-6)
    wide = random_weights(jax.random.key(5), LANGUAGES, WORDS, WIDTH, 1.0, jnp.dtype("float64"))
    for one, other in zip(large, wide, strict=True):
        np.testing.assert_array_equal(one, other)
    entries = np.concatenate([np.ravel(x) for x in large])
    # 145 normal entries: their standard deviation is 1 within four standard errors of 1/sqrt(2 n).
    assert entries.std() == pytest.approx(1, abs=4 / np.sqrt(2 * entries.size))


def test_flow_conserves_what_routing_conserves(network):
    weights, trained = network
    slope = negative_gradient(weights, trained)
    _, rates = jax.jvp(routing.conserved, (weights,), (slope,))
    size = float(jnp.abs(slope.hidden @ weights.hidden.T).max())
    for rate in rates:
        np.testing.assert_allclose(rate, 0, atol=1e-12 * size)


def test_a_map_of_negative_orientation_misses_at_least_one_mode(x64):
    # |M - I| > 1 for det M < 0: on the straight way from I to M some matrix is singular, and all of these are at
    # a distance of at least 1 from I.
    draws = jax.random.normal(jax.random.key(2), (1, 4000, WORDS, WORDS)) * 0.7
    draws = draws + jnp.eye(WORDS)
    sign, error = orientations(draws), pair_errors(draws)
    np.testing.assert_array_equal(sign, np.sign(np.linalg.det(np.asarray(draws))))
    assert (sign < 0).sum() > 100
    assert error[sign < 0].min() > 1 / (2 * WORDS)
    flipped = jnp.diag(jnp.array([1.0, 1.0, -1e-9]))[None, None]
    assert float(orientations(flipped)[0, 0]) == -1
    assert float(pair_errors(flipped)[0, 0]) == pytest.approx(1 / (2 * WORDS), rel=1e-8)


def test_orientation_of_square_factors_is_the_product_of_theirs(x64):
    weights = random_weights(jax.random.key(4), 5, 4, 4, 0.3, jnp.dtype("float64"))
    signs = [np.sign(np.linalg.det(np.asarray(w))) for w in weights]
    expected = signs[0][:, None] * signs[1] * signs[2][None]
    np.testing.assert_array_equal(orientations(maps(weights)), expected)
    assert set(np.unique(expected)) == {-1, 1}
