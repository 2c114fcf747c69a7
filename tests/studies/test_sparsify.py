"""Sparsified perceptrons: the same function by the old gates, one interaction less for each freed direction."""

import numpy as np
import planted
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from foretrain.degeneracy.counts.free_directions import free_directions
from foretrain.degeneracy.counts.grams import grams
from foretrain.degeneracy.derivatives import evaluated
from foretrain.degeneracy.network import perceptron
from foretrain.studies.free_directions.sparsify import outputs, parameters, sparsified


def same(net, x):
    sparse, exact = sparsified(net, x, grams(net, x)), evaluated(net, x)[0][-1]
    np.testing.assert_allclose(outputs(sparse, net, x), exact, atol=1e-9 * np.abs(exact).max())
    return sparse


@given(
    st.lists(st.tuples(st.integers(1, 3), st.integers(0, 2)), min_size=1, max_size=3),
    st.integers(0, 10**6),
)
@settings(max_examples=15)
def test_the_old_gates_give_the_old_outputs_and_blocks_shrink_to_their_span(drawn_blocks, seed):
    spans, sizes = [s for s, _ in drawn_blocks], [s + m for s, m in drawn_blocks]
    net, x = planted.blocks(spans, sizes, sum(sizes), seed=seed)
    sparse = same(net, x)
    wide = sum(spans)
    weight = sparse[0].weight[:, :-1]
    assert weight.shape == (wide, wide)
    np.testing.assert_allclose(np.sort(weight, 0), np.sort(np.eye(wide), 0), atol=1e-9)
    np.testing.assert_allclose(np.sort(weight, 1), np.sort(np.eye(wide), 1), atol=1e-9)
    # Each block reads its own inputs by the identity; of the others it is planted to read nothing.
    assert parameters(sparse) == sum(s * (wide - s) for s in spans) + sum(sizes) * wide


@pytest.mark.parametrize("bias", [False, True])
def test_generic_networks_keep_one_parameter_less_for_each_free_direction(bias):
    net, x = planted.drawn((4, 3, 3, 3), 3, "leaky_relu", bias), planted.data(300, 4, 3)
    assert parameters(same(net, x)) == free_directions(net, x).effective


def test_dependent_activations_are_unread():
    x = planted.data(300, 2) @ np.random.default_rng(0).normal(size=(2, 4))
    sparse = same(planted.drawn((4, 3, 3), 1), x)
    assert (sparse[0].weight[:, :-1] == 0).all(0).sum() == 2
    x = np.concatenate([x[:, :3], np.full((300, 1), 2.0)], 1)  # a constant: the bias takes over
    sparse = same(planted.drawn((4, 3, 3), 1, bias=True), x)
    assert (sparse[0].weight[:, 3] == 0).all()


def test_dead_layers_and_nonlinearities_without_gates():
    dead = perceptron([-np.ones((2, 2)), np.ones((1, 2))], [np.zeros(2), np.ones(1)])
    assert parameters(same(dead, np.abs(planted.data(50, 2)))) == 1  # the last bias
    bent = planted.drawn((3, 3, 2), activation="tanh", bias=True)
    for leaf in bent.params[0].values():
        leaf[1] = leaf[0]
    assert parameters(same(bent, planted.data(60, 3))) == 2 * 4 + 2 * 2 + 2
