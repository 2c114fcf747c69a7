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


@pytest.mark.parametrize("seed", range(3))
def test_it_is_the_network_of_the_theory_and_moves_along_what_is_conserved(x64, seed):
    position = place(seed)
    trained = jnp.array(routing.nested(6, 14, np.random.default_rng(seed)).astype(float))
    u, v, s, _ = (np.array(part) for part in position)
    state, pairs = (u, v, float(s)), np.array(trained)
    assert float(network.loss(position, trained)) == pytest.approx(theory.loss(state, pairs))
    moving = network.velocity(position, trained)
    slope = jax.jit(jax.grad(network.loss))(position, trained)
    for own, down, theirs in zip(moving[:3], slope[:3], theory.velocity(state, pairs), strict=True):
        np.testing.assert_allclose(own, -down, rtol=1e-12)
        np.testing.assert_allclose(own, theirs, rtol=1e-12)
    assert float(moving.progress) == float(position.scale)
    np.testing.assert_allclose(jax.jvp(network.conserved, (position,), (moving,))[1], 0, atol=1e-12)
    _, left, right = theory.best_rank_one(pairs)
    result = float(network.misalignment(position, left, right))
    assert result == pytest.approx(theory.misalignment(u, v, pairs), rel=1e-12)


def test_the_untrained_error_is_of_the_pairs_that_are_not_trained(x64):
    trained = jnp.array([[1.0, 0.0], [1.0, 1.0]])
    position = network.Position(jnp.array([1.0, 2.0]), jnp.array([1.0, 4.0]), jnp.array(1.0), 0.0)
    assert float(network.untrained_error(position, trained)) == pytest.approx(9 / 2)
    assert float(network.untrained_error(position, jnp.ones((2, 2)))) == 0.0
