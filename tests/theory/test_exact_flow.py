"""The flow of the statistics: what must be exactly true of it, and the same network trained by plain descent."""

import numpy as np
import pytest

from foretrain.graph import graph_from_dict
from foretrain.networks.gated import (
    bundle_products,
    example_loss,
    initial_weights,
    statistics_gradient,
)
from foretrain.predict.prediction import Ensemble
from foretrain.predict.training import descend
from foretrain.tasks.gated_data import GatedData
from foretrain.tasks.statistics import gather_statistics
from foretrain.theory.gated import exact_flow, reduced_dynamics
from foretrain.theory.gated.reduction import find_reduction

TWO = graph_from_dict(
    {"nodes": {"x": 3, "h": 20, "y": 2}, "edges": {"in": ["x", "h"], "out": ["h", "y"]}}
)
GATED = graph_from_dict(
    {
        "nodes": {"x": 3, "z": 2, "a": 4, "b": 3, "y": 2, "w": 1},
        "edges": {pair: list(pair) for pair in ("xa", "za", "ab", "by", "ay", "bw")},
    }
)


def linear() -> GatedData:
    generator = np.random.default_rng(0)
    x = generator.standard_normal((40, 3)) @ np.diag([1.5, 1, 0.7])
    y = x @ generator.standard_normal((3, 2)) + 0.3 * generator.standard_normal((40, 2))
    return GatedData(TWO, {"x": x}, {"y": y})


def gated() -> GatedData:
    generator = np.random.default_rng(1)
    draw = generator.standard_normal
    gates = {"za": generator.random(30) < 0.5, "b": draw(30), "ay": generator.random(30)}
    inputs = {"x": draw((30, 3)), "z": draw((30, 2))}
    return GatedData(GATED, inputs, {"y": draw((30, 2)), "w": draw((30, 1))}, gates)


def start(data, scale=0.1, seed=0):
    return initial_weights(data.graph, np.random.default_rng(seed), law="normal", init_scale=scale)


@pytest.mark.parametrize("data", [linear(), gated()])
def test_the_loss_is_that_of_the_statistics_and_banks_shrink_without_changing_the_flow(data):
    statistics, weights = gather_statistics(data), start(data, 0.5)
    ends = exact_flow.outputs(statistics)
    small = exact_flow.compressed(weights, statistics)
    expected = example_loss(data.graph, weights, data.inputs, data.targets, data.gates).mean()
    for w in (weights, small):
        result = exact_flow.loss(bundle_products(statistics, w), ends)
        assert result == pytest.approx(expected, rel=1e-12)
    for _ in range(20):  # any step along the gradient, not only the start
        big, little = (statistics_gradient(statistics, w) for w in (weights, small))
        weights = {name: weights[name] - 0.05 * big[name] for name in weights}
        small = {name: small[name] - 0.05 * little[name] for name in small}
    after = [bundle_products(statistics, w) for w in (weights, small)]
    for p in after[0]:
        np.testing.assert_allclose(after[0][p], after[1][p], atol=1e-12)
    if data.graph is TWO:  # A bank is as wide as what it meets.
        assert (small["in"].shape, small["out"].shape) == ((5, 3), (2, 5))


@pytest.mark.parametrize("data", [linear(), gated()])
def test_the_flow_conserves_what_it_must_and_only_descends(data):
    flow = exact_flow.flow_until(start(data, 0.3), 20.0, gather_statistics(data))
    assert flow.drift < 1e-8
    assert np.all(np.diff(flow.loss) < 1e-9 * flow.loss[0])
    assert flow.loss[-1] < 0.95 * flow.loss[0]


def test_the_end_of_a_connected_linear_graph_is_least_squares_and_never_negative():
    data = linear()
    x, y = data.inputs["x"], data.targets["y"]
    left = y - x @ np.linalg.lstsq(x, y, rcond=None)[0]
    flow = exact_flow.flow_until(start(data), 60.0, gather_statistics(data))
    assert flow.loss[-1] == pytest.approx((left**2).sum() / 80, rel=1e-9)
    perfect = GatedData(TWO, {"x": x}, {"y": x @ np.ones((3, 2))})
    flow = exact_flow.flow_until(start(data), 200.0, gather_statistics(perfect))
    assert 0 <= flow.loss.min() == flow.loss[-1] < 1e-12


def test_where_data_commute_it_is_the_reduction():
    x = np.diag([2.0, 1, 1])
    data = GatedData(TWO, {"x": x}, {"y": x @ np.array([[1.0, 0], [0, 0.5], [0, 0]])})
    statistics = gather_statistics(data)
    reduction = find_reduction(statistics)
    state = reduced_dynamics.decoupled_start(0.01, reduction)
    frames = reduced_dynamics.hidden_frames(reduction, np.random.default_rng(0))
    weights = reduced_dynamics.decoupled_weights(state, frames, reduction)
    (group,) = reduction.groups
    result = {group.bundles[0]: (group.frames["y"], group.frames["x"])}
    flow = exact_flow.flow_until(weights, 40.0, statistics, frames=result)
    states = reduced_dynamics.flow(state, flow.times, reduction)
    np.testing.assert_allclose(flow.loss, reduced_dynamics.loss(states, reduction), atol=1e-8)
    strengths = reduced_dynamics.mode_strengths(states, reduction)
    expected = reduced_dynamics.explained(strengths, reduction)
    # Between two steps the integrator interpolates, to a lower order than it steps.
    np.testing.assert_allclose(flow.explained, expected, atol=1e-6)


@pytest.mark.slow
def test_descent_on_the_examples_comes_to_the_flow_as_its_rate_goes_to_zero():
    data = gated()
    weights = start(data, 0.3)
    flow = exact_flow.flow_until(weights, 4.0, gather_statistics(data))
    off = []
    for rate in (0.02, 0.01):
        steps = round(4.0 / rate)
        losses = descend(data, [weights], rate, steps)[0]
        curve = Ensemble(((flow.times, flow.loss),)).at(rate * np.arange(steps + 1))[0]
        off.append(np.abs(losses - curve).max())
    assert off[1] < 0.01 * flow.loss[0]
    assert off[0] / off[1] == pytest.approx(2, rel=0.1)  # Euler's error is of first order


def test_the_largest_curvature_is_that_of_the_hessian():
    # At the end W_out W_in = 2 with equal weights: L = (w v - 2)^2 / 2 has the curvature w^2 + v^2 = 4.
    graph = graph_from_dict(
        {"nodes": {"x": 1, "h": 1, "y": 1}, "edges": {"in": ["x", "h"], "out": ["h", "y"]}}
    )
    data = GatedData(graph, {"x": np.ones((1, 1))}, {"y": np.full((1, 1), 2.0)})
    weights = {"in": np.full((1, 1), np.sqrt(2)), "out": np.full((1, 1), np.sqrt(2))}
    result = exact_flow.largest_curvature(weights, gather_statistics(data))
    assert result == pytest.approx(4, rel=1e-4)


def test_the_flow_stops_where_it_is_asked_and_says_whether_it_got_there():
    statistics, weights = gather_statistics(linear()), start(linear())
    least = sum(end.least for end in exact_flow.outputs(statistics))
    early = exact_flow.flow_until(weights, 100.0, statistics, enough=least + 0.1)
    assert early.finished
    assert early.times[-1] < 20
    short = exact_flow.flow_until(weights, 100.0, statistics, enough=least, most=100)
    assert not short.finished
    assert short.times[-1] < 20
    rest = exact_flow.flow_until(weights, 1e6, statistics, settle_after=5.0)
    assert rest.times[-1] < 1e3
    assert rest.loss[-1] == pytest.approx(least, rel=1e-9)
