"""Predicted ends that are saddles of the whole network, and trained networks there."""

import json

import numpy as np
import pytest
from predict.routes import of, routes, trained_loss

from foretrain.graph import graph_from_dict
from foretrain.predict.predict import rank
from foretrain.tasks.effective_samples import whiten
from foretrain.tasks.gated_data import GatedData
from foretrain.tasks.gatings import pathways_data
from foretrain.tasks.logic import xor
from foretrain.theory.gated.reduction import ReductionError

HADAMARD = [[1, 1], [1, -1]]
NEARLY_SEPARATE = [[1, 0.1], [0.1, 1]]


def linear(x, y, width) -> GatedData:
    nodes = {"x": x.shape[1], "h": width, "y": y.shape[1]}
    graph = graph_from_dict({"nodes": nodes, "edges": {"in": ["x", "h"], "out": ["h", "y"]}})
    return GatedData(graph, {"x": x}, {"y": y})


@pytest.mark.slow
@pytest.mark.parametrize("banks", [1, 2])
@pytest.mark.parametrize(("table", "loss"), [(HADAMARD, 0.25), (NEARLY_SEPARATE, 0.10125)])
def test_routes_of_rank_two_end_at_a_saddle_that_random_weights_leave(table, loss, banks, tmp_path):
    data = routes(table, banks=banks)
    prediction = of(data)
    assert prediction.exact
    assert prediction.final_loss == pytest.approx(loss, rel=1e-6)
    assert prediction.stable is False
    assert prediction.attainable_loss == 0
    assert (prediction.smallest_curvature < -0.1) == (banks == 1)
    text = f"UNSTABLE: the end of this prediction, loss {prediction.final_loss:.4g}, is a saddle"
    assert prediction.answer().head[1].startswith(text)
    assert "loss 0 is attainable" in prediction.answer().head[1]
    stored = json.loads(prediction.answer().write(tmp_path)[0].read_text())
    assert stored["stable"] is False
    assert stored["smallest_curvature"] == prediction.smallest_curvature
    assert stored["attainable_loss"] == 0
    for seed in range(3):
        assert trained_loss(data, init_scale=0.1 if banks == 1 else 0.2, seed=seed) < 1e-6


def test_routes_of_rank_one_end_where_trained_networks_end():
    data = routes(np.outer([1, 2], [1, 0.5]))
    prediction = of(data)
    assert prediction.stable
    assert prediction.smallest_curvature == 0
    assert prediction.final_loss == pytest.approx(prediction.attainable_loss, abs=1e-9)
    assert "UNSTABLE" not in str(prediction)
    assert trained_loss(data, init_scale=0.1, seed=0) < 1e-6


def test_a_stable_end_above_the_bound_says_so():
    data = routes(NEARLY_SEPARATE, width=1, weights=[[2, 1], [1, 1]])
    prediction = of(data)
    assert prediction.stable
    assert prediction.attainable_is_bound
    assert "is stable, though loss at least 0 is attainable" in str(prediction)
    trained = trained_loss(data, init_scale=0.3, seed=0)
    assert trained == pytest.approx(prediction.final_loss, rel=1e-4)


def test_what_decays_for_ever_and_what_cannot_be_learned_are_no_saddles():
    # Strengths of the third to eighth mode decay as 1 / sqrt(time); nothing drives them.
    undriven = linear(np.eye(8), np.diag([8.0, 4, 0, 0, 0, 0, 0, 0]), 16)
    for scale in (0.1, 1.0):
        prediction = of(undriven, init_scale=scale)
        assert prediction.stable
        assert prediction.smallest_curvature == 0
    points = xor(2)
    prediction = of(pathways_data(points.inputs["x"], points.targets["y"], np.ones((1, 4))))
    assert prediction.stable
    assert prediction.smallest_curvature == 0
    assert prediction.attainable_loss == pytest.approx(0.5)


def test_a_ranking_says_which_ends_are_saddles():
    joint, item = routes(HADAMARD), routes(HADAMARD, width=1)
    (table,) = rank({"joint": (joint.graph, joint), "one unit": (item.graph, item)}).answer().tables
    assert {row[1]: row[-1] for row in table.rows} == {"joint": "saddle", "one unit": "stable"}
    assert table.notes[0].startswith("saddle: small random weights leave")


def gaussian(width=16):
    generator = np.random.default_rng(0)
    x = generator.standard_normal((200, 6))
    return linear(x, x @ generator.standard_normal((6, 6)) / 2, width)


def test_gaussian_inputs_have_no_reduction_and_the_repair_that_is_named_works():
    data = gaussian()
    with pytest.raises(ReductionError, match=r"0\.1\d+, above .* train on whitened inputs \(`x @ "):
        of(data, init_law="decoupled")
    x = data.inputs["x"]
    white = of(linear(x @ whiten(x), data.targets["y"], 16))
    assert white.exact
    assert white.stable
    assert white.final_loss < 1e-9
    assert white.attainable_loss == 0
    assert min(white.loss.min(), white.final_loss, white.history[1].min()) >= 0
    assert "-" not in white.answer().tables[-1].rows[-1][-1].replace("e-", "")


def test_without_whitening_the_end_is_named_as_that_of_the_approximation():
    data = gaussian()
    prediction = of(data, approximate=True)
    assert prediction.stable is None
    assert prediction.final_loss > 0.1
    assert prediction.attainable_loss == 0
    assert "is that of the approximation: loss 0 is attainable" in str(prediction)
    assert trained_loss(data, init_scale=0.1, seed=0, steps=3000, learning_rate=0.1) < 1e-4


@pytest.mark.slow
def test_a_prompt_shows_a_few_lines_and_print_the_tables():
    many = of(linear(np.eye(40), np.random.default_rng(0).standard_normal((40, 40)), 40))
    assert len(repr(many).splitlines()) <= 8
    assert len(repr(many)) < 1000
    assert "Modes: 40 learned" in repr(many)
    assert many._repr_html_().count("<details") == 2
    assert many.plot().axes
    assert len(str(many).splitlines()) > 20
    candidates = {f"candidate {k}": (HADAMARD_DATA.graph, HADAMARD_DATA) for k in range(12)}
    assert len(repr(rank(candidates)).splitlines()) <= 4


HADAMARD_DATA = routes(HADAMARD)
