"""Competition for a target, on runs small enough to count by hand."""

import numpy as np
import pytest

from foretrain.quantities import competition

FIRST = np.array([[0, 0, 1, -1, -1], [2, 1, 0, -1, 1], [0, 1, 2, 3, 4]])
BUMPS = np.array([[2, 0, 1, 0, 0], [1, 0, 0, 0, 0], [0, 0, 0, 0, 0]])


def test_sharing_a_first_target_needs_two_components_that_have_one():
    expected = [[True, True, False, False, False], [False, True, False, False, True], [False] * 5]
    assert competition.shares_first_target(FIRST).tolist() == expected


def test_bumps_are_counted_by_whether_the_first_target_was_shared():
    # Run 0: bumps on components 0 (shares) and 2 (does not). Run 1: on component 0, which does not. Run 2: none.
    np.testing.assert_array_equal(competition.sharing_of_bumped(FIRST, BUMPS), [0.5, 0.0, np.nan])
    expected = [2 / 2 - 1 / 3, 0 - 1 / 3, np.nan]
    np.testing.assert_allclose(competition.extra_bumps_of_sharing(FIRST, BUMPS), expected)


def test_the_excess_of_sharing_is_that_of_all_runs_together_and_its_spread_that_of_resampling():
    # Of three components with a bump one shared; of fifteen components four did.
    found = competition.excess_sharing_of_bumped(FIRST, BUMPS)
    assert found.mean() == pytest.approx(1 / 3 - 4 / 15, rel=1e-12)
    rng = np.random.default_rng(0)
    first = np.stack([np.zeros(4000, int), rng.random(4000) < 0.4], 1)
    bumps = (rng.random((4000, 2)) < np.where(first[:, 1:] == 0, 0.6, 0.3)).astype(float)
    excess = lambda rows: competition.excess_sharing_of_bumped(first[rows], bumps[rows])  # noqa: E731
    resampled = [excess(rng.integers(0, 4000, 4000)).mean() for _ in range(300)]
    expected = excess(np.arange(4000)).std() / np.sqrt(4000)
    assert np.std(resampled) == pytest.approx(expected, rel=0.2)  # 5 SD of that of 300 draws
    assert np.isnan(competition.excess_sharing_of_bumped(FIRST, 0 * BUMPS)).all()


def test_pairs_that_contest_a_target_and_pairs_that_contest_nothing():
    number, bumped = competition.pairs(FIRST, BUMPS)
    # Run 0: 0 and 1 contest, and only component 2 is alone. Run 1: 1 and 4 contest; 0 and 2 contest nothing, 0 has a bump.
    assert number.tolist() == [[1, 0], [1, 1], [0, 10]]
    assert bumped.tolist() == [[1, 0], [0, 1], [0, 0]]
    excess = competition.excess_of_contested(FIRST, BUMPS)
    assert excess.mean() == pytest.approx(1 / 2 - 1 / 11, rel=1e-12)
    assert np.isnan(competition.excess_of_contested(FIRST[:1], BUMPS[:1])).all()


def test_one_bump_among_the_contestants_is_enough_to_have_backed_off():
    np.testing.assert_array_equal(competition.backed_off(FIRST, BUMPS), [1.0, 0.0, np.nan])


def test_only_pairs_in_which_one_run_shares_count_and_their_sides_are_told_apart():
    first = np.array([[0, 0], [0, 1], [1, 1], [-1, -1]])
    partner = np.array([[0, 1], [1, 1], [0, 0], [0, 1]])
    bumps, partner_bumps = np.array([[1, 1], [0, 1], [5, 5], [5, 5]]), np.full((4, 2), 2)
    sharing, apart = competition.matched_bumps(first, bumps, partner, partner_bumps)
    np.testing.assert_array_equal(sharing, [2, 4, np.nan, np.nan])
    np.testing.assert_array_equal(apart, [4, 1, np.nan, np.nan])


def test_the_mean_over_cells_leaves_out_what_is_not_finite():
    values = [[1.0, np.nan, np.nan], [3.0, 2.0, np.nan]]
    np.testing.assert_array_equal(competition.mean_over_cells(values), [2.0, 2.0, np.nan])
