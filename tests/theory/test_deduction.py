"""Parallelograms that deduce another: two where symbols commute, three where they do not."""

from itertools import combinations

import numpy as np
import pytest

from foretrain.tasks import groups
from foretrain.theory.grokking import parallelograms as theory

TEN = groups.addition(10)
S3 = groups.symmetric(3)


def of(operation, *pairs):
    """The training set of some samples, given by their symbols."""
    return np.array([tuple(sample) in pairs for sample in operation.samples.tolist()])


def new_ones(operation, chosen):
    closed = theory.implied(operation, chosen)
    assert (closed >= chosen).all()
    return closed & ~chosen


def chosen_sets(operation, number):
    size = len(theory.parallelograms(operation)[0])
    which = np.array(list(combinations(range(size), number)))
    chosen = np.zeros((len(which), size), bool)
    np.put_along_axis(chosen, which, True, axis=1)
    return chosen


def other_label(operation, chosen, new):
    """Of each set, whether something new has a label that none of the set has."""
    label = operation.labels[theory.parallelograms(operation)[1][:, 0]]
    known = np.array([np.isin(label, label[row]) for row in chosen])
    return (new & ~known).any(-1)


def test_two_parallelograms_deduce_a_third_where_symbols_commute():
    single, two = chosen_sets(TEN, 1), chosen_sets(TEN, 2)
    assert not new_ones(TEN, single).any()
    assert other_label(TEN, two, new_ones(TEN, two)).any()
    # E_0 + E_3 = E_1 + E_2 and E_0 + E_4 = E_1 + E_3 have the difference E_3 + E_3 = E_2 + E_4
    training = of(TEN, (0, 3), (1, 2), (0, 4), (1, 3))
    closed = theory.ideal(TEN, training)
    symbols = theory.parallelograms(TEN)[0][closed & ~theory.inside(TEN, training)]
    assert symbols.tolist() == [[2, 4, 3, 3]]


@pytest.mark.slow
def test_three_products_are_needed_where_symbols_do_not_commute():
    single, two = chosen_sets(S3, 1), chosen_sets(S3, 2)
    assert not new_ones(S3, single).any()
    new = new_ones(S3, two)
    assert (
        new.any()
    )  # ab = cd and cd = ef give ab = ef, which no sample of another label gains from
    assert not other_label(S3, two, new).any()
