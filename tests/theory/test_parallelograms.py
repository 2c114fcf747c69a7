"""Parallelograms of embeddings: counted, closed, and deduced from others, two where symbols commute, three where not."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.linalg import matrix_rank

from foretrain.errors import ArgumentError
from foretrain.tasks import groups
from foretrain.theory.grokking import parallelograms as theory

TEN = groups.addition(10)
S3 = groups.symmetric(3)


def sets(operation, size, draws, seed=0):
    return groups.training_sets(operation, size, draws, np.random.default_rng(seed))


def test_parallelograms_are_all_pairs_of_samples_with_one_label():
    for operation in (groups.addition(6), S3, groups.cyclic(4)):
        _, pairs = theory.parallelograms(operation)
        every = combinations(range(len(operation.samples)), 2)
        assert pairs.tolist() == [
            [a, b] for a, b in every if operation.labels[a] == operation.labels[b]
        ]


@pytest.mark.parametrize("operation", [TEN, S3, groups.cyclic(5), groups.addition(2)])
def test_gram_matrix_is_made_of_the_incidence_matrix(operation):
    rows = theory.incidence(operation)
    for size in (1, len(operation.samples) // 2, len(operation.samples)):
        training = sets(operation, size, 6).reshape(2, 3, -1)
        expected = np.einsum("...k,ki,kj->...ij", theory.inside(operation, training), rows, rows)
        np.testing.assert_array_equal(theory.gram(operation, training), expected)


@pytest.mark.parametrize("operation", [TEN, groups.addition(5), groups.cyclic(6)])
def test_degrees_of_freedom_are_counted_exactly(operation):
    rows = theory.incidence(operation)
    for size in range(1, len(operation.samples) + 1, 3):
        training = sets(operation, size, 5, seed=size)
        chosen = theory.inside(operation, training)
        exact = [operation.symbols - matrix_rank(rows[which]) for which in chosen]
        assert theory.degrees_of_freedom(operation, training).tolist() == exact


@settings(max_examples=30, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    dimensions=st.integers(1, 3),
    scale=st.floats(-1e3, 1e3).filter(lambda value: abs(value) > 1e-3),
    shift=st.floats(-1e3, 1e3),
)
def test_rqi_is_invariant_under_affine_maps_of_each_dimension(seed, dimensions, scale, shift):
    random = np.random.default_rng(seed)
    embedding = np.arange(10.0)[:, None] + random.normal(size=(10, dimensions)) * 0.05
    scales = scale * random.uniform(0.5, 2, dimensions) * random.choice([-1, 1], dimensions)
    mapped = embedding[:, random.permutation(dimensions)] * scales + shift
    assert theory.rqi(embedding, TEN) > 0
    assert theory.rqi(mapped, TEN) == theory.rqi(embedding, TEN)


def test_tolerance_is_a_distance_in_units_of_the_unbiased_deviation():
    line = np.arange(4.0)[:, None]
    line[3] += 0.2
    unit = line.std(ddof=1)
    four = groups.addition(4)
    # (0, 3) to (1, 2) and (1, 3) to (2, 2) are off by .2; (0, 2) to (1, 1) is exact.
    assert theory.parallelograms_of(line, four, 0.2 / unit * 1.001).sum() == 3
    assert theory.parallelograms_of(line, four, 0.2 / unit * 0.999).sum() == 1
    # A representation that collapsed has none.
    assert not theory.parallelograms_of(np.ones((10, 1)), TEN).any()


def test_predicted_accuracy_by_its_definition():
    random = np.random.default_rng(1)
    _, pairs = theory.parallelograms(TEN)
    for size in (1, 20, 55):
        training = sets(TEN, size, 4)
        chosen = random.random((4, 70)) < 0.3
        for known, which, accuracy in zip(
            training, chosen, theory.predicted_accuracy(TEN, training, chosen), strict=True
        ):
            augmented = set(np.flatnonzero(known))
            for (a, b), there in zip(pairs, which, strict=True):
                augmented |= {a} if there and known[b] else set()
                augmented |= {b} if there and known[a] else set()
            assert accuracy == pytest.approx(len(augmented) / 55)


def test_ideal_by_its_definition():
    rows = theory.incidence(TEN)
    for size in (8, 14, 20, 26):
        training = sets(TEN, size, 3, seed=size)
        for chosen, closed in zip(
            theory.inside(TEN, training), theory.ideal(TEN, training), strict=True
        ):
            whole = matrix_rank(rows[chosen])
            assert closed.tolist() == [matrix_rank([*rows[chosen], row]) == whole for row in rows]


def test_critical_size_is_where_an_order_becomes_unique():
    five = groups.addition(5)
    result = theory.critical_sizes(five, 20, np.random.default_rng(0))
    order = np.random.default_rng(0).permuted(np.tile(np.arange(15), (20, 1)), axis=1)
    for k, place in enumerate(order):
        unique = [bool(theory.unique_linear(five, place < size)) for size in range(1, 16)]
        assert result[k] == 1 + unique.index(True)


@pytest.mark.parametrize("operation", [groups.cyclic(5), groups.cyclic(6), groups.dihedral(4)])
def test_embeddings_of_a_group_that_satisfy_all_parallelograms_coincide(operation):
    training = np.ones(len(operation.samples), bool)
    assert theory.degrees_of_freedom(operation, training) == 1
    assert theory.gram(operation, training) @ np.ones(operation.symbols) == pytest.approx(
        np.zeros(operation.symbols)
    )


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: theory.ideal(TEN, np.ones(54, bool)), "hold true or false for each of 55"),
        (lambda: theory.gram(TEN, np.ones(55)), "dtype float64"),
        (lambda: theory.gram(TEN, np.zeros((3, 55), bool)), "hold 1 to 55 samples"),
        (lambda: theory.rqi(np.ones((9, 1)), TEN), "10 symbols"),
        (lambda: theory.implied(TEN, np.ones(69, bool)), "each of 70 parallelograms"),
        (lambda: theory.ideal(TEN, np.ones((0, 55), bool)), "one set at least"),
        (lambda: theory.rqi(np.ones((10, 0)), TEN), r"has shape \(10, 0\)"),
    ],
)
def test_what_does_not_fit_is_refused(call, words):
    with pytest.raises(ArgumentError, match=words):
        call()


def deduced(operation, number):
    """Sets of so many parallelograms, and which others each implies, bool (set, parallelogram)."""
    size = len(theory.parallelograms(operation)[0])
    which = np.array(list(combinations(range(size), number)))
    chosen = np.zeros((len(which), size), bool)
    np.put_along_axis(chosen, which, True, axis=1)
    closed = theory.implied(operation, chosen)
    assert (closed >= chosen).all()
    return chosen, closed & ~chosen


def of_other_labels(operation, number):
    """Of each set, True if something new has a label that none of the set has."""
    chosen, new = deduced(operation, number)
    label = operation.labels[theory.parallelograms(operation)[1][:, 0]]
    return (new & ~np.array([np.isin(label, label[row]) for row in chosen])).any(-1)


def test_two_parallelograms_deduce_a_third_where_symbols_commute():
    assert not deduced(TEN, 1)[1].any()
    assert of_other_labels(TEN, 2).any()
    # E_0 + E_3 = E_1 + E_2 and E_0 + E_4 = E_1 + E_3 have the difference E_3 + E_3 = E_2 + E_4
    pairs = (0, 3), (1, 2), (0, 4), (1, 3)
    training = np.array([tuple(sample) in pairs for sample in TEN.samples.tolist()])
    closed = theory.ideal(TEN, training)
    symbols = theory.parallelograms(TEN)[0][closed & ~theory.inside(TEN, training)]
    assert symbols.tolist() == [[2, 4, 3, 3]]


@pytest.mark.slow
def test_three_products_are_needed_where_symbols_do_not_commute():
    assert not deduced(S3, 1)[1].any()
    # ab = cd and cd = ef give ab = ef, which no sample of another label gains from
    assert deduced(S3, 2)[1].any()
    assert not of_other_labels(S3, 2).any()
