import jax
import jax.numpy as jnp
import numpy as np
import pytest

from foretrain.explain.gates import changed_gates

RANDOM = np.random.default_rng(0)
X = RANDOM.standard_normal((9, 5))
U, W = ([RANDOM.standard_normal((5, 6)), RANDOM.standard_normal((6, 2))] for _ in range(2))
RECTIFIED = {
    "relu": jax.nn.relu,
    "where": lambda z: jnp.where(z > 0, z, 0.1 * z),
    "leaky": jax.nn.leaky_relu,
    "maximum": lambda z: 3 * jnp.maximum(z, 0),
}


def network(shape):
    return lambda w, x: shape(x @ w[0] + 0.1) @ w[1]


@pytest.mark.parametrize("name", RECTIFIED)
def test_gates_of_rectifiers_are_signs(x64, name):
    flipped = (np.sign(X @ U[0] + 0.1) != np.sign(X @ W[0] + 0.1)).mean()
    assert 0.2 < flipped < 0.8
    assert np.isclose(changed_gates(network(RECTIFIED[name]), U, W, X), flipped, rtol=1e-12)


@pytest.mark.parametrize("name", ["tanh", "gelu", "silu"])
def test_gates_of_smooth_units_are_slopes_of_the_whole_nonlinearity(x64, name):
    shape = getattr(jax.nn, name)
    slope = jax.vmap(jax.vmap(jax.grad(shape)))
    before, after = slope(X @ U[0] + 0.1), slope(X @ W[0] + 0.1)
    share = (np.abs(after - before) > np.abs(before).max() / 2).mean()
    assert np.isclose(changed_gates(network(shape), U, W, X), share, rtol=1e-12)


def test_gates_of_two_layers_are_counted_together(x64):
    def apply(w, x):
        return jax.nn.relu(jax.nn.relu(x @ w[0]) @ w[1])

    first = np.sign(X @ U[0]) != np.sign(X @ W[0])
    after, before = (np.maximum(X @ w[0], 0) @ w[1] > 0 for w in (W, U))
    share = (first.sum() + (after != before).sum()) / (first.size + after.size)
    assert np.isclose(changed_gates(apply, U, W, X), share, rtol=1e-12)


def test_no_gate_changes_where_weights_stay_and_a_linear_network_has_none(x64):
    assert changed_gates(network(jax.nn.relu), U, U, X) == 0
    assert changed_gates(network(jax.nn.relu), U, [U[0], 3 * U[1]], X) == 0
    assert np.isnan(changed_gates(lambda w, x: 2 * (x @ w[0]) @ w[1], U, W, X))
