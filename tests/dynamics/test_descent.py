import jax
import jax.numpy as jnp
import numpy as np
import pytest

from foretrain.dynamics import descent


def train(name, weights, gradient, steps, rate, decay=0.0, **options):
    memory = descent.start(name, weights)
    path = [weights]
    for _ in range(steps):
        weights, memory = descent.step(
            name, weights, gradient(weights), memory, rate, decay, **options
        )
        path.append(weights)
    return np.array(path)


def test_coupled_decay_adds_to_the_curvature_and_decoupled_decay_does_not(x64):
    decayed = train("sgd", jnp.array([2.0]), lambda w: 3.0 * w, 4, 0.1, 0.5)
    np.testing.assert_allclose(decayed[:, 0], 2.0 * 0.65 ** np.arange(5), rtol=1e-14)
    # Without gradient Adam does not move, and decoupled decay is exactly geometric.
    still = train("adamw", jnp.array([2.0]), jnp.zeros_like, 4, 0.1, 0.5)
    np.testing.assert_allclose(still[:, 0], 2.0 * 0.95 ** np.arange(5), rtol=1e-14)


def test_momentum_obeys_the_heavy_ball_recursion(x64):
    path = train("momentum", jnp.array([1.0]), lambda w: 2.0 * w, 6, 0.1, momentum=0.5)
    expected = [1.0, 0.8]
    for _ in range(5):
        expected.append(expected[-1] - 0.2 * expected[-1] + 0.5 * (expected[-1] - expected[-2]))
    np.testing.assert_allclose(path[:, 0], expected, rtol=1e-13)


@pytest.mark.parametrize("name", descent.OPTIMIZERS)
def test_rates_may_differ_between_vectorised_runs(x64, name):
    rates, decays = jnp.array([0.1, 0.01]), jnp.array([0.0, 0.2])

    def single_run(rate, decay):
        weights = jnp.array([1.0, 2.0])
        memory = descent.start(name, weights)
        for _ in range(3):
            weights, memory = descent.step(name, weights, 2 * weights, memory, rate, decay)
        return weights

    together = jax.jit(jax.vmap(single_run))(rates, decays)
    distance = jnp.stack([single_run(*pair) for pair in zip(rates, decays, strict=True)])
    np.testing.assert_allclose(together, distance, rtol=1e-12)
    assert together.dtype == jnp.float64
