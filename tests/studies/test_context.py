import numpy as np
import pytest

from foretrain.networks.gated import statistics_gradient
from foretrain.plans.plan import make_plan
from foretrain.streams import Seed
from foretrain.studies.context import study
from foretrain.studies.context.study import GATINGS, cued_inputs, data, start_weights
from foretrain.tasks.statistics import gather_statistics
from foretrain.theory.gated.reduced_dynamics import grown_start
from foretrain.theory.gated.reduction import find_reduction


def parameters(**values):
    return make_plan("context", values).parameters


@pytest.mark.parametrize("gating", ["per_context", "always_on"])
def test_the_grown_start_is_where_small_weights_are_found_later(gating):
    p = parameters(gating=gating, init_scale=1e-6, hidden_width=8)
    statistics = gather_statistics(data(p, Seed(0, 0)))
    reduction = find_reduction(statistics)
    weights = start_weights(p, Seed(0, 0))
    state = grown_start(weights, reduction)
    rate, steps = 0.02, 2000
    for _ in range(steps):
        gradient = statistics_gradient(statistics, weights)
        weights = {name: weights[name] - rate * gradient[name] for name in weights}
    rows = {edge.name: row for row, edge in enumerate(reduction.graph.edges)}
    for group, strength in zip(reduction.groups, reduction.singular_values[:, 0], strict=True):
        for edge in group.edges:
            # The decaying part is left, e^(-2 s t) = 1e-6 of it, and weights are far from saturation.
            grown = state[rows[edge], 0] * (1 + rate * strength) ** steps
            assert np.linalg.norm(weights[edge], 2) == pytest.approx(grown, rel=1e-3)


def test_least_squares_are_the_paper_s_solutions():
    for gating, solution in (("per_context", np.eye(2)), ("always_on", [[0.5, 0.5]])):
        statistics = gather_statistics(data(parameters(gating=gating), Seed(0, 0)))
        np.testing.assert_allclose(statistics.least_squares(), solution, atol=1e-12)


def test_samples_are_those_of_the_seed_and_all_networks_see_the_same():
    sampled = {"moments": "samples", "samples": 30}
    first = data(parameters(**sampled), Seed(0, 1))
    relu = data(parameters(network="relu", samples=30), Seed(0, 1))
    always = data(parameters(**sampled, gating="always_on"), Seed(0, 1))
    np.testing.assert_array_equal(first.inputs["x"], relu.inputs["x"])
    np.testing.assert_array_equal(first.inputs["x"], always.inputs["x"])
    assert (data(parameters(**sampled), Seed(0, 2)).inputs["x"] != first.inputs["x"]).any()


def test_cues_tell_the_context_and_nothing_else():
    shown = data(parameters(network="relu", samples=10), Seed(0, 0))
    cued = cued_inputs(shown)
    np.testing.assert_array_equal(cued[:, 2:].sum(1), 1)
    asked = np.where(cued[:, 2] == 1, cued[:, 0], cued[:, 1])
    np.testing.assert_array_equal(asked, shown.targets["y"][:, 0])


@pytest.mark.slow
def test_candidate_gates_divide_the_examples_and_those_that_know_the_context_solve():
    p = parameters(samples=50, steps=20, moments="samples")
    for gates in study.candidate_gates(data(p, Seed(0, 0))).values():
        np.testing.assert_array_equal(gates.sum(0), 1)
    table = study.predict(p, np.array([0, 20]), Seed(0, 0))
    solves = np.array([name.startswith("context") for name in GATINGS])
    assert (table["gating_final_loss"][solves] < 1e-12).all()
    assert (table["gating_final_loss"][~solves] > 0.01).all()
    assert np.isfinite(table["gating_time"][solves]).all()
    assert list(GATINGS)[table["gating_time"].argmin()] == "context"
