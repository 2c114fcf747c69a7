"""Predictions from random weights, and the networks that are trained beside them."""

import json
import math
from dataclasses import replace

import numpy as np
import pytest
from predict.routes import routes

from foretrain.errors import ArgumentError
from foretrain.graph import graph_from_dict
from foretrain.networks.gated import initial_weights
from foretrain.predict.from_random import growing_strengths
from foretrain.predict.predict import predict, rank
from foretrain.predict.prediction import first_below
from foretrain.predict.training import _verdict, train_beside
from foretrain.tasks.gated_data import GatedData
from foretrain.tasks.statistics import gather_statistics
from foretrain.theory.gated.reduction import find_reduction


def teacher(inputs=6, width=64, samples=200) -> GatedData:
    generator = np.random.default_rng(0)
    x = generator.standard_normal((samples, inputs))
    nodes = {"x": inputs, "h": width, "y": inputs}
    graph = graph_from_dict({"nodes": nodes, "edges": {"in": ["x", "h"], "out": ["h", "y"]}})
    return GatedData(graph, {"x": x}, {"y": x @ generator.standard_normal((inputs, inputs)) / 2})


@pytest.fixture(scope="module")
def trained():
    """Three inputs, a linear teacher, networks trained beside it, and what was told of the cost."""
    lines = []
    data = teacher(3, 12, 50)
    prediction = predict(data.graph, data, init_scale=0.02, train=True, seeds=4, tell=lines.append)
    return data, prediction, lines


@pytest.mark.slow
def test_gaussian_inputs_with_a_linear_teacher_work_at_the_first_try():
    data = teacher()
    prediction = predict(data.graph, data, seeds=2)
    assert prediction.law == "normal"
    assert prediction.final_loss < 1e-6 * prediction.initial_loss
    assert prediction.finished
    assert prediction.drift < 1e-8
    assert min(prediction.loss.min(), prediction.drawn.at(prediction.times).min()) >= 0
    reduced = prediction.reduced
    approximate = predict(data.graph, data, approximate=True, init_scale=0.01 * math.sqrt(32))
    assert reduced.init_scale == pytest.approx(approximate.init_scale)  # sigma sqrt(N / 2)
    assert reduced.final_loss == approximate.final_loss > 0.1
    # What the strength misses is the fluctuation of 64 units: a tenth of its logarithm at most.
    assert prediction.learning_time == pytest.approx(approximate.learning_time, rel=0.05)
    worst, time = prediction.reduced_worst()
    there = np.interp(time, *approximate.history)
    median = np.median(prediction.drawn.at(np.array([time])))
    assert worst == pytest.approx(abs(there - median), rel=1e-6)
    text = str(prediction)
    assert "Printed: the exact flow of the statistics in float64 from random weights" in text
    assert "independent entries N(0, 0.01^2)" in text
    assert f"No basis diagonalises the statistics (residual {prediction.residual:.3g})" in text
    assert f"would have been off by up to {worst:.4g}" in text


@pytest.mark.slow
def test_trained_networks_agree_with_the_flow_and_say_so(trained, tmp_path):
    _, prediction, lines = trained
    verdicts = {claim.quantity: claim.verdict for claim in prediction.trained.judged}
    assert set(verdicts.values()) <= {"agrees", "open"}
    assert verdicts[f"loss at time {prediction.trained.networks.curves[0][0][-1]:.4g}"] == "agrees"
    assert lines[0].startswith("Exact flow: 2 edges, 3 modes in and 3 out, 36 weights")
    assert lines[1].startswith("Training 4 networks for")
    lines = str(prediction).splitlines()
    assert (
        sum(line.startswith("Trained 4 networks on the examples, other draws") for line in lines)
        == 1
    )
    stored = json.loads(prediction.answer().write(tmp_path)[0].read_text())
    assert len(stored["trained"]["loss"]) == 4
    assert len(stored["trained"]["loss"][0]) == len(stored["times"])
    assert stored["trained"]["judged"][-1]["verdict"] == "agrees"
    assert stored["draws"] == 16
    page = (tmp_path / "prediction.html").read_text()
    assert "Judged by trained networks" in page
    assert "exact flow of the statistics" in page


def test_a_prediction_from_another_start_is_found_to_differ(trained):
    data, prediction, _ = trained
    wrong = train_beside(
        replace(prediction, init_scale=0.2),
        data,
        4,
        learning_rate=prediction.trained.learning_rate * 5,
    )
    assert wrong.trained.judged[0].verdict == "differs"
    assert wrong.trained.judged[0].off < 0  # larger weights are sooner


def test_a_rate_at_which_descent_diverges_is_refused(trained):
    data, prediction, _ = trained
    words = r"`learning_rate` must be below .*, 2 over the largest"
    with pytest.raises(ArgumentError, match=words):
        train_beside(prediction, data, 2, learning_rate=2.1 / prediction.curvature)


@pytest.mark.slow
def test_random_weights_leave_the_saddle_at_which_the_reduction_ends():
    data = routes([[1, 1], [1, -1]])
    prediction = predict(data.graph, data, init_law="orthogonal", init_scale=0.05, seeds=2)
    assert prediction.exact
    assert prediction.final_loss < 1e-6
    assert prediction.reduced.final_loss == pytest.approx(0.25)
    assert prediction.reduced_worst()[0] == pytest.approx(0.25, abs=0.01)
    assert "orthogonal matrices times 0.05" in str(prediction)
    assert "its end is loss 0.25, not" in str(prediction)
    assert all(mode.outcome != "not learned" for mode in prediction.modes)
    assert all(m.earliest <= m.half_learning_time <= m.latest for m in prediction.modes)


@pytest.mark.parametrize("law", ["normal", "orthogonal", "xavier_normal"])
def test_what_grows_of_random_weights_has_the_strength_that_is_derived(law):
    data = teacher(3, 12, 50)
    reduction = find_reduction(gather_statistics(data), approximate=True)
    expected = growing_strengths(reduction, law, 0.1)
    assert expected[0] == expected[1]
    generator, squares = np.random.default_rng(0), []
    for _ in range(500):
        weights = initial_weights(data.graph, generator, law=law, init_scale=0.1)
        squares.append(np.mean(np.sum(((weights["in"] + weights["out"].T) / 2) ** 2, axis=0)))
    assert expected[0] ** 2 == pytest.approx(np.mean(squares), rel=0.05)


@pytest.mark.slow
def test_gatings_without_reduction_are_ranked_by_their_flow():
    data = teacher(3, 12, 50)
    slow = GatedData(data.graph, data.inputs, data.targets, {"h": np.full(50, 0.5)})
    ranking = rank({"half": (slow.graph, slow), "open": (data.graph, data)}, seeds=2)
    assert [claim.label for claim in ranking.predictions] == ["open", "half"]
    # Halved gates are inputs of half the size, which learn at half the rate.
    assert "followed: the exact flow of 8 draws" in str(ranking)
    assert "stable" not in str(ranking)


@pytest.mark.slow
def test_drops_are_timed_half_way_down_each():
    data = teacher(3, 12, 50)
    prediction = predict(data.graph, data, seeds=2)
    times = np.linspace(0, 100, 5001)

    def fall(at):
        return 1 / (1 + np.exp(np.clip(2 * (times - at), -500, 500)))

    levels = replace(
        prediction, history=np.stack([times, 2 + 6 * fall(20) + 2 * fall(70)])
    ).drop_levels()
    assert len(levels) == 2
    at = [first_below(times, 2 + 6 * fall(20) + 2 * fall(70), level) for level in levels]
    np.testing.assert_allclose(at, [20, 70], atol=1)
    assert replace(prediction, history=np.stack([times, np.ones(5001)])).drop_levels() == ()


def test_verdicts_can_come_out_each_way():
    near, nothing = np.array([0.01, -0.02, 0.0, 0.02, -0.01]), np.zeros(5)
    assert _verdict(near, nothing, 0.1)[3] == "agrees"
    assert _verdict(near + 0.3, nothing, 0.1)[3] == "differs"
    assert _verdict(near + 0.1, nothing, 0.1)[3] == "open"
    never = np.full(5, np.inf)
    assert _verdict(never, nothing, 0.1)[3] == _verdict(nothing, never, 0.1)[3] == "differs"
    assert _verdict(never, never, 0.1)[3] == "agrees"
