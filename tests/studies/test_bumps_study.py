"""The bumps study: the matched partner of a run, and a small grid from end to end."""

import numpy as np
import pytest

import foretrain
from foretrain.errors import ArgumentError
from foretrain.networks.factorization_start import exchanged
from foretrain.plans.plan import make_plan, runs
from foretrain.streams import Seed
from foretrain.studies.bumps import study
from foretrain.theory.first_target import first_targets
from foretrain.training import factorization


def drawn(seed, **overrides):
    return factorization.draw(study.Parameters(dimension=9, **overrides), Seed(0, seed))


def test_exchange_swaps_the_overlaps_of_the_second_component_only():
    target, start = drawn(0)
    other = exchanged(target, start)
    for goal, before, after in zip(target, start, other, strict=True):
        np.testing.assert_array_equal(before[:, 0], after[:, 0])
        overlaps = goal.T @ before, goal.T @ after
        np.testing.assert_allclose(overlaps[1][:, 1], overlaps[0][::-1, 1], rtol=1e-12)
        lengths = np.linalg.norm(before, axis=0), np.linalg.norm(after, axis=0)
        np.testing.assert_allclose(*lengths, rtol=1e-12)


def test_exchanging_twice_is_the_start_and_once_changes_the_first_target():
    for seed in range(5):
        target, start = drawn(seed)
        once = exchanged(target, start)
        for own, back in zip(start, exchanged(target, once), strict=True):
            np.testing.assert_allclose(own, back, atol=1e-14)
        before, after = first_targets(target, start), first_targets(target, once)
        assert after[0] == before[0]
        assert after[1] == 1 - before[1]


def test_one_component_has_nothing_to_exchange():
    target, start = drawn(0, rank=1)
    assert exchanged(target, start) is start


def test_the_partner_is_run_once_for_all_ranks():
    plan = make_plan("bumps", {"rank": (2, 10), "relative_rate": 1.0, "init_scale": 1.0}, seeds=2)
    # Two optimizers, two seeds: ranks 2 and 10 and the partner of rank 2.
    assert len(list(runs(plan))) == 2 * 2 * 3


def small(folder, **given):
    """Six seeds of the study at n = 12, trained in this process."""
    fixed = {"dimension": 12, "init_scale": 0.1, "steps": 150}
    options = {"seeds": 6, "out": folder / "run", "workers": 0, "quiet": True}
    return foretrain.run("bumps", **options, **fixed, **given)


@pytest.mark.slow
def test_from_a_grid_to_claims_and_figures(tmp_path):
    result = small(tmp_path, rank=(2, 12), relative_rate=(1.0, 10.0))
    labels = {claim.label: claim for claim in result.claims}
    assert len(labels) == len(result.claims)
    assert labels["adam-more-bumps-reference[rank=2]"].seeds == 6
    assert labels["which-target-start[optimizer=adam, rank=2]"].along == {
        "relative_rate": (1.0, 10.0)
    }
    # Descent of a small start is what the argument is about: there it has no weaker form.
    assert "which-target-start.corrected[optimizer=sgd, rank=2]" not in labels
    assert "which-target-start.corrected[optimizer=adam, rank=2]" in labels
    fast = labels["adam-full-rank-bumps.fast[optimizer=adam, rank=12, relative_rate=10]"]
    assert fast.allowed == (0.1, 0.5)
    drawn = {path.stem for path in (result.path / "figures").glob("*.png")}
    assert {"bumps", "competition", "full-rank"} <= drawn


@pytest.mark.slow
def test_the_sign_of_the_comparison_is_judged_at_other_thresholds(tmp_path):
    result = small(tmp_path, rank=2, relative_rate=1.0, prominence=(0.05, 0.1, 0.2))
    (robust,) = [claim for claim in result.claims if claim.id == "counts-robust"]
    assert robust.along["prominence"] == (0.05, 0.2)
    plain = {claim.label: claim.measured for claim in result.claims}
    found = {h: plain[f"adam-more-bumps[prominence={h}]"] for h in (0.05, 0.1, 0.2)}
    expected = min(np.sign(found[0.1]) * found[h] for h in (0.05, 0.2))
    assert robust.measured == pytest.approx(expected, abs=1e-12)


def test_bad_input_names_the_argument():
    with pytest.raises(ArgumentError, match="`prominence` must be greater than 0, but is 0"):
        make_plan("bumps", {"prominence": 0.0})
    with pytest.raises(ArgumentError, match="`exchanged` must be true or false, but is 'no'"):
        make_plan("bumps", {"exchanged": "no"})
