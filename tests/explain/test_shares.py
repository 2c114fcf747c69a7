from itertools import chain, combinations

import numpy as np
import pytest

from foretrain.explain.shares import FLOOR, bounded, shapley, shapley_shares

PLAYERS = ("a", "b", "c")
SETS = [
    frozenset(one) for one in chain.from_iterable(combinations(PLAYERS, size) for size in range(4))
]
RANDOM = np.random.default_rng(0)


def test_values_add_up_to_the_gap_curve_by_curve():
    game = {one: RANDOM.uniform(0, 1, (5, 7)) for one in SETS}
    found = shapley_shares(game, PLAYERS, np.ones(5))
    whole = sum(one.values for one in found.causes)
    assert np.allclose(whole, found.gap, rtol=0, atol=1e-12)
    assert np.allclose(found.gap, game[frozenset(PLAYERS)] - game[frozenset()], atol=1e-12)
    assert np.isclose(sum(one.share.measured for one in found.causes), 100)


def test_an_additive_game_gives_each_player_its_own_and_a_null_player_nothing():
    worth = {"a": 0.3, "b": -0.1, "c": 0.0}
    game = {one: np.full((2, 3), 0.5 + sum(worth[name] for name in one)) for one in SETS}
    values = shapley(game, PLAYERS)
    assert {name: value[0, 0] for name, value in values.items()} == pytest.approx(worth)
    found = shapley_shares(game, PLAYERS, np.ones(2))
    assert [one.name for one in found.causes] == ["a", "b", "c"]
    assert found.cancel == pytest.approx(0.4 / 0.2)
    assert found.causes[0].share.measured == pytest.approx(75)


def test_an_interaction_is_shared_and_seen_between_first_and_last():
    """Two players that change the loss only together, as noise at the edge does."""
    game = {one: np.full((2, 1), 0.5 - 0.4 * ({"a", "b"} <= one)) for one in SETS}
    found = shapley_shares(game, PLAYERS, np.ones(2))
    assert [(one.alone, pytest.approx(one.last)) for one in found.causes[:2]] == [(0.0, 0.4)] * 2
    assert found.causes[1].share.measured == pytest.approx(50)


def test_a_small_gap_is_not_taken_apart():
    game = {one: np.full((2, 3), 0.9 * FLOOR * ("a" in one)) for one in SETS}
    found = shapley_shares(game, PLAYERS, np.ones(2))
    assert found.causes == ()
    assert found.range.measured == pytest.approx(0.9 * FLOOR)


def test_a_curve_that_diverges_ruins_nothing():
    curve = np.array([[1.0, 0.5, 1.0, 4.0, 1e300, np.inf, np.nan]])
    scale = bounded(2 * curve, np.array([2.0]))
    assert scale[0].tolist() == [1, 0.5, 1, 1.75, 2, 2, 2]
    game = {one: np.full((2, 3), np.nan if one == frozenset("b") else 0.5) for one in SETS}
    found = shapley_shares(game | {frozenset(PLAYERS): np.full((2, 3), 0.1)}, PLAYERS, np.ones(2))
    assert all(np.isfinite(one.values).all() for one in found.causes)
