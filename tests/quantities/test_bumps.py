import numpy as np
import pytest

from foretrain.errors import ArgumentError
from foretrain.quantities.alignment import alignment
from foretrain.quantities.bumps import (
    Bump,
    backed_off,
    bumps,
    bumps_of_pairs,
    bumps_per_component,
    shares_first_target,
)


def curve(*knots, samples=40):
    """Straight lines through the knots."""
    return np.interp(
        np.linspace(0, len(knots) - 1, samples * (len(knots) - 1) + 1), range(len(knots)), knots
    )


def series(*curves):
    """One component per pair of curves (target 0, target 1)."""
    return np.stack([np.stack(pair, axis=-1) for pair in curves], axis=-1)


RISES, STAYS_LOW = curve(0, 0.5, 1, 1), curve(0, 0, 0, 0)


def test_a_target_given_up_is_a_bump():
    result = bumps(series((curve(0, 0.6, 0.2, 0.1), RISES)))
    assert result == [Bump(0, 0, 40, result[0].height, result[0].prominence)]
    assert (result[0].height, result[0].prominence) == pytest.approx((0.6, 0.5))


@pytest.mark.parametrize(
    "path",
    [
        curve(0, 0.5, 0.9, 1.0),  # grows and stays
        curve(0, 0.08, 0, 0),  # too low
        curve(0.6, 0.4, 0.1, 0),  # starts high and falls: no maximum inside
        curve(0.55, 0.6, 0.1, 0),  # rises by less than .1 before it falls
        curve(0, 0.45, 0.2, 0.4),  # is won back to within .1, though too low to end on it
    ],
)
def test_what_is_not_a_bump(path):
    assert bumps(series((path, STAYS_LOW))) == []


def test_a_dip_on_the_way_to_the_target_it_ends_on_is_none():
    assert bumps(series((curve(0, 1.0, 0.6, 0.8), STAYS_LOW))) == []
    # The same path, when another target is nearer in the end.
    assert len(bumps(series((curve(0, 1.0, 0.6, 0.8), curve(0, 0, 0.5, 0.9))))) == 1


def test_counting_uses_the_order_of_samples_and_not_their_times():
    times = np.linspace(0, 1, 4001)
    alignments = series((np.sin(np.pi * times) ** 2, STAYS_LOW[:1] * times))
    for each in (alignments, alignments[np.unique((4000 * times**3).astype(int))]):
        assert bumps_per_component(each).tolist() == [1]


def random_trajectory(seed, components=3, targets=2):
    """Factors that wander, with a target: enough bumps to count."""
    rng = np.random.default_rng(seed)
    target = rng.standard_normal((2, 4, targets))
    knots = rng.standard_normal((2, 8, 4, components))
    t = np.linspace(0, 7, 300)
    return *np.apply_along_axis(lambda column: np.interp(t, range(8), column), 1, knots), *target


@pytest.mark.parametrize("seed", range(5))
def test_counts_follow_the_labels_and_do_not_see_frames_and_scales(seed):
    left, right, a, b = random_trajectory(seed)
    plain, order = bumps_per_component(alignment(left, right, a, b)), [2, 0, 1]
    assert plain.sum() > 0
    relabelled = alignment(left[..., order], right[..., order], a[:, ::-1], b[:, ::-1])
    np.testing.assert_array_equal(bumps_per_component(relabelled), plain[order])
    p, q = np.linalg.qr(np.random.default_rng(seed).standard_normal((2, 4, 4)))[0]
    scale = np.array([3.0, -0.5, 1.0])
    moved = bumps_per_component(alignment(p @ left * scale, q @ right * scale, p @ a, q @ b))
    np.testing.assert_array_equal(moved, plain)


def test_user_errors_name_the_argument():
    with pytest.raises(ArgumentError, match="`alignments` must have 3 axes, but has shape"):
        bumps(np.zeros((3, 2)))
    with pytest.raises(ArgumentError, match="`prominence` must be greater than 0, but is 0"):
        bumps(np.zeros((3, 2, 2)), prominence=0.0)
    with pytest.raises(ArgumentError, match="`alignments` must hold finite numbers"):
        bumps(np.full((3, 2, 2), np.nan))


FIRST = np.array([[0, 0, 1, -1, -1], [2, 1, 0, -1, 1], [0, 1, 2, 3, 4]])
BUMPS = np.array([[2, 0, 1, 0, 0], [1, 0, 0, 0, 0], [0, 0, 0, 0, 0]])


def test_sharing_a_first_target_needs_two_components_that_have_one():
    expected = [[True, True, False, False, False], [False, True, False, False, True], [False] * 5]
    assert shares_first_target(FIRST).tolist() == expected


def test_one_bump_among_the_contestants_is_enough_to_have_backed_off():
    np.testing.assert_array_equal(backed_off(FIRST, BUMPS), [1.0, 0.0, np.nan])


def test_only_pairs_in_which_one_run_shares_count_and_their_sides_are_told_apart():
    first = np.array([[0, 0], [0, 1], [1, 1], [-1, -1]])
    partner = np.array([[0, 1], [1, 1], [0, 0], [0, 1]])
    bumps, partner_bumps = np.array([[1, 1], [0, 1], [5, 5], [5, 5]]), np.full((4, 2), 2)
    sharing, distance = bumps_of_pairs(first, bumps, partner, partner_bumps)
    np.testing.assert_array_equal(sharing, [2, 4, np.nan, np.nan])
    np.testing.assert_array_equal(distance, [4, 1, np.nan, np.nan])
