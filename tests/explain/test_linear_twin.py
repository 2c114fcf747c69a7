import jax
import jax.numpy as jnp
import numpy as np
import pytest

from foretrain.explain.linear_twin import linear_twin
from foretrain.explain.own_network import batches, described, starts
from foretrain.explain.simulated import Corner, Simulator

RANDOM = np.random.default_rng(0)
HALF = RANDOM.standard_normal((10, 5))
X = np.r_[HALF, -HALF]
Y = np.sin(X @ RANDOM.standard_normal((5, 2)))
AT = np.arange(0, 201, 10)


def network(shape):
    return lambda w, x: shape(x @ w["a"]) @ w["b"] / 4


def init_at(scale):
    def init(key):
        one, two = jax.random.split(key)
        first, last = jax.random.normal(one, (5, 32)), jax.random.normal(two, (32, 2))
        return {"a": scale * first, "b": scale * last}

    return init


def leaky(z):
    return jax.nn.leaky_relu(z, 0.2)


def compared(shape, scale, x=X, y=Y, **options):
    training = described(
        network(shape), init_at(scale), x, y, **{"learning_rate": 0.1, "steps": 200} | options
    )
    drawn = starts(training, 2)
    twin = linear_twin(training, drawn, AT)
    run = Simulator(training, drawn, batches(training, 2), AT).run(Corner(*[True] * 4)).train
    return twin, run


@pytest.mark.parametrize("decay", [0.0, 0.02])
def test_two_linear_layers_are_the_recursion_on_any_data(x64, decay):
    x, y = X[:13], np.tanh(X[:13, :2]) + 0.3
    twin, run = compared(lambda z: 0.7 * z, 1.0, x, y, weight_decay=decay, learning_rate=0.05)
    np.testing.assert_allclose(twin, run, rtol=1e-10)


@pytest.mark.parametrize("shape", [jax.nn.relu, leaky], ids=["relu", "leaky"])
def test_the_loss_of_symmetric_data_is_that_of_the_odd_part_and_the_even_one(x64, shape):
    twin, run = compared(shape, 0.15)
    training = described(network(shape), init_at(0.15), X, Y, learning_rate=0.1, steps=1)
    weights = jax.tree.map(lambda leaf: leaf[0], starts(training, 1))
    even = (training.apply(weights, X) + training.apply(weights, -X)) / 2
    assert np.isclose(run[0, 0], twin[0, 0] + (even**2).sum() / 2 / len(X), rtol=1e-12)


@pytest.mark.parametrize("shape", [jax.nn.relu, leaky], ids=["relu", "leaky"])
def test_the_twin_is_approached_as_starts_shrink(x64, shape):
    misses = [
        np.abs(np.subtract(*compared(shape, scale, steps=200))).max() for scale in (0.2, 0.1, 0.05)
    ]
    assert misses[0] > misses[1] > misses[2]


def test_nothing_is_predicted_where_a_condition_fails(x64):
    twin, _ = compared(jax.nn.relu, 0.1, X + 0.01)
    assert "not symmetric" in twin
    assert "even part" in compared(jax.nn.relu, 3.0, steps=2)[0]
    assert "odd part" in compared(jnp.tanh, 0.1, steps=2)[0]
    assert "odd part" in compared(lambda z: jax.nn.relu(z + 0.1), 0.1, steps=2)[0]
    assert "minibatches" in compared(jax.nn.relu, 0.1, steps=2, batch_size=4)[0]
    assert "descent" in compared(jax.nn.relu, 0.1, steps=2, optimizer="momentum")[0]
