"""Competition for a target, on runs small enough to count by hand."""

import numpy as np

from foretrain.quantities import competition

FIRST = np.array([[0, 0, 1, -1, -1], [2, 1, 0, -1, 1], [0, 1, 2, 3, 4]])
BUMPS = np.array([[2, 0, 1, 0, 0], [1, 0, 0, 0, 0], [0, 0, 0, 0, 0]])


def test_sharing_a_first_target_needs_two_components_that_have_one():
    expected = [[True, True, False, False, False], [False, True, False, False, True], [False] * 5]
    assert competition.shares_first_target(FIRST).tolist() == expected


def test_one_bump_among_the_contestants_is_enough_to_have_backed_off():
    np.testing.assert_array_equal(competition.backed_off(FIRST, BUMPS), [1.0, 0.0, np.nan])


def test_only_pairs_in_which_one_run_shares_count_and_their_sides_are_told_apart():
    first = np.array([[0, 0], [0, 1], [1, 1], [-1, -1]])
    partner = np.array([[0, 1], [1, 1], [0, 0], [0, 1]])
    bumps, partner_bumps = np.array([[1, 1], [0, 1], [5, 5], [5, 5]]), np.full((4, 2), 2)
    sharing, apart = competition.matched_bumps(first, bumps, partner, partner_bumps)
    np.testing.assert_array_equal(sharing, [2, 4, np.nan, np.nan])
    np.testing.assert_array_equal(apart, [4, 1, np.nan, np.nan])
