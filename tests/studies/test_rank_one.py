"""The rank-one study: what trains is what the reduction says, and its claims see it."""

import numpy as np
import pytest

import foretrain
from foretrain.errors import ArgumentError
from foretrain.plans.plan import make_plan
from foretrain.studies.rank_one import study
from foretrain.studies.rank_one import theory as rank_one_theory
from foretrain.theory import rank_one as s_curve

SMALL = {"dimension": 10, "learning_rate": 0.03, "steps": 400, "observe_every": 20}


@pytest.fixture(scope="module")
def result(tmp_path_factory):
    return foretrain.run(
        "rank-one",
        seeds=3,
        out=tmp_path_factory.mktemp("rank-one") / "run",
        workers=0,
        quiet=True,
        init_scale=1.0,
        weight_decay=(0.0, 0.2),
        **SMALL,
    )


def test_training_is_the_reduction_in_every_stored_number(result):
    for name in ("loss", *study.FIELDS, "alignment", "signal", "decay"):
        measured = result.simulation[name]
        predicted = result.theory[name].transpose(*measured.dims)
        # float64, 400 steps: rounding.
        np.testing.assert_allclose(measured.values, predicted.values, rtol=1e-9, atol=1e-12)


def test_claims_hold_where_they_are_exact_and_name_their_group(result):
    verdicts = {claim.id: claim.verdict for claim in result.claims}
    assert verdicts["four-numbers"] == "holds"
    assert verdicts["imbalance"] == "holds"
    assert verdicts["fixed-point"] == "holds"
    assert verdicts["weight-decay-end"] == "holds"
    assert "irrelevant-decays.corrected" in verdicts
    assert len(verdicts) == len(result.claims)


def test_equal_seeds_start_alike_at_every_scale():
    small = study.draw(study.Parameters(init_scale=0.1, dimension=5), 0, 3)
    large = study.draw(study.Parameters(init_scale=1.0, dimension=5), 0, 3)
    np.testing.assert_allclose(small[2], 0.1 * large[2], rtol=1e-14)
    np.testing.assert_array_equal(small[0], large[0])


def test_prediction_starts_at_the_start_and_has_its_plateau():
    parameters = study.Parameters(dimension=100, steps=100)
    theory = rank_one_theory.predict(parameters, 0, 2)
    start = study.reduced_start(parameters, 0, 1)
    first = theory.isel(seed=1, step=0)
    assert float(first["loss"]) == pytest.approx(float(s_curve.loss(start)), rel=1e-12)
    assert float(first["signal"]) == pytest.approx(2 * abs(start.overlap_y), rel=1e-12)
    # Published error of the closed form at n = 100, sigma = 1: at most .024.
    gap = theory["plateau_length"] - theory["plateau_estimate"]
    assert float(np.abs(gap).max()) < 0.03


def test_figures_are_drawn_from_the_result(result):
    drawn = {path.stem for path in (result.path / "figures").glob("*.png")}
    assert {"learning", "weight-decay"} <= drawn


def test_bad_input_names_the_argument():
    with pytest.raises(ArgumentError, match=r"`dimension` must be between 2 and .*, but is 1"):
        make_plan("rank-one", {"dimension": 1})
    with pytest.raises(ArgumentError, match="`init_scale` must be greater than 0, but is 0"):
        make_plan("rank-one", {"init_scale": 0.0})
