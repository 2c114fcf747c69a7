import numpy as np

from foretrain.quantities.agreement import balanced_agreement


def test_both_kinds_count_alike_whatever_their_number():
    result = np.array([1.0, 1, 1, 1, 0])
    assert balanced_agreement(result, result == 1) == 1
    assert balanced_agreement(result, np.ones(5, bool)) == 0.5
    assert balanced_agreement(result, np.array([True, False, True, False, False])) == 0.75


def test_one_kind_is_judged_alone_and_what_is_not_known_not_at_all():
    assert balanced_agreement(np.ones(2), np.array([True, False])) == 0.5
    assert np.isnan(balanced_agreement(np.zeros(0), np.zeros(0, bool)))
    assert np.isnan(balanced_agreement(np.array([1.0, np.nan]), np.array([True, False])))
