import jax
import jax.numpy as jnp
import numpy as np
import pytest

from foretrain.errors import ArgumentError
from foretrain.networks import factorization, factorization_rows
from foretrain.networks import factorization_start as drawn
from foretrain.networks.factorization import Factors
from foretrain.quantities import alignment as columns

LOSS = jax.jit(factorization.loss, static_argnums=0)
AUTODIFF = jax.jit(jax.grad(factorization.loss, argnums=1), static_argnums=0)


def setting(seed, dimension=12, rank=3, components=4, *, law="sphere", scale=1.0, init_scale=1.0):
    rng = np.random.default_rng(seed)
    target = drawn.draw_target(rng, dimension, rank, law=law, scale=scale)
    return drawn.draw_start(rng, dimension, components, init_scale), target


def to_jax(factors, dtype=None):
    return Factors(*(jnp.asarray(part, dtype) for part in factors))


def gradient(kind, start, target):
    """Gradient by factors of shape (n, component), formed in rows."""
    goal = factorization_rows.prepare(kind, target, start.left.shape[1])
    goal, rows = jax.tree.map(jnp.asarray, (goal, factorization_rows.rows(start)))
    return factorization_rows.rows(factorization_rows.gradient(kind, rows, goal))


def distribution(factors):
    logits = factors.left @ factors.right.T
    weights = np.exp(logits - logits.max())
    return weights / weights.sum()


def divergence(start, target):
    p, q = (distribution(Factors(*map(np.asarray, part))) for part in (target, start))
    return np.sum(p * np.log(p / q))


# The Gram form (few components) and the dense form (many) of the squared error.
@pytest.mark.parametrize("sizes", [(30, 2, 3), (8, 5, 7)])
@pytest.mark.parametrize("kind", factorization.LOSSES)
@pytest.mark.parametrize("scale", [1.0, 30.0])
def test_gradient_in_rows_is_that_of_autodiff(x64, kind, sizes, scale):
    start, target = setting(1, *sizes, scale=scale)
    # Cross-entropy of order-one logits (scale 30) takes the textbook branch, the other its series.
    expected = AUTODIFF(kind, to_jax(start), to_jax(target))
    for item, other in zip(gradient(kind, start, target), expected, strict=True):
        np.testing.assert_allclose(item, other, rtol=1e-10, atol=1e-12 * scale)
    if kind == "mse":
        signal, decay = factorization.mse_parts(start, target)
        np.testing.assert_allclose(decay.left - signal.left, expected.left, rtol=1e-9, atol=1e-12)
    goal = factorization_rows.prepare(kind, target, sizes[2])
    assert (goal.product.size == 0) == (kind == "mse" and sizes[0] == 30)


def test_alignment_is_that_of_columns_and_of_zeros_with_nothing(x64):
    start, target = setting(2)
    goal = factorization_rows.prepare("mse", target, 4)
    result = factorization_rows.alignment(to_jax(factorization_rows.rows(start)), goal)
    np.testing.assert_allclose(result, columns.alignment(*start, *target), rtol=1e-12)
    start.left[:, 1] = 0
    result = factorization_rows.alignment(to_jax(factorization_rows.rows(start)), goal)
    assert np.isfinite(result).all()
    assert (result[:, 1] == 0).all()


def test_mse_loss_is_accurate_near_zero_in_single_precision():
    _, target = setting(4)
    near = Factors(target.left + 1e-5, target.right)
    expected = np.sum(((near.left - target.left) @ target.right.T) ** 2)
    value = LOSS("mse", to_jax(near, jnp.float32), to_jax(target, jnp.float32))
    # Rounding of C, 6e-8 an entry, beside differences of 1e-5.
    assert value == pytest.approx(expected, rel=0.05)


@pytest.mark.parametrize("init_scale", [0.1, 1.0, 10.0])
@pytest.mark.parametrize("seed", range(5))
def test_shifted_cross_entropy_is_not_negative_and_is_the_divergence(x64, seed, init_scale):
    start, target = map(to_jax, setting(10 + seed, init_scale=init_scale))
    value = LOSS("cross_entropy", start, target)
    assert value > 0
    # The textbook sum rounds at 1e-16 times log n^2.
    np.testing.assert_allclose(value, divergence(start, target), rtol=1e-9, atol=1e-15)


@pytest.mark.parametrize("scale", [1.0, 30.0])
@pytest.mark.parametrize("constant", [0.0, 3.0, -50.0])
def test_shifted_cross_entropy_is_zero_at_the_target_up_to_a_constant(x64, constant, scale):
    _, target = setting(20, scale=scale)
    ones = np.ones((12, 1))
    shifted = Factors(
        np.concatenate([target.left, constant * ones], axis=1),
        np.concatenate([target.right, ones], axis=1),
    )
    assert 0 <= LOSS("cross_entropy", to_jax(shifted), to_jax(target)) < 1e-25
    for part in gradient("cross_entropy", shifted, target):
        # Softmax rounds at 1e-16; factors are of the order of the scale, or of |constant|.
        np.testing.assert_allclose(part, 0.0, atol=1e-15 * max(scale, abs(constant)))


def test_cross_entropy_branches_meet(x64):
    # Along a line through C the largest |d| passes 1, where the two formulas change over, and 0.05.
    _, target = setting(21, rank=1)
    logits, p = target.left @ target.right.T, distribution(target)
    direction = (logits - np.sum(p * logits)) / np.abs(logits - np.sum(p * logits)).max()
    for size in (0.049, 0.051, 0.999, 1.001):
        learner = Factors(logits - size * direction, np.eye(12))
        value = LOSS("cross_entropy", to_jax(learner), to_jax(target))
        assert value == pytest.approx(divergence(learner, target), rel=1e-11)


@pytest.mark.parametrize("push", [-3.0, 1.5, 3.0])
@pytest.mark.parametrize("seed", range(4))
def test_a_tiny_cross_entropy_of_large_logits_is_accurate_in_single_precision(seed, push):
    # All of a target of logits of order one is learned but for its least likely entries, off by more than one: the
    # loss, 1e-10 to 1e-7, lies below the rounding of log n^2 that the textbook sum carries.
    _, target = setting(40 + seed, dimension=100, rank=2, scale=100.0)
    logits = target.left @ target.right.T
    row, column = np.unravel_index(logits.argmin(), logits.shape)
    spike = np.zeros((2, 100, 1))
    spike[0, row], spike[1, column] = push, 1.0
    learner = Factors(*(np.hstack(pair) for pair in zip(target, spike, strict=True)))
    value = LOSS("cross_entropy", to_jax(learner, jnp.float32), to_jax(target, jnp.float32))
    assert value >= 0
    # Rounding of logits of order ten, 1e-6, beside differences of order one.
    assert value == pytest.approx(divergence(learner, target), rel=1e-3, abs=1e-11)


def test_targets_have_unit_components_and_are_orthonormal_by_option():
    rng = np.random.default_rng(35)
    for part in drawn.draw_target(rng, 50, 4):
        np.testing.assert_allclose(np.linalg.norm(part, axis=0), 1.0, rtol=1e-14)
        assert np.abs(part.T @ part - np.eye(4)).max() > 1e-3
    scaled = drawn.draw_target(rng, 50, 4, law="orthonormal", scale=7.0)
    np.testing.assert_allclose(scaled.left.T @ scaled.left, 49 * np.eye(4), atol=1e-12)
    np.testing.assert_allclose(scaled.right.T @ scaled.right, np.eye(4), atol=1e-14)


def test_starts_have_variance_scale_squared_over_n_and_rescale_exactly():
    draws = [drawn.draw_start(np.random.default_rng(36), 100, 50, s) for s in (1.0, 0.5)]
    np.testing.assert_allclose(draws[1].left, 0.5 * draws[0].left, rtol=1e-15)
    variance = np.concatenate([part.ravel() for part in draws[0]]).var() * 100
    assert variance == pytest.approx(1.0, abs=5 * np.sqrt(2 / 10_000))  # 5 standard errors


def test_user_errors_name_the_argument():
    start, target = setting(37)
    with pytest.raises(ArgumentError, match=r"`law` must be one of .* but is 'spher'"):
        setting(0, law="spher")
    with pytest.raises(ArgumentError, match=r"`kind` must be one of .* but is 'l2'"):
        factorization.loss("l2", start, target)
