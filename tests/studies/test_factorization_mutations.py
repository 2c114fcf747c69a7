"""Errors planted in the theory of the S-curves are noticed."""

import dataclasses

import numpy as np
import pytest
from riding import trained

from foretrain.plans import catalogue
from foretrain.streams import Seed
from foretrain.studies.s_curves import study
from foretrain.studies.s_curves.study import Parameters
from foretrain.training import factorization

DECAYED = Parameters(
    dimension=8,
    rank=1,
    optimizer="sgd_decay",
    weight_decay=0.4,
    steps=200,
    observe_every=10,
    precision="float64",
)


@pytest.fixture(scope="module")
def decayed():
    """A run of rank one with decay, trained once."""
    known = catalogue.load("s-curves")
    (run,) = trained(known.program(DECAYED), DECAYED, [known.inputs(DECAYED, Seed(0, 0))])
    return run


@pytest.mark.parametrize("share", [0.0, 0.9, 1.1])
def test_theory_with_another_decay_or_rate_is_outside_of_what_is_allowed(
    monkeypatch, share, decayed
):
    step = np.arange(0, DECAYED.steps + 1, DECAYED.observe_every)
    measured = decayed.curves["loss"]
    zero = DECAYED.target_scale**2

    def deviation(predicted):
        steepest = -np.diff(predicted).min() / DECAYED.observe_every
        return np.abs(measured / zero - predicted).max() / steepest

    sound = study.predict(DECAYED, step, Seed(0, 0))
    sentences = catalogue.load("s-curves").sentences
    ((low, high),) = [said.inside for said in sentences if said.id == "weight-decay-end"]
    assert low < measured[-1] / sound["decayed_loss"] < high
    study._flow.cache_clear()
    with monkeypatch.context() as planted:
        decay = factorization.weight_decay(DECAYED)
        planted.setattr(study, "weight_decay", lambda p: share * decay)
        wrong = study.predict(DECAYED, step, Seed(0, 0))
        assert not low < measured[-1] / max(wrong["decayed_loss"], 1e-12) < high
    study._flow.cache_clear()
    if share:
        rate = factorization.learning_rate(DECAYED)
        monkeypatch.setattr(study, "learning_rate", lambda p: share * rate)
        wrong = study.predict(DECAYED, step, Seed(0, 0))
        assert deviation(wrong["flow_loss"]) > 2 * deviation(sound["flow_loss"])
    study._flow.cache_clear()


def test_what_is_observed_along_the_modes_is_what_the_flow_from_the_start_predicts(decayed):
    step, curves = np.arange(0, DECAYED.steps + 1, DECAYED.observe_every), decayed.curves
    found = study.predict(DECAYED, step, Seed(0, 0))
    for name in ("inside", "outside"):
        # First order in the step, .05.
        np.testing.assert_allclose(curves[name], found[f"flow_{name}"], atol=0.06)
    # |C| = 1 and Z = X Y^T; of rank one the mode is the target itself, and ends at 1 - lambda/2.
    assert curves["mode_strengths"].shape == (step.size, 1)
    assert curves["mode_strengths"][-1, 0] == pytest.approx(0.8, abs=1e-4)
    target, start = factorization.draw(DECAYED, Seed(0, 0))
    first = (target.left.T @ start.left) * (target.right.T @ start.right)
    assert curves["mode_strengths"][0, 0] == pytest.approx(first[0, 0], rel=1e-9)
    lengths = sum(np.sum(own**2) for own in start)
    assert curves["inside"][0] + curves["outside"][0] == pytest.approx(lengths / 2, rel=1e-9)
    assert np.isnan(found["flow_half_step"][1:]).all()
    adam = study.predict(dataclasses.replace(DECAYED, optimizer="adam"), step, Seed(0, 0))
    assert np.isnan(adam["flow_loss"]).all()
