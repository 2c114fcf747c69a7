import numpy as np
import pytest

import foretrain
from foretrain.streams import Seed
from foretrain.studies.ridge_grokking import study
from foretrain.theory.ridge import descent

SMALL = {"samples": 15, "dimension": 20, "steps": 3000, "weight_decay": [0.02, 0.0]}


@pytest.fixture(scope="module")
def result(tmp_path_factory):
    out = tmp_path_factory.mktemp("ridge") / "a"
    return foretrain.run("ridge-grokking", **SMALL, seeds=6, out=out, quiet=True, workers=0)


def test_trained_networks_follow_the_closed_form_at_every_stored_step(result):
    for name in ("loss", "validation_error"):
        found, said = result.simulation[name], result.theory[name]
        assert float(np.abs(found - said).max()) < 1e-9 * float(said.max())
    claims = [claim for claim in result.claims if claim.id == "predicted-steps"]
    assert {(claim.verdict, claim.measured) for claim in claims} == {("holds", 0.0)}


def test_runs_grok_with_decay_never_without_and_at_once_from_a_small_start(result):
    large, small = (
        data.transpose("weight_decay", "seed", ...)
        for data in (result.simulation, result.variant("small"))
    )
    # Every run waits, most of them for long.
    waited = (large["generalisation_step"] / large["fit_step"]).sel(weight_decay=0.02)
    assert waited.min() > 2
    assert waited.median() > 4
    assert np.isnan(large["generalisation_step"].sel(weight_decay=0.0)).all()
    assert (small["generalisation_step"] <= small["fit_step"]).mean() > 0.7


def test_fewer_samples_are_the_first_of_more_and_starts_scale():
    few, many = (
        study.inputs(study.Parameters(samples=n, init_scale=s), Seed(0, 1))
        for n, s in ((20, 1.0), (30, 3.0))
    )
    np.testing.assert_array_equal(few["data"], many["data"][:20])
    np.testing.assert_array_equal(few["teacher"], many["teacher"])
    np.testing.assert_allclose(3 * few["start"], many["start"])
    run = descent(learning_rate=0.1, weight_decay=0.0, **many)
    assert run.null.sum() == 70
