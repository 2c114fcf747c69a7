"""Networks as lists of sections: values, losses, parts, and what is refused."""

import jax
import numpy as np
import pytest
from planted import draw

from foretrain.degeneracy import network as nets
from foretrain.degeneracy.nonlinearities import NAMES, nonlinearity
from foretrain.errors import ArgumentError

NETWORK, X = draw(0, (3, 4, 5, 2), "relu")


def test_layers_are_those_written_out():
    x = X
    with jax.enable_x64(True):
        result = nets.forward(NETWORK, x)
    for at, leaves in enumerate(NETWORK.params):
        p = x @ leaves["weight"].T + leaves["bias"]
        x = p if at == 2 else np.maximum(p, 0)
    np.testing.assert_allclose(result, x, rtol=1e-12)
    assert nets.size(NETWORK) == 3 * 4 + 4 * 5 + 5 * 2 + 4 + 5 + 2
    assert nets.is_perceptron(NETWORK)


@pytest.mark.parametrize("name", [*NAMES, "leaky_relu:0.3"])
def test_nonlinearities_agree_with_jax_and_have_their_slope(name):
    import jax.numpy as jnp

    shape = nonlinearity(name)
    p = np.array([-3.0, -1.2, -0.1, 0.0, 0.2, 1.0, 4.0])
    known = {
        "relu": jax.nn.relu, "gelu": lambda v: jax.nn.gelu(v, False), "gelu_tanh": jax.nn.gelu,
        "leaky_relu": jax.nn.leaky_relu, "leaky_relu:0.3": lambda v: jax.nn.leaky_relu(v, 0.3),
        "tanh": jnp.tanh, "square": jnp.square, "silu": jax.nn.silu,
        "sigmoid": jax.nn.sigmoid, "identity": lambda v: v,
    }  # fmt: skip
    with jax.enable_x64(True):
        np.testing.assert_allclose(shape.value(p, np), known[name](p), rtol=1e-12, atol=1e-14)
        np.testing.assert_allclose(shape.value(p, jnp), shape.value(p, np), rtol=1e-12, atol=1e-14)
    far = p[p != 0]
    slope = (shape.value(far + 1e-6, np) - shape.value(far - 1e-6, np)) / 2e-6
    np.testing.assert_allclose(shape.slope(far, np), slope, rtol=1e-7, atol=1e-7)
    assert shape.slope(np.zeros(1), np) == shape.slope(np.full(1, -1e-9), np).round(6)


def test_a_network_is_a_pytree_and_equal_shapes_share_what_was_compiled():
    nets.register()
    calls = []

    @jax.jit
    def norm(network, x):
        calls.append(1)
        return (nets.forward(network, x) ** 2).sum()

    for seed in range(2):
        network, x = draw(seed, (3, 4, 5, 2), "relu")
        assert jax.jit(jax.grad(norm))(network, x).params[0]["weight"].shape == (4, 3)
    assert len(calls) == 1


@pytest.mark.parametrize(
    ("build", "says"),
    [
        (lambda: nets.perceptron([np.ones((3, 2)), np.ones((2, 4))]), "have 3 columns"),
        (lambda: nets.perceptron([np.ones((3, 2))], [np.ones(2)]), r"have shape \(3,\)"),
        (lambda: nets.perceptron([np.full((3, 2), np.nan)]), "finite"),
        (lambda: nets.perceptron([np.ones(3)]), "matrix"),
        (lambda: nets.perceptron([]), "at least one matrix"),
        (lambda: nets.perceptron([np.ones((2, 2))] * 2, activation="rellu"), "`relu`"),
        (lambda: nets.perceptron([np.ones((2, 2))], activation="leaky_relu:x"), "number"),
        (lambda: nets.perceptron([np.ones((2, 2))], [None] * 2), "one entry for each"),
        (lambda: nets.network_of([nets.dense()], [{"weight": np.ones((1, 1))}]), "hold `bias`"),
        (lambda: nets.examples(NETWORK, np.ones((2, 4))), "have 3 columns"),
        (lambda: nets.examples(NETWORK, np.full((2, 3), np.inf)), "finite"),
        (lambda: nets.examples(NETWORK, np.ones(3)), "2 axes"),
    ],
)  # fmt: skip
def test_what_cannot_be_used_is_refused_in_a_line(build, says):
    with pytest.raises(ArgumentError, match=says) as caught:
        build()
    assert "\n" not in str(caught.value)
