import numpy as np
import pytest

from foretrain.errors import ArgumentError
from foretrain.tasks import groups

MADE = {"cyclic": groups.cyclic(5), "dihedral": groups.dihedral(4)}
MADE["symmetric"] = groups.symmetric(3)


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
    table = operation.table
    assert (table[table] == table[:, table]).all()
    assert (np.sort(table) == np.arange(len(table))).all()
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
    assert groups.named("cyclic", 7).outcomes == 7
    ordered = groups.named("cyclic", 7, ordered=True)
    assert len(ordered.samples) == 49
    assert not ordered.commutative


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: groups.named("cycle", 5), "Did you mean `cyclic`"),
        (lambda: groups.named("dihedral", 7), "be even and at least 6"),
        (lambda: groups.named("symmetric", 10), "be 2, 6, 24 or 120"),
    ],
)
def test_what_cannot_be_made_is_refused(make, words):
    with pytest.raises(ArgumentError, match=words):
        make()


def test_training_sets_have_their_size_and_each_sample_its_share():
    sets = groups.training_sets(groups.addition(10), 22, 4000, np.random.default_rng(0))
    assert (sets.sum(1) == 22).all()
    assert np.abs(sets.mean(0) - 0.4).max() < 5 * np.sqrt(0.4 * 0.6 / 4000)
