from itertools import combinations

import numpy as np
import pytest

from foretrain.explain.shares import FLOOR, bounded, shapley, shapley_shares

PLAYERS = ("a", "b", "c")
SETS = [frozenset(part) for size in range(4) for part in combinations(PLAYERS, size)]
RANDOM = np.random.default_rng(0)


def test_values_add_up_to_the_gap_curve_by_curve():
    game = {part: RANDOM.uniform(0, 1, (5, 7)) for part in SETS}
    result = shapley_shares(game, PLAYERS, np.ones(5))
    for whole in (sum(cause.values for cause in result.causes), game[SETS[-1]] - game[SETS[0]]):
        assert np.allclose(whole, result.gap, rtol=0, atol=1e-12)
    assert np.isclose(sum(cause.share.measured for cause in result.causes), 100)


def test_an_additive_game_gives_each_player_its_own_and_a_null_player_nothing():
    worth = {"a": 0.3, "b": -0.1, "c": 0.0}
    game = {part: np.full((2, 3), 0.5 + sum(worth[name] for name in part)) for part in SETS}
    values = shapley(game, PLAYERS)
    assert {name: value[0, 0] for name, value in values.items()} == pytest.approx(worth)
    result = shapley_shares(game, PLAYERS, np.ones(2))
    assert [cause.name for cause in result.causes] == ["a", "b", "c"]
    assert result.cancel == pytest.approx(0.4 / 0.2)
    assert result.causes[0].share.measured == pytest.approx(75)


def test_an_interaction_is_shared_and_seen_between_first_and_last():
    """Two players that change the loss only together, as noise at the edge does."""
    game = {part: np.full((2, 1), 0.5 - 0.4 * ({"a", "b"} <= part)) for part in SETS}
    result = shapley_shares(game, PLAYERS, np.ones(2))
    for cause in result.causes[:2]:
        assert (cause.alone, cause.last) == pytest.approx((0.0, 0.4))
    assert result.causes[1].share.measured == pytest.approx(50)


def test_shares_lie_between_nothing_and_all():
    sizes = np.array([[1.0], [1.0], [1.0], [0.02]])
    game = {part: 0.5 - 0.3 * ("a" in part) * sizes - 0.02 * ("b" in part) for part in SETS}
    for cause in shapley_shares(game, PLAYERS, np.ones(4)).causes:
        assert 0 <= cause.share.low <= cause.share.measured <= cause.share.high <= 100


def test_a_small_gap_is_not_taken_apart():
    game = {part: np.full((2, 3), 0.9 * FLOOR * ("a" in part)) for part in SETS}
    result = shapley_shares(game, PLAYERS, np.ones(2))
    assert result.causes == ()
    assert result.range.measured == pytest.approx(0.9 * FLOOR)


def test_a_curve_that_diverges_ruins_nothing():
    curve = np.array([[1.0, 0.5, 1.0, 4.0, 1e300, np.inf, np.nan]])
    assert bounded(2 * curve, np.array([2.0]))[0].tolist() == [1, 0.5, 1, 1.75, 2, 2, 2]
    game = {part: np.full((2, 3), np.nan if part == frozenset("b") else 0.5) for part in SETS}
    result = shapley_shares(game | {frozenset(PLAYERS): np.full((2, 3), 0.1)}, PLAYERS, np.ones(2))
    assert all(np.isfinite(cause.values).all() for cause in result.causes)
