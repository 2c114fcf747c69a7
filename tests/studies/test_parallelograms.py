import json

import numpy as np
import pytest

import foretrain
from foretrain.plans import catalogue
from foretrain.quantities.trajectory import at_end
from foretrain.streams import Seed
from foretrain.studies.parallelograms import claims, study
from foretrain.theory import parallelograms
from foretrain.training.embedding import operation

SMALL = {"symbols": 5, "training_size": (8, 13, 14), "hidden_width": 12, "steps": 300}


@pytest.fixture(scope="module")
def result(tmp_path_factory):
    out = tmp_path_factory.mktemp("parallelograms") / "a"
    options = {"observe_every": 100, "seeds": 2, "quiet": True, "workers": 0}
    return foretrain.run("parallelograms", **SMALL, **options, out=out), out


@pytest.mark.slow
def test_stored_measures_are_those_of_the_theory_and_the_ideal_is_of_the_training_set(result):
    data, task = at_end(result[0].simulation), operation(study.Parameters(symbols=5))
    for size in (8, 14):
        for number in (0, 1):
            run = data.sel(training_size=size, seed=number)
            p = study.Parameters(symbols=5, training_size=size)
            training = study.inputs(p, Seed(0, number))["training"] > 0
            held = parallelograms.parallelograms_of(run["embedding"].values.astype(float), task)
            assert run["rqi"] == pytest.approx(held.mean())
            predicted = parallelograms.predicted_accuracy(task, training, held)
            assert run["predicted_accuracy"] == pytest.approx(predicted)
            ideal = parallelograms.ideal(task, training)
            assert run["ideal_rqi"] == pytest.approx(ideal.mean())


@pytest.mark.slow
def test_all_variants_are_trained_judged_and_drawn(result):
    found, out = result
    assert {claim.id for claim in found.claims} == {
        said.id for said in catalogue.load("parallelograms").sentences
    }
    assert not json.loads((out / "summary.json").read_text())["problems"]
    for name in ("accuracy", "lattice", "predictors", "plane"):
        assert (out / "figures" / f"{name}.svg").exists()
    assert found.variant("circle").sizes["symbol"] == 11
    assert found.variant("slow").sizes["symbol"] == 4


def test_other_operations_have_no_variants():
    assert study.variants(study.Parameters(operation="cyclic")) == {}
    assert study.variants(study.Parameters(embedding_dim=3)) == {}


def test_a_circle_of_any_frequency_and_form_has_one_frequency_and_random_points_hardly_ever():
    angle = 2 * np.pi * 3 * np.arange(11) / 11
    ellipse = np.stack([2 * np.cos(angle) + 1, np.sin(angle)], axis=-1)
    assert claims.shares(ellipse).argmax() == 2
    assert claims.shares(ellipse).max() == pytest.approx(1)
    random = np.random.default_rng(0).standard_normal((20_000, 11, 2))
    assert claims.shares(random).sum(-1) == pytest.approx(1)
    assert (claims.shares(random).max(-1) > 0.8).mean() < 3e-4
