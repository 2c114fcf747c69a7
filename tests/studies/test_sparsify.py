"""Sparsified perceptrons: the same function by the old gates, one interaction less for each freed direction."""

import numpy as np
import planted
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from foretrain.degeneracy.counts.free_directions import free_directions
from foretrain.degeneracy.derivatives import evaluated
from foretrain.degeneracy.network import network_of, perceptron
from foretrain.errors import ArgumentError
from foretrain.studies.free_directions.sparsify import outputs, sparsified


def same(net, x, **options):
    sparse = sparsified(net, x)
    exact = evaluated(net, x)[0][-1]
    np.testing.assert_allclose(
        outputs(sparse, net, x, **options), exact, atol=1e-9 * np.abs(exact).max()
    )
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
    weight = sparse.sections[0].weight
    assert weight.shape == (wide, wide)
    np.testing.assert_allclose(np.sort(weight, 0), np.sort(np.eye(wide), 0), atol=1e-9)
    np.testing.assert_allclose(np.sort(weight, 1), np.sort(np.eye(wide), 1), atol=1e-9)
    # Each block reads its own inputs by the identity; of the others it is planted to read nothing.
    assert sparse.parameters == sum(s * (wide - s) for s in spans) + sum(sizes) * wide


@pytest.mark.parametrize("bias", [False, True])
def test_generic_networks_keep_one_parameter_less_for_each_free_direction_and_their_own_gates(bias):
    net, x = planted.drawn((4, 3, 3, 3), 3, "leaky_relu", bias), planted.data(300, 4, 3)
    freedom = free_directions(net, x)
    if not any(b.constants for s in freedom.sections.values() for b in s.blocks):
        assert same(net, x, old_gates=False).parameters == freedom.effective
    assert same(net, x).parameters == freedom.effective


def test_own_gates_fail_where_a_block_is_mixed():
    net, x = planted.blocks((2,), (2,), 3)
    net.params[0]["weight"][:] = [[1.0, 0.2], [0.2, 1.0]]
    sparse = same(net, x)
    # The new nodes read their inputs as they are, which share the sign of the block: own gates do as well.
    np.testing.assert_allclose(
        outputs(sparse, net, x, old_gates=False), evaluated(net, x)[0][-1], atol=1e-9
    )
    # Still synchronised, but by an input that has the other sign: a node of its own would be on when the block is off.
    net.params[0]["weight"][:] = [[1.0, 0.2], [0.5, 0.2]]
    sign = np.sign(x[:, :1])
    x = sign * np.random.default_rng(0).uniform(0.5, 1, x.shape) * [1, -0.5]
    sparse = same(net, x)
    off = outputs(sparse, net, x, old_gates=False) - evaluated(net, x)[0][-1]
    assert np.abs(off).max() > 0.1


def test_dependent_activations_are_unread():
    random = np.random.default_rng(0)
    mix = random.normal(size=(2, 4))
    net, x = planted.drawn((4, 3, 3), 1), planted.data(300, 2) @ mix
    sparse = same(net, x)
    assert (sparse.sections[0].weight == 0).all(0).sum() == 2
    shifted = planted.drawn((4, 3, 3), 1, bias=True)
    x = np.concatenate(
        [x[:, :3], np.full((300, 1), 2.0)], 1
    )  # a constant input: the bias takes over
    sparse = same(shifted, x)
    assert (sparse.sections[0].weight[:, 3] == 0).all()


def test_dead_layers_and_nonlinearities_without_gates():
    dead = perceptron([-np.ones((2, 2)), np.ones((1, 2))], [np.zeros(2), np.ones(1)])
    sparse = same(dead, np.abs(planted.data(50, 2)))
    assert sparse.parameters == 1  # the last bias
    bent = planted.drawn((3, 3, 2), activation="tanh", bias=True)
    bent.params[0]["weight"][1] = bent.params[0]["weight"][0]
    bent.params[0]["bias"][1] = bent.params[0]["bias"][0]
    sparse = same(bent, planted.data(60, 3))
    assert same(bent, planted.data(60, 3), old_gates=False).parameters == sparse.parameters
    assert sparse.parameters == 2 * 4 + 2 * 2 + 2


def test_what_is_no_perceptron_is_refused():
    from foretrain.degeneracy.network import Section

    net = network_of([Section(lambda w, f: f)], [{}])
    with pytest.raises(ArgumentError, match="named nonlinearities"):
        sparsified(net, np.ones((2, 2)))
