import dataclasses

import numpy as np
import pytest

import foretrain
from foretrain.results.summary import read_summary
from foretrain.streams import Seed
from foretrain.studies.image_grokking import study
from foretrain.training.image_perceptron import first_steps

SEED = Seed(0, 0)
SMALL = {
    "training_size": 20,
    "validation_size": 50,
    "hidden_width": 20,
    "validation_threshold": 0.3,
    "observe_every": 10,
}


def test_what_is_forgotten_is_the_scale_of_the_start():
    p = study.Parameters(**SMALL, last_learning_rate=0.02, init_scale=5.0)
    step = study.predict(p, np.arange(1), SEED)["forgetting_step"]
    body, last = (1 - rate * p.weight_decay for rate in (p.learning_rate, p.last_learning_rate))
    assert 5.0**3 * (body**2 * last) ** step == pytest.approx(1, rel=1e-9)
    even = dataclasses.replace(p, last_learning_rate=p.learning_rate)
    step = study.predict(even, np.arange(1), SEED)["forgetting_step"]
    assert step == pytest.approx(np.log(5) / (0.003 * 0.1), rel=1e-3)
    never = study.predict(dataclasses.replace(p, weight_decay=0.0), np.arange(1), SEED)
    assert never["forgetting_step"] == np.inf


def test_training_sets_that_cannot_be_are_not_trained_beside():
    sizes = {"fewer", "more"}
    assert sizes <= set(study.variants(study.Parameters()))
    for other in ({"training_size": 1000}, {"batch_size": 80}):
        assert not sizes & set(study.variants(study.Parameters(**other)))
    assert {"usual", "larger"} <= set(study.variants(study.Parameters(batch_size=80)))


@pytest.mark.slow
def test_a_small_map_is_trained_judged_and_drawn(tmp_path):
    result = foretrain.run(
        "image-grokking",
        **SMALL,
        steps=200,
        weight_decay=[0.1, 0.0],
        last_learning_rate=[0.003, 0.03],
        seeds=2,
        out=tmp_path / "a",
        quiet=True,
        workers=1,
    )
    assert not read_summary(result.path).problems
    assert {"four-phases", "larger-start", "memorises"} <= {claim.id for claim in result.claims}
    drawn = {path.stem for path in (result.path / "figures").iterdir()}
    assert {"phases", "delay"} <= drawn
    usual = result.variant("usual").sel(weight_decay=0.1, last_learning_rate=0.003)
    fitted, generalised = first_steps(usual, study.Parameters(**SMALL))
    assert (np.isfinite(fitted) & np.isfinite(generalised)).all()
    # A run ends at the first observation in which both thresholds are reached.
    np.testing.assert_array_equal(usual["steps_taken"], np.maximum(fitted, generalised))


def test_a_missing_folder_is_one_line(tmp_path, monkeypatch):
    monkeypatch.delenv("FORETRAIN_DATA_DIR", raising=False)
    lost = foretrain.run(
        "image-grokking", **SMALL, data="mnist", steps=10, seeds=1, init_scale=1.0,
        weight_decay=0.1, last_learning_rate=0.003, out=tmp_path / "a", quiet=True, workers=0,
    )  # fmt: skip
    problems = read_summary(lost.path).problems
    assert any("`data_dir` must name the folder with the mnist files" in one for one in problems)
    assert all("\n" not in one for one in problems)
