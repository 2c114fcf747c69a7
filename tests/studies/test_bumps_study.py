"""The bumps study: the matched partner of a run, and a small grid from end to end."""

import numpy as np
import pytest

import foretrain
from foretrain.errors import ArgumentError
from foretrain.plans.plan import make_plan, runs
from foretrain.studies import bumps as study
from foretrain.studies import bumps_claims, s_curves
from foretrain.theory.s_curve_race import first_targets


def drawn(seed, **overrides):
    return s_curves.draw(study.Parameters(dimension=9, **overrides), 0, seed)


def test_exchange_swaps_the_overlaps_of_the_second_component_only():
    target, start = drawn(0)
    other = study.exchange(target, start)
    for goal, before, after in zip(target, start, other, strict=True):
        np.testing.assert_array_equal(before[:, 0], after[:, 0])
        overlaps = goal.T @ before, goal.T @ after
        np.testing.assert_allclose(overlaps[1][:, 1], overlaps[0][::-1, 1], rtol=1e-12)
        lengths = np.linalg.norm(before, axis=0), np.linalg.norm(after, axis=0)
        np.testing.assert_allclose(*lengths, rtol=1e-12)


def test_exchanging_twice_is_the_start_and_once_changes_the_first_target():
    for seed in range(5):
        target, start = drawn(seed)
        once = study.exchange(target, start)
        for own, back in zip(start, study.exchange(target, once), strict=True):
            np.testing.assert_allclose(own, back, atol=1e-14)
        before, after = first_targets(target, start), first_targets(target, once)
        assert after[0] == before[0]
        assert after[1] == 1 - before[1]


def test_one_component_has_nothing_to_exchange():
    target, start = drawn(0, rank=1)
    assert study.exchange(target, start) is start


def test_sharing_a_first_target_needs_two_components_that_have_one():
    first = np.array([[0, 0, 1, -1, -1], [2, 1, 0, -1, 1]])
    expected = [[True, True, False, False, False], [False, True, False, False, True]]
    assert bumps_claims.shares_first_target(first).tolist() == expected


def test_the_partner_is_run_once_for_all_ranks():
    plan = make_plan("bumps", {"rank": (2, 10), "relative_rate": 1.0, "init_scale": 1.0}, seeds=2)
    # Two optimisers, two seeds: ranks 2 and 10 and the partner of rank 2.
    assert len(list(runs(plan))) == 2 * 2 * 3


def test_from_a_grid_to_claims_and_figures(tmp_path):
    result = foretrain.run(
        "bumps",
        seeds=6,
        out=tmp_path / "run",
        workers=0,
        quiet=True,
        dimension=12,
        rank=2,
        init_scale=0.1,
        relative_rate=1.0,
        steps=150,
    )
    claims = {claim.id: claim for claim in result.claims}
    assert claims["adam-more-bumps[rank=2, init_scale=0.1]"].seeds == 6
    effect = claims["competition-matched[optimiser=sgd]"]
    # Six pairs do not settle its size, but each contributes whole bumps within what two curves of four slots hold.
    assert -16 <= effect.measured <= 16
    assert {"bumps", "competition"} <= {p.stem for p in (result.path / "figures").glob("*.png")}


def test_bad_input_names_the_argument():
    with pytest.raises(ArgumentError, match="`prominence` must be greater than 0, but is 0"):
        make_plan("bumps", {"prominence": 0.0})
    with pytest.raises(ArgumentError, match="`exchanged` must be true or false, but is 'no'"):
        make_plan("bumps", {"exchanged": "no"})
