"""The rank-one study: what trains is what the reduction says, and its claims see it."""

import numpy as np
import pytest

import foretrain
from foretrain.streams import Seed
from foretrain.studies.rank_one import study
from foretrain.theory.factorization import rank_one as reduction

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
    for name in ("loss", *reduction.FIELDS, "alignment", "signal", "decay"):
        measured = result.simulation[name]
        predicted = result.theory[name].transpose(*measured.dims)
        # float64, 400 steps: rounding.
        np.testing.assert_allclose(measured.values, predicted.values, rtol=1e-9, atol=1e-12)


def test_claims_hold_where_they_are_exact_and_name_their_cell(result):
    verdicts = {claim.label: claim.verdict for claim in result.claims}
    for id in ("four-numbers", "weight-decay-end"):
        assert verdicts[id] == "holds"
    assert "irrelevant-decays.corrected[weight_decay=0]" in verdicts
    assert len(verdicts) == len(list(result.claims))


def test_prediction_starts_at_the_start_and_has_its_plateau():
    p = study.Parameters(dimension=100, steps=100)
    found = study.predict(p, np.arange(0, 101, 5), Seed(0, 1))
    start = reduction.reduce(**study.inputs(p, Seed(0, 1)))
    assert found["loss"][0] == pytest.approx(float(reduction.loss(start)), rel=1e-12)
    assert found["signal"][0] == pytest.approx(2 * abs(start.overlap_y), rel=1e-12)
    # Published error of the closed form at n = 100, sigma = 1: at most .024.
    assert abs(found["plateau_length"] - found["plateau_estimate"]) < 0.03


def test_equal_seeds_start_alike_at_every_scale():
    small = study.inputs(study.Parameters(init_scale=0.1, dimension=5), Seed(0, 3))
    large = study.inputs(study.Parameters(init_scale=1.0, dimension=5), Seed(0, 3))
    np.testing.assert_allclose(small["x"], 0.1 * large["x"], rtol=1e-14)
    np.testing.assert_array_equal(small["a"], large["a"])
