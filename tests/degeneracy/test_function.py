"""A function of parameters and a batch is all that is asked of a network; what is none is refused at once, in a line."""

import jax
import jax.numpy as jnp
import numpy as np
import planted
import pytest

from foretrain.degeneracy.function import as_function, check_outputs, function_of
from foretrain.degeneracy.network import forward
from foretrain.elsewhere.adapters import of_equinox
from foretrain.errors import ArgumentError

X = planted.data(7, 3)
PARAMS = {"inward": {"w": np.ones((3, 4), np.float32)}, "out": [np.full((4, 2), 0.5), np.zeros(2)]}


def apply(params, x):
    return jnp.tanh(x @ params["inward"]["w"]) @ params["out"][0] + params["out"][1]


def test_a_plain_function_gives_outputs_and_names():
    function = function_of(apply, PARAMS, X)
    assert function.names == ("inward.w", "out.0", "out.1")
    assert function.size == 22
    assert function.network is None
    exact = np.tanh(X @ np.ones((3, 4))) @ np.full((4, 2), 0.5)
    np.testing.assert_allclose(function.outputs(X), exact, atol=1e-14)
    # More examples than a block takes, the last block not full.
    many = np.tile(X, (80, 1))
    np.testing.assert_allclose(function.outputs(many), np.tile(exact, (80, 1)), atol=1e-14)


def test_a_part_moves_alone():
    whole = function_of(apply, PARAMS, X)
    part = whole.part("out")
    assert part.names == ("out.0", "out.1")
    np.testing.assert_array_equal(part.outputs(X), whole.outputs(X))
    moved = apply({**PARAMS, "out": [np.ones((4, 2)), np.ones(2)]}, X)
    function = part.apply(jax.tree.map(np.ones_like, part.params), X)
    np.testing.assert_allclose(function, moved, atol=1e-6)
    with pytest.raises(ArgumentError, match=r"`part` must .* is `ou`. Did you mean `out`"):
        whole.part("ou")
    named = as_function(planted.drawn((3, 4, 2)), ["layers.1", "layers.10"])
    assert named.part("layers.1").names == ("layers.1.weight",)


def test_a_network_is_a_function_with_its_sections():
    network = planted.drawn((3, 4, 2), bias=True)
    function = as_function(network)
    assert function.network is network
    assert function.names == ("0.bias", "0.weight", "1.bias", "1.weight")
    with jax.enable_x64(True):
        exact = np.asarray(forward(network, X))
    np.testing.assert_allclose(function.check(X), exact, atol=1e-13)
    assert as_function(planted.drawn((3, 5, 2), bias=True)).apply is function.apply  # compiled once
    named = as_function(network, ["inp", "head"])
    assert named.names[0] == "head.bias"
    np.testing.assert_allclose(named.check(X), exact, atol=1e-13)


def draws(params, x):
    return apply(params, x) + np.random.normal(size=2)  # noqa: NPY002


def fails(params, x):
    return x @ params["absent"]


@pytest.mark.parametrize(
    ("function", "params", "x", "says"),
    [
        (apply, {"w": np.arange(3)}, X, "`params: w` must be an array of floats, but has dtype i"),
        (apply, {"a": [np.array([np.nan])]}, X, r"`params: a\.0` must hold finite"),
        (apply, {}, X, "at least one array"),
        (apply, PARAMS, X[:, 0], "an axis of examples"),
        (lambda p, x: apply(p, x)[:, 0], PARAMS, X, r"4 rows for 4 .* shape \(4,\)\. Try the last"),
        (lambda p, x: apply(p, x)[:1], PARAMS, X, "rows for"),
        (lambda p, x: apply(p, x) / 0.0, PARAMS, X, "`outputs` must hold finite"),
        (draws, PARAMS, X, "the same answer twice.*dropout"),
        (lambda p, x: apply(p, x - x.mean(0)), PARAMS, X, "each example by itself"),
        (fails, PARAMS, X, r"test_function\.py, line \d+: KeyError: 'absent'\. It is called"),
    ],
)
def test_what_is_no_such_function_is_refused_in_a_line(function, params, x, says):
    with pytest.raises(ArgumentError, match=says) as caught:
        function_of(function, params, x)
    assert "\n" not in str(caught.value)


def test_half_precisions_become_single():
    params = {"w": jnp.ones((3, 2), jnp.bfloat16), "b": np.ones(2, np.float16)}
    function = function_of(lambda p, x: x @ p["w"] + p["b"], params, X)
    assert {leaf.dtype.name for leaf in jax.tree.leaves(function.params)} == {"float32"}


def test_equinox_modules_of_any_kind():
    import equinox as eqx

    key = jax.random.key(0)
    mlp = eqx.nn.MLP(3, 2, 4, 1, activation=jax.nn.silu, key=key)
    function = of_equinox(mlp, X)
    exact = np.stack([mlp(row) for row in X.astype(np.float32)])
    np.testing.assert_allclose(function.outputs(X), exact, atol=1e-6)
    assert function.network is not None
    assert [item.activation for item in function.network.sections] == ["silu", "identity"]
    assert function.names[0] == "layers.0.weight"

    class Residual(eqx.Module):
        inner: eqx.nn.Sequential

        def __call__(self, x):
            return x + self.inner(x)

    inner = [eqx.nn.LayerNorm(3), eqx.nn.Linear(3, 3, key=key), eqx.nn.Dropout()]
    other = of_equinox(Residual(eqx.nn.Sequential(inner)), X)
    assert other.network is None
    assert "No layers" in other.notes[0]
    assert other.size == 18
    with pytest.raises(ArgumentError, match="be an Equinox module"):
        of_equinox(3, X)


def test_a_network_that_answers_otherwise_is_refused():
    network = planted.drawn((3, 4, 2))
    with pytest.raises(ArgumentError, match="`network` must answer as `apply`"):
        function_of(lambda p, x: 2 * as_function(network).apply(p, x), network.params, X, network)


def test_outputs_are_compared_to_rounding_of_their_precision():
    function = as_function(planted.drawn((3, 4, 2)))
    outputs = function.outputs(X)
    for kind in (np.float64, np.float32, np.float16):
        assert check_outputs(function, X, outputs.astype(kind)).notes == ()
    for wrong, says in (
        (outputs * (1 + 1e-2), "up to 0.0099 of the largest. Look at"),
        (outputs[:, :1], r"\(7, 1\), and the network that was read gives \(7, 2\)"),
        (jax.nn.softmax(outputs), "softmax: give the outputs before it"),
    ):
        with pytest.raises(ArgumentError, match=says):
            check_outputs(function, X, wrong)
