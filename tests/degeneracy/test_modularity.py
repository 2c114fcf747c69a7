import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from foretrain.degeneracy import modularity
from foretrain.degeneracy.modularity import (
    affinity,
    derivative_freedom,
    log_strength,
    partition,
    secant_freedom,
    secant_of_volumes,
)
from foretrain.errors import ArgumentError

strengths = st.floats(0.02, 1)


def planted(sizes, between, seed=0):
    """Dense modules with a few weights between them."""
    random = np.random.default_rng(seed)
    labels = np.repeat(np.arange(len(sizes)), sizes)
    weights = np.triu(random.uniform(1, 2, (len(labels),) * 2) * (labels[:, None] == labels), 1)
    for a, b, w in between:
        weights[min(a, b), max(a, b)] = w
    return weights + weights.T, labels


def same(found, labels):
    """Whether two labelings are one up to names."""
    pairs = {(int(a), int(b)) for a, b in zip(found, labels, strict=True)}
    return len(pairs) == len(set(found)) == len(set(labels))


@given(strengths, st.floats(1e-6, 0.5))
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
        log_strength(0.1, 1.0)


def test_every_partition_is_counted_and_made_once():
    for size, k in ((4, 2), (6, 3), (7, 1), (5, 5), (9, 4)):
        made = np.concatenate(list(modularity._every(size, k)))
        assert len(made) == modularity._count(size, k)
        assert len({tuple(row) for row in made}) == len(made)
        assert all(set(row) == set(range(k)) for row in made)


@given(st.integers(0, 2**32 - 1), st.integers(2, 3), st.sampled_from(["volume", "none"]))
@settings(max_examples=15)
def test_the_heuristic_finds_what_looking_at_all_finds(seed, k, balance):
    random = np.random.default_rng(seed)
    weights = np.triu(random.exponential(size=(9, 9)) * (random.random((9, 9)) < 0.5), 1)
    weights += weights.T + np.eye(9, k=1) * 0.1 + np.eye(9, k=-1) * 0.1
    exact = partition(weights, k, balance=balance)
    assert exact.exact
    found = [
        modularity._improved(weights, start, k, balance) for start in modularity._starts(weights, k)
    ]
    values = [modularity._objective(weights, one[None], k, balance)[0] for one in found]
    assert min(values) <= exact.objective * 1.1 + 1e-9
    assert min(values) >= exact.objective - 1e-9


@pytest.mark.parametrize("sizes", [(5, 6), (20, 30), (14, 14, 14)])
def test_planted_modules_are_found_and_their_number(sizes):
    end = sum(sizes) - 1
    weights, labels = planted(sizes, [(0, end, 0.7), (1, end - 1, 0.5)])
    found = partition(weights, len(sizes))
    assert same(found.labels, labels)
    assert found.cut == pytest.approx(1.2)
    assert found.exact == (sum(sizes) < 18)
    assert partition(weights, None, most=4).modules == len(sizes)


def test_without_balance_the_plain_minimum_is_a_weak_leaf():
    weights, labels = planted((5, 5), [(0, 9, 0.7)])
    weights = np.pad(weights, (0, 1))
    weights[10, 3] = weights[3, 10] = 0.1  # a leaf
    plain, balanced = (partition(weights, 2, balance=b) for b in ("none", "volume"))
    assert plain.cut == pytest.approx(0.1)
    assert sorted(np.bincount(plain.labels)) == [1, 10]
    assert balanced.cut == pytest.approx(0.7)
    assert same(balanced.labels[:10], labels)


def test_modules_that_nothing_joins_are_found_beside_dust():
    weights, labels = planted((6, 6, 2), [])
    found = partition(weights, 2)
    assert found.cut == 0
    assert same(found.labels[:12], labels[:12])
    lonely = partition(np.pad(weights, (0, 2)), 2)
    assert (lonely.labels[-2:] == -1).all()


def test_the_affinity_of_a_layered_graph_and_labels_by_layer():
    eps = 0.01
    edges = [np.diag([1.0, 0.04, 1e-4]), np.array([[1.0, 0.0, 0.0]])]
    weights = affinity(edges, eps)
    assert weights.shape == (7, 7)
    assert weights[3, 0] == weights[0, 3] == pytest.approx(np.log(10))
    assert weights[4, 1] == pytest.approx(np.log(2))
    assert weights[5, 2] == 0
    found = partition(weights, 2)
    assert [len(part) for part in found.by_layer((3, 3, 1))] == [3, 3, 1]
    assert found.by_layer((3, 3, 1))[0][2] == -1


def test_bad_weights_are_refused():
    with pytest.raises(ArgumentError, match="symmetric"):
        partition(np.triu(np.ones((3, 3))), 2)
    with pytest.raises(ArgumentError, match="negative"):
        partition(-np.ones((3, 3)), 2)
    with pytest.raises(ArgumentError, match="at most 3"):
        partition(np.ones((3, 3)), 4)
    assert partition(np.zeros((3, 3)), None).modules == 0
