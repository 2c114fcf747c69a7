from itertools import product

import numpy as np
import pytest

from foretrain.errors import ArgumentError
from foretrain.tasks import groups

MADE = {
    "cyclic": groups.cyclic(5),
    "dihedral": groups.dihedral(4),
    "symmetric": groups.symmetric(3),
}


def test_addition_has_no_modulus_and_unordered_samples():
    addition = groups.addition(10)
    assert addition.samples.shape == (55, 2)
    assert addition.commutative
    assert addition.outcomes == 19
    assert (addition.samples.sum(1) == addition.labels).all()
    assert (addition.samples[:, 0] <= addition.samples[:, 1]).all()


@pytest.mark.parametrize("name", MADE)
def test_made_groups_are_groups(name):
    operation = MADE[name]
    assert (groups.check_group(operation.table) == operation.table).all()
    a, b = operation.samples.T
    assert (operation.table[a, b] == operation.labels).all()


@pytest.mark.parametrize("degree", [2, 3, 4])
def test_permutations_are_composed(degree):
    operation = groups.symmetric(degree)
    matrices = groups.permutation_matrices(degree)
    assert (matrices[:, None] @ matrices[None] == matrices[operation.table]).all()
    assert operation.commutative == (degree == 2)
    assert operation.symbols == [0, 0, 2, 6, 24][degree]


def test_a_commutative_group_can_have_ordered_samples():
    assert len(groups.cyclic(7).samples) == 28
    ordered = groups.cyclic(7, ordered=True)
    assert len(ordered.samples) == 49
    assert not ordered.commutative


def test_names():
    made = [groups.named(*arguments).symbols for arguments in [("symmetric", 24), ("dihedral", 8)]]
    assert made == [24, 8]
    assert groups.named("addition", 10).outcomes == 19
    assert groups.named("cyclic", 10).outcomes == 10


@pytest.mark.parametrize(
    ("table", "words"),
    [
        ([[0, 1, 2], [1, 2, 0]], "be square, with at least two rows, but has shape"),
        ([[0.5, 1], [1, 0]], "hold whole numbers, but has dtype float64"),
        ([[0, 1], [1, 2]], r"be closed, as a group is, but 1 \* 1 is 2, which is not in 0..1"),
        ([[1, 1], [0, 0]], "have an identity"),
        ([[0, 1], [1, 1]], "have an inverse of every element, as a group is, but 1 has none"),
    ],
)
def test_a_table_that_is_no_group_is_told_why(table, words):
    with pytest.raises(ArgumentError, match=words) as error:
        groups.group(table)
    assert "\n" not in str(error.value)


def test_the_place_where_associativity_fails_is_true():
    loop = np.array(  # a Latin square with an identity, each element its own inverse
        [
            [0, 1, 2, 3, 4],
            [1, 0, 3, 4, 2],
            [2, 4, 0, 1, 3],
            [3, 2, 4, 0, 1],
            [4, 3, 1, 2, 0],
        ]
    )
    with pytest.raises(ArgumentError, match="be associative") as error:
        groups.check_group(loop)
    wrong = [
        (a, b, c)
        for a, b, c in product(range(5), repeat=3)
        if loop[loop[a, b], c] != loop[a, loop[b, c]]
    ]
    a, b, c = wrong[0]
    left, right = loop[loop[a, b], c], loop[a, loop[b, c]]
    assert f"({a} * {b}) * {c} is {left} and {a} * ({b} * {c}) is {right}" in str(error.value)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: groups.named("cycle", 5), "Did you mean `cyclic`"),
        (lambda: groups.group([[0, 1], [1]]), "have rows of one length"),
        (lambda: groups.named("dihedral", 7), "be even and at least 6"),
        (lambda: groups.named("symmetric", 10), "be 2, 6, 24 or 120"),
    ],
)
def test_what_cannot_be_made_is_refused(make, words):
    with pytest.raises(ArgumentError, match=words):
        make()


def test_training_sets_have_their_size_and_each_sample_its_share():
    addition = groups.addition(10)
    sets = groups.training_sets(addition, 22, 4000, np.random.default_rng(0))
    assert (sets.sum(1) == 22).all()
    error = np.sqrt(0.4 * 0.6 / 4000)
    assert np.abs(sets.mean(0) - 0.4).max() < 5 * error
