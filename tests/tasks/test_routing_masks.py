import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from foretrain.errors import ArgumentError
from foretrain.streams import Seed, generator
from foretrain.tasks import masks as routing

SIZES = st.integers(1, 9).flatmap(lambda m: st.tuples(st.just(m), st.integers(1, m)))


def mask_generator(seed=0):
    return generator(Seed(0, seed), "mask")


@given(SIZES, st.integers(0, 99))
def test_biregular_masks_are_and_a_circulant_shifts_into_itself(sizes, seed):
    domains, trained_outputs = sizes
    trained = routing.circulant(domains, trained_outputs)
    for mask in (trained, routing.random_biregular(*sizes, mask_generator(seed))):
        assert routing.is_biregular(mask)
        assert set(np.unique(mask)) <= {0, 1}
        assert mask.sum() == domains * trained_outputs
    assert (np.roll(trained, (1, 1), (0, 1)) == trained).all()
    assert trained[0, :trained_outputs].all()


def test_random_biregular_is_uniform_over_the_permutations_of_three():
    counts = {}
    shared = mask_generator()
    for _ in range(1200):
        key = routing.random_biregular(3, 1, shared).tobytes()
        counts[key] = counts.get(key, 0) + 1
    # Six masks, 200 expected each; 15.1 is the 99% quantile of chi squared with 5 degrees of freedom.
    assert len(counts) == 6
    assert sum((n - 200) ** 2 / 200 for n in counts.values()) < 15.1


@given(SIZES, st.integers(0, 99))
def test_random_rows_train_every_input_equally_often_and_are_nested(sizes, seed):
    domains, trained_outputs = sizes
    trained = routing.random_rows(domains, trained_outputs, mask_generator(seed))
    assert (trained.sum(axis=1) == trained_outputs).all()
    if trained_outputs < domains:
        more = routing.random_rows(domains, trained_outputs + 1, mask_generator(seed))
        assert (more >= trained).all()


@pytest.mark.parametrize("diagonal", [True, False])
def test_nested_masks_add_one_pair_at_a_time(diagonal):
    first = 6 if diagonal else 1
    masks = [
        routing.nested(6, pairs, mask_generator(), diagonal=diagonal) for pairs in range(first, 37)
    ]
    for pairs, (fewer, more) in enumerate(itertools.pairwise(masks), start=first):
        assert fewer.sum() == pairs
        assert (more >= fewer).all()
    assert (masks[0] == np.eye(6)).all() == diagonal
    assert (routing.nested(6, 18, mask_generator(1), diagonal=diagonal) != masks[18 - first]).any()


@given(st.integers(2, 12), st.integers(0, 99))
def test_components_agree_with_networkx(domains, seed):
    import networkx as nx

    trained = (mask_generator(seed).random((domains, domains)) < 1.2 / domains).astype(np.int8)
    graph = nx.Graph()
    graph.add_nodes_from(range(2 * domains))
    graph.add_edges_from((i, domains + j) for i, j in np.argwhere(trained))
    labels = np.concatenate(routing.components(trained))
    assert labels.dtype == np.int64
    # Numbered in the order in which components first appear.
    first = labels[np.sort(np.unique(labels, return_index=True)[1])]
    assert first.tolist() == list(range(len(first)))
    expected = {frozenset(part) for part in nx.connected_components(graph)}
    assert {frozenset(np.flatnonzero(labels == label)) for label in set(labels)} == expected
    assert routing.is_connected(trained) == (len(expected) == 1)


@given(SIZES)
def test_islands_are_two_bands_that_nothing_joins(sizes):
    domains, trained_outputs = sizes
    trained, half = routing.islands(domains, trained_outputs), (domains + 1) // 2
    for island in (slice(0, half), slice(half, None)):
        part = trained[island, island]
        if part.size:
            band = routing.circulant(len(part), min(trained_outputs, len(part)))
            np.testing.assert_array_equal(part, band)
    assert not trained[:half, half:].any()
    assert not trained[half:, :half].any()
    drawn = routing.draw("islands", domains, trained_outputs, mask_generator())
    np.testing.assert_array_equal(drawn, trained)


def test_inputs_without_common_output_at_the_sizes_of_the_figures():
    # Bands of 3 on a ring of 10 are disjoint at distances 3, 4 (10 pairs each) and 5 (5 pairs).
    assert routing.without_common_output(routing.circulant(10, 3)).sum() == 25
    assert not routing.without_common_output(routing.circulant(7, 4)).any()
    trained = np.array([[1, 1, 0], [0, 1, 1], [0, 0, 1]])
    assert np.argwhere(routing.without_common_output(trained)).tolist() == [[0, 2]]


def test_sparse_masks_have_the_expected_number_of_outputs_and_train_something():
    random = np.random.default_rng(0)
    degrees = np.array([routing.sparse(10, 15, 2.5, random).sum(1) for _ in range(400)])
    # Four standard errors of 4000 binomial numbers.
    assert degrees.mean() == pytest.approx(2.5, abs=4 * np.sqrt(2.5 * (1 - 2.5 / 15) / 4000))
    assert all(routing.sparse(2, 3, 0.01, random).any() for _ in range(5))
    assert routing.sparse(3, 4, 4, random).all()
    with pytest.raises(ArgumentError, match="`degree` must be"):
        routing.sparse(3, 4, 4.5, random)
