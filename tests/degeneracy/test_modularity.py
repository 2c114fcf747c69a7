from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from foretrain.degeneracy.interactions.modularity import (
    affinity,
    derivative_freedom,
    log_strength,
    partition,
    secant_freedom,
    secant_of_volumes,
)
from foretrain.degeneracy.interactions.rewiring import is_modular, modules, rewired
from foretrain.degeneracy.interactions.wiring import wired
from foretrain.degeneracy.network import perceptron
from foretrain.errors import ArgumentError


def planted(sizes, between):
    """Dense modules with a few weights between them."""
    random = np.random.default_rng(0)
    labels = np.repeat(np.arange(len(sizes)), sizes)
    weights = np.triu(random.uniform(1, 2, (len(labels),) * 2) * (labels[:, None] == labels), 1)
    for a, b, w in between:
        weights[min(a, b), max(a, b)] = w
    return weights + weights.T, labels


def layered(blocks, noise, seed=0):
    """Strengths between three layers of four nodes a block, in any order, some edges between blocks; and the blocks."""
    random = np.random.default_rng(seed)
    labels = [random.permutation(np.repeat(np.arange(blocks), 4)) for _ in range(3)]
    parts = []
    for low, up in pairwise(labels):
        inside = up[:, None] == low
        kept = inside | (random.random(inside.shape) < noise)
        parts.append(random.uniform(0.1, 1, inside.shape) * kept)
    return parts, np.concatenate(labels)


def same(parting, labels):
    """Return True where two labelings are one up to names."""
    pairs = {(int(a), int(b)) for a, b in zip(parting, labels, strict=True)}
    return len(pairs) == len(set(parting)) == len(set(labels))


@given(st.floats(0.02, 1), st.floats(1e-6, 0.5))
@settings(max_examples=25)
def test_the_secant_of_a_quadratic_constraint_is_its_formula_and_the_derivative_a_step(w, eps):
    """L = w² v² in |v| <= 1 has the volume min(1, eps^{1/2}/w)."""

    def volume(e):
        return min(1.0, e**0.5 / w)

    np.testing.assert_allclose(
        secant_of_volumes(volume(eps), 1.0, eps), secant_freedom(w, eps), atol=1e-9
    )
    if abs(np.log(w * w / eps)) > 1e-3:
        slope = 2 * (np.log(volume(eps * 1.0001)) - np.log(volume(eps))) / np.log(1.0001)
        assert abs(slope - derivative_freedom(w, eps)) < 1e-6


def test_strengths_add_as_logarithms():
    eps = 1e-4
    w = 0.1  # half way, on a logarithmic scale, from eps^{1/2} to 1
    assert secant_freedom(w, eps) == pytest.approx(0.5)
    assert 2 * log_strength(w, eps) == pytest.approx(log_strength(1.0, eps))
    assert secant_freedom(0.005, eps) == 0
    assert secant_freedom(3.0, eps) == pytest.approx(1)
    with pytest.raises(ArgumentError, match="eps"):
        secant_freedom(0.1, 1.0)
    with pytest.raises(ArgumentError, match="eps"):
        log_strength(0.1, 0.0)


def every(size):
    """All partitions of so many nodes, each once, (partition, node)."""
    result = [[0]]
    for _ in range(size - 1):
        result = [[*item, name] for item in result for name in range(max(item) + 2)]
    return np.array(result)


EVERY = every(7)


@given(st.integers(0, 2**32 - 1), st.sampled_from([0.5, 1.0, 2.0]))
@settings(max_examples=10)
def test_the_search_finds_the_best_of_all_partitions_of_a_small_graph(seed, resolution):
    random = np.random.default_rng(seed)
    weights = np.triu(random.exponential(size=(7, 7)) * (random.random((7, 7)) < 0.5), 1)
    weights += weights.T + np.eye(7, k=1) * 0.1 + np.eye(7, k=-1) * 0.1
    shares = weights / weights.sum()
    null = resolution * np.outer(shares.sum(0), shares.sum(0))
    inside = EVERY[:, :, None] == EVERY[:, None]
    best = ((shares - null) * inside).sum((1, 2))
    free = partition(weights, resolution=resolution)
    assert best.max() - 0.02 < free.modularity < best.max() + 1e-12
    cut = (shares * ~inside).sum((1, 2)) / 2 * weights.sum()
    two = partition(weights, 2, objective="cut")
    assert cut[EVERY.max(1) == 1].min() - 1e-9 < two.cut < 1.2 * cut[EVERY.max(1) == 1].min()


@pytest.mark.parametrize(("blocks", "n"), [(12, 2000), (14, 1000), (20, 1000)])
def test_blocks_of_a_network_that_share_no_weight_are_its_modules(blocks, n):
    """All blocks are alike, so that the least chance correlation would mix their directions."""
    random, weights = np.random.default_rng(blocks), []
    labels = [random.permutation(np.repeat(np.arange(blocks), wide)) for wide in (3, 4, 4, 2)]
    for below, above in pairwise(labels):
        block = random.standard_normal((above.size // blocks, below.size // blocks))
        weights.append(np.zeros((above.size, below.size)))
        for at in range(blocks):
            weights[-1][np.ix_(above == at, below == at)] = block
    wiring, doubts = wired(perceptron(weights), random.standard_normal((n, 3 * blocks)), 1e-3)
    pairs = zip(labels, wiring.basis.layers, strict=True)
    members = np.concatenate([label[abs(basis.backward).argmax(0)] for label, basis in pairs])
    assert same(*(names[wiring.modules.labels >= 0] for names in (wiring.modules.labels, members)))
    assert (wiring.modules.modules, wiring.parts, doubts) == (blocks, blocks, [])


@pytest.mark.parametrize("blocks", [2, 7])
def test_the_modularity_of_equal_blocks_apart_is_one_less_the_resolution_over_their_number(blocks):
    for resolution in (0.5, 1, 1.5):
        parting = partition(np.kron(np.eye(blocks), 1 - np.eye(5)), resolution=resolution)
        assert parting.modularity == pytest.approx(1 - resolution / blocks)
        assert parting.modules == blocks
        assert parting.cut == pytest.approx(0, abs=1e-12)


def test_two_blocks_are_one_exactly_where_their_weight_is_above_that_by_chance():
    weights, labels = planted((6, 6), [(0, 6, 2.0), (3, 9, 1.0)])
    sums = np.array([[weights[labels == a][:, labels == b].sum() for a in (0, 1)] for b in (0, 1)])
    shares = sums / sums.sum()
    equal = shares[0, 1] / shares.sum(0).prod()
    assert partition(weights, resolution=0.99 * equal).modules == 1
    assert same(partition(weights, resolution=1.01 * equal).labels, labels)


@pytest.mark.parametrize("objective", ["modularity", "normalised cut"])
@pytest.mark.parametrize("sizes", [(5, 6), (20, 30), (14, 14, 14)])
def test_so_many_modules_as_are_asked_for_are_found_by_either_objective(sizes, objective):
    end = sum(sizes) - 1
    weights, labels = planted(sizes, [(0, end, 0.7), (1, end - 1, 0.5)])
    parting = partition(weights, len(sizes), objective=objective)
    assert same(parting.labels, labels)
    assert parting.cut == pytest.approx(1.2)
    assert partition(weights, 9, objective=objective).modules == 9


def test_the_plain_minimum_of_the_cut_is_a_weak_leaf():
    weights, labels = planted((5, 5), [(0, 9, 0.7)])
    weights = np.pad(weights, (0, 1))
    weights[10, 3] = weights[3, 10] = 0.1  # a leaf
    plain, normalised = (partition(weights, 2, objective=o) for o in ("cut", "normalised cut"))
    assert plain.cut == pytest.approx(0.1)
    assert sorted(np.bincount(plain.labels)) == [1, 10]
    assert normalised.cut == pytest.approx(0.7)
    assert same(normalised.labels[:10], labels)
    assert same(partition(weights).labels[:10], labels)


def test_the_affinity_of_a_layered_graph_and_labels_by_layer():
    eps = 0.01
    edges = [np.diag([1.0, 0.04, 1e-4]), np.array([[1.0, 0.0, 0.0]])]
    weights = affinity(edges, eps)
    assert weights.shape == (7, 7)
    assert weights[3, 0] == weights[0, 3] == pytest.approx(np.log(10))
    assert weights[4, 1] == pytest.approx(np.log(2))
    assert weights[5, 2] == 0
    np.testing.assert_allclose(affinity([7 * part for part in edges], 7 * eps), weights)
    parting = partition(weights, 2)
    assert [len(part) for part in parting.by_layer((3, 3, 1))] == [3, 3, 1]
    assert parting.by_layer((3, 3, 1))[0][2] == -1


@settings(max_examples=30, deadline=None)
@given(st.integers(1, 9), st.integers(1, 9), st.floats(0.05, 1), st.integers(0, 99))
def test_rewired_graphs_have_the_same_values_and_degrees(rows, columns, density, seed):
    random = np.random.default_rng(seed)
    part = random.random((rows, columns)) * (random.random((rows, columns)) < density)
    result = rewired(part, random)
    np.testing.assert_array_equal(np.sort(result, axis=None), np.sort(part, axis=None))
    for axis in (0, 1):
        np.testing.assert_array_equal((result > 0).sum(axis), (part > 0).sum(axis))


def test_what_is_below_the_scale_is_no_edge():
    assert modules([np.array([[0.5, 1e-9], [1e-9, 0.5]])], 1e-3, draws=2)[1].shape == (2,)
    assert (modules([np.zeros((2, 2))], 1e-3, draws=2)[1] == 0).all()


def test_planted_blocks_are_more_modular_than_rewired_and_random_graphs_are_not():
    parts, labels = layered(4, noise=0.1)
    parting, by_chance = modules(parts, 1e-3)
    assert same(parting.labels, labels)
    assert is_modular(parting, by_chance)
    assert by_chance.shape == (10,)
    random = np.random.default_rng(3)
    parts = [random.uniform(0.1, 1, (16, 16)) * (random.random((16, 16)) < 0.3) for _ in range(2)]
    parting, by_chance = modules(parts, 1e-3)
    assert parting.modularity > 0.1  # any graph has modules
    assert not is_modular(parting, by_chance)


def test_bad_weights_are_refused():
    whole = np.ones((3, 3))
    for weights, options, says in (
        (np.triu(whole), {}, "symmetric"), (-whole, {}, "negative"), (whole, {"modules": 4}, "at most 3"),
        (whole, {"objective": "cut"}, "be a number with the objective `cut`"), (whole, {"resolution": 0}, "resolution"),
    ):  # fmt: skip
        with pytest.raises(ArgumentError, match=says):
            partition(weights, **options)
    assert partition(np.zeros((3, 3))).modules == 0
