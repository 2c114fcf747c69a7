import dataclasses
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from planted import draw

from foretrain.degeneracy import folded
from foretrain.degeneracy.interactions.interaction_basis import interaction_basis
from foretrain.degeneracy.interactions.interaction_graph import interaction_graph, path_points
from foretrain.degeneracy.network import Section, perceptron
from foretrain.errors import ArgumentError

seeds = st.integers(0, 2**32 - 1)


def blocks_apart(seed, widths, activation):
    """Two independent networks side by side, and how many units of each layer are the first one's."""
    pair = [draw(seed + k, widths, activation)[0] for k in range(2)]
    weights, biases = [], []
    for a, b in zip(*(item.params for item in pair), strict=True):
        (m, n), (p, q) = a["weight"].shape, b["weight"].shape
        whole = np.zeros((m + p, n + q))
        whole[:m, :n], whole[m:, n:] = a["weight"], b["weight"]
        weights.append(whole)
        biases.append(np.concatenate([a["bias"], b["bias"]]))
    return perceptron(weights, biases, activation)


def cross(network, x, kind, own):
    """Largest edge between the halves, over the largest of all; a direction is of the half in which it lies."""
    basis = interaction_basis(network, x, kind=kind, centre=True)
    edges = interaction_graph(network, x, basis, points=3).strengths
    first = [
        (layer.forward[:, :w] ** 2).sum(1) > (layer.forward[:, w:] ** 2).sum(1)
        for layer, w in zip(basis.layers, own, strict=True)
    ]
    distance = [
        strength[above[:, None] != below].max()
        for strength, (below, above) in zip(edges, pairwise(first), strict=True)
    ]
    return max(distance) / max(part.max() for part in edges)


@given(seeds, st.lists(st.integers(2, 6), min_size=2, max_size=4), st.sampled_from([1, 2, 5]))
@settings(max_examples=8)
def test_edges_of_a_deep_linear_network_are_its_importances(seed, widths, points):
    network, x = draw(seed, widths, "identity")
    for kind in ("global", "local"):
        for centre in (False, True):
            basis = interaction_basis(network, x, kind=kind, centre=centre)
            graph = interaction_graph(network, x, basis, points=points)
            for strength, layer in zip(graph.strengths, basis.layers, strict=False):
                gap = np.abs(strength - np.diag(layer.importance)).max()
                assert gap < 1e-10 * layer.importance[0]


@given(seeds)
@settings(max_examples=3)
def test_independent_blocks_have_no_edges_between_them_on_a_product_design(seed):
    left, right = np.random.default_rng(seed).standard_normal((2, 9, 2))
    x = np.concatenate([np.repeat(left, 9, 0), np.tile(right, (9, 1))], 1)
    for kind in ("global", "local"):
        # Squared: 1e-8 in the unit of activations.
        assert cross(blocks_apart(seed, (2, 4, 3), "gelu"), x, kind, (2, 4, 3)) < 1e-16


def test_fast_edges_are_those_of_jacobians_by_blocks(monkeypatch):
    network, x = draw(2, (3, 5, 2), "tanh")
    hidden = dataclasses.replace(
        network, sections=tuple(Section(item.apply, None, item.bias) for item in network.sections)
    )
    for centre in (False, True):
        basis = interaction_basis(network, x, centre=centre)
        quick = interaction_graph(network, x, basis, points=5)
        with monkeypatch.context() as change:
            change.setattr(folded, "BUDGET", 3000)
            slow = interaction_graph(hidden, x, basis, points=5)
        for a, b in zip(quick.strengths, slow.strengths, strict=True):
            np.testing.assert_allclose(a, b, atol=1e-12)


def test_points_integrate_polynomials_and_one_point_is_the_end():
    places, weights = path_points(3)
    for power in range(6):
        assert abs(weights @ places**power - 1 / (power + 1)) < 1e-14
    assert path_points(1) == (np.ones(1), np.ones(1))
    with pytest.raises(ArgumentError, match="points"):
        path_points(0)


def test_a_basis_of_another_network_is_refused():
    network, x = draw(0, (3, 5, 2), "relu")
    other, _ = draw(0, (3, 4, 2), "relu")
    with pytest.raises(ArgumentError, match="basis"):
        interaction_graph(other, x, interaction_basis(network, x))
