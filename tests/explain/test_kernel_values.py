"""The kernel by layers is the kernel by Jacobians, and where examples mix it is not taken."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from foretrain.explain.kernel.kernel_values import kernel_function
from foretrain.explain.own_network import described

RANDOM = np.random.default_rng(0)
X, X_TEST = RANDOM.standard_normal((8, 6)), RANDOM.standard_normal((3, 6))
SHAPES = {"a": (6, 7), "b": (7, 5), "bias": (5,), "c": (5, 2)}


def init(key):
    return {name: jax.random.normal(key, shape) for name, shape in SHAPES.items()}


def plain(w, x):
    return jax.nn.gelu(jnp.tanh(x @ w["a"]) @ w["b"] + w["bias"]) @ w["c"]


def turned(w, x):
    return (w["c"].T @ jax.nn.gelu(w["b"].T @ jnp.tanh(x @ w["a"]).T + w["bias"][:, None])).T


def one_by_one(w, x):
    return jax.vmap(lambda row: plain(w, row[None])[0])(x)


def shared(w, x):
    return jax.nn.relu(x @ w["a"]) @ w["b"] @ w["b"].T @ w["b"] @ w["c"]


def convolved(w, x):
    maps = jax.lax.conv_general_dilated(
        x[:, :, None], w["c"].T[:, None, :2].T.reshape(2, 1, 2), (1,), "SAME",
        dimension_numbers=("NWC", "WIO", "NWC"),
    )  # fmt: skip
    return jnp.tanh(maps).mean(1) * w["bias"][:2]


def mixed(w, x):
    hidden = x @ w["a"]
    return jnp.tanh(hidden - hidden.mean(0)) @ w["b"][:, :2]


@pytest.mark.parametrize("apply", [plain, turned, one_by_one, shared, convolved, mixed])
def test_the_kernel_is_that_of_jacobians(apply, x64):
    y = np.zeros((8, 2))
    training = described(apply, init, X, y, learning_rate=0.1, steps=1, x_test=X_TEST, y_test=y[:3])
    w = init(jax.random.key(1))

    def jacobian(x):
        parts = jax.jit(jax.jacrev(lambda w: apply(w, x).ravel()))(w)
        return np.concatenate([np.asarray(item).reshape(len(x) * 2, -1) for item in jax.tree.leaves(parts)], 1)  # fmt: skip

    train, test = jacobian(X), jacobian(X_TEST)
    meant = np.concatenate([train, test]) @ train.T
    values, outputs, along = map(np.asarray, kernel_function(training)(w))
    assert np.allclose(values, meant, rtol=0, atol=1e-12 * np.abs(meant).max())
    flat = np.concatenate([np.ravel(item) for item in jax.tree.leaves(w)])
    assert np.allclose(along, np.concatenate([train, test]) @ flat)
    assert np.allclose(outputs[:16], apply(w, X).ravel())
