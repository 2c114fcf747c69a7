import numpy as np
import pytest

import foretrain
from foretrain.plans import catalogue
from foretrain.streams import Seed
from foretrain.studies.critical_fraction import study, theory
from foretrain.theory import parallelograms
from foretrain.training.embedding import operation

SMALL = {"symbols": 4, "training_size": (6, 8, 9), "hidden_width": 16, "steps": 1500}


@pytest.fixture(scope="module")
def result(tmp_path_factory):
    out = tmp_path_factory.mktemp("critical") / "a"
    rates = {"embedding_learning_rate": 3e-3, "decoder_learning_rate": 1e-3}
    options = {"observe_every": 50, "seeds": 12, "quiet": True, "workers": 0}
    return foretrain.run("critical-fraction", **SMALL, **rates, **options, out=out), out


def test_every_sentence_is_judged_and_every_figure_drawn(result):
    found, out = result
    ids = {said.id for said in catalogue.load("critical-fraction").sentences}
    assert {claim.id for claim in found.claims} == ids
    for name in ("steps", "predictions", "paths"):
        assert (out / "figures" / f"{name}.svg").exists()
    # Exact facts hold at any size.
    verdicts = {claim.id: claim.verdict for claim in found.claims}
    assert verdicts["rate-grows"] == "holds"


def test_theory_says_never_where_the_training_set_leaves_freedom(result):
    found = result[0]
    free = (found.simulation["lambda_3"] == 0).values
    assert free.any()
    assert not free.all()
    for name in ("theory_step", "flow_step"):
        np.testing.assert_array_equal(np.isinf(found.theory[name].values), free)
    assert (found.theory["unique_probability"].diff("training_size") > 0).all()


def test_flow_starts_from_the_normalised_start_of_the_network(result):
    found = result[0]
    start = found.simulation["embedding"].isel(step=0).transpose(..., "symbol", "coordinate")
    flow = found.theory["flow_embedding"].isel(step=0).transpose(*start.dims)
    np.testing.assert_allclose(flow, parallelograms.normalised(start.values), atol=1e-5)


def test_half_of_the_sets_are_unique_between_22_and_23_of_55_samples():
    sizes = theory.critical_sizes("addition", 10)
    assert (sizes <= 22).mean() < 0.5 < (sizes <= 23).mean()


def test_nothing_is_predicted_of_matrices_or_embeddings_that_do_not_move():
    step = np.arange(2)
    fixed = study.Parameters(embedding_learning_rate=0.0)
    assert theory.predict(fixed, step, Seed(0, 0)) == {}
    matrices = study.Parameters(symbols=6, operation="symmetric", training_size=24, embedding_dim=3)
    assert not operation(matrices).commutative
    assert theory.predict(matrices, step, Seed(0, 0)) == {}
