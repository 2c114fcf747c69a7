import jax
import jax.numpy as jnp
import numpy as np
import pytest

from foretrain.networks import masked_rank_one as network
from foretrain.tasks import masks as routing
from foretrain.theory.factorization import masked_rank_one as theory


def place(seed, size=6):
    random = np.random.default_rng(seed)
    left, right, scale = random.normal(size=size), random.normal(size=size), random.normal()
    return network.Position(jnp.array(left), jnp.array(right), jnp.array(scale), jnp.array(0.5))


def mask(seed, size=6, pairs=14):
    return jnp.array(routing.nested(size, pairs, np.random.default_rng(seed)).astype(float))


@pytest.mark.parametrize("seed", range(3))
def test_velocity_is_minus_the_gradient_and_s(x64, seed):
    position, trained = place(seed), mask(seed)
    moving = network.velocity(position, trained)
    slope = jax.jit(jax.grad(network.loss))(position, trained)
    for name in ("left", "right", "scale"):
        np.testing.assert_allclose(getattr(moving, name), -getattr(slope, name), rtol=1e-12)
    assert float(moving.progress) == float(position.scale)


def test_loss_and_velocity_are_those_of_the_theory(x64):
    position, trained = place(5), mask(5)
    u, v, s, _ = (np.array(part) for part in position)
    assert float(network.loss(position, trained)) == pytest.approx(
        theory.loss((u, v, float(s)), np.array(trained)), rel=1e-13
    )
    for ours, theirs in zip(
        network.velocity(position, trained)[:3],
        theory.velocity((u, v, float(s)), np.array(trained)),
        strict=True,
    ):
        np.testing.assert_allclose(ours, theirs, rtol=1e-12)


def test_the_flow_is_along_the_level_sets_of_what_is_conserved(x64):
    position, trained = place(2), mask(2)
    moving = network.velocity(position, trained)
    rate = jax.jvp(network.conserved, (position,), (moving,))[1]
    np.testing.assert_allclose(rate, 0, atol=1e-12)


def test_the_untrained_error_is_of_the_pairs_that_are_not_trained(x64):
    trained = jnp.array([[1.0, 0.0], [1.0, 1.0]])
    position = network.Position(jnp.array([1.0, 2.0]), jnp.array([1.0, 4.0]), jnp.array(1.0), 0.0)
    assert float(network.untrained_error(position, trained)) == pytest.approx(9 / 2)
    assert float(network.untrained_error(position, jnp.ones((2, 2)))) == 0.0


@pytest.mark.parametrize("seed", range(3))
def test_misalignment_is_that_of_the_theory(x64, seed):
    position, trained = place(seed), np.array(mask(seed))
    _, left, right = theory.best_rank_one(trained)
    expected = theory.misalignment(position.left, position.right, trained)
    assert float(network.misalignment(position, left, right)) == pytest.approx(expected, rel=1e-12)
