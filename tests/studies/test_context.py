from functools import cache

import numpy as np
import pytest
import xarray as xr
from made_up import check, fitted, grid, runs

from foretrain.laboratory.labelled import theory_of
from foretrain.networks.gated import statistics_gradient
from foretrain.plans import catalogue
from foretrain.plans.grid import Grid
from foretrain.plans.plan import make_plan
from foretrain.streams import Seed
from foretrain.studies.context import study
from foretrain.studies.context.study import NETWORKS, Parameters, cued_inputs, data, gatings
from foretrain.tasks.statistics import gather_statistics
from foretrain.theory.gated.reduced_dynamics import grown_start
from foretrain.theory.gated.reduction import find_reduction
from foretrain.training.pathways import random_weights


def parameters(**values):
    return make_plan("context", values).parameters


@pytest.mark.parametrize("gating", ["per_context", "always_on"])
def test_the_grown_start_is_where_small_weights_are_found_later(gating):
    p = parameters(gating=gating, init_scale=1e-6, hidden_width=8)
    statistics = gather_statistics(data(p, Seed(0, 0)))
    reduction = find_reduction(statistics)
    weights = random_weights(study.network(p), p, Seed(0, 0))
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
    request = np.where(cued[:, 2] == 1, cued[:, 0], cued[:, 1])
    np.testing.assert_array_equal(request, shown.targets["y"][:, 0])


@pytest.mark.slow
@pytest.mark.parametrize("contexts", [2, 3])
def test_candidate_gates_divide_the_examples_and_those_that_know_the_context_solve(contexts):
    p = parameters(contexts=contexts, samples=50, steps=20, moments="samples")
    for gates in study.candidate_gates(p, data(p, Seed(0, 0))).values():
        np.testing.assert_array_equal(gates.sum(0), 1)
    table = study.predict(p, np.array([0, 20]), Seed(0, 0))
    solves = np.array([name.split(",")[0] == "context" for name in gatings(p)])
    assert (table["gating_final_loss"][solves] < 1e-12).all()
    assert (table["gating_final_loss"][~solves] > 0.01).all()
    assert np.isfinite(table["gating_time"][solves]).all()
    fastest = np.where(solves, table["gating_time"], np.inf).argmin()
    assert list(gatings(p))[fastest] == "context"


SEEDS = 6
P = Parameters(hidden_width=32, samples=200, steps=2000)
STEP = np.arange(0, P.steps + 1, P.observe_every)
STUDY = catalogue.load("context")
# Units open in one context alone, as trained ones are; and units that look at one input alone.
BY_CONTEXT = np.array([[0.1, 0, 1, -1], [-0.1, 0, 1, -1], [0, 0.1, -1, 1], [0, -0.1, -1, 1]])
BY_SIGN = np.array([[1.0, 0, 0, 0], [-1.0, 0, 0, 0]])
GATINGS = gatings(Parameters())
SOLVES = np.array([name.startswith("context") for name in GATINGS])


@cache
def theory() -> xr.Dataset:
    """The theory, but for the times of gatings, which are slow to compute and tested elsewhere."""

    def ranked(x, y, gates, strength):
        times = np.where(SOLVES, np.arange(len(GATINGS)) + 1.0, np.inf)
        return {"gating_time": times, "gating_final_loss": np.where(SOLVES, 0.0, 0.1)}, {}

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(study, "rank_gatings", ranked)
        return theory_of(STUDY, Grid(P, seeds=SEEDS))


def build(*, network="", off=0.0, speed=1.0, swap=False, units=BY_CONTEXT, of=theory):
    """Runs that do as theory says, but for the weights and speed of one network, and the units of the ReLU one."""
    variants = {}
    for name in NETWORKS:
        known, own = theory().sel(condition=name), name == network
        curves = known["network_loss"].transpose("seed", "step").values
        factor = speed if own else 1
        curves = np.array([np.interp(factor * STEP, STEP, row) for row in curves])
        weights = known["network_weights"].transpose("seed", "pathway", "input").values
        weights = weights[:, ::-1] if swap and own else weights
        pathways = 2 if name.startswith("per-context") else 1
        result = {"loss": curves, "total_weights": weights[:, :pathways] + off * own}
        variants[name] = runs({}, SEEDS, result, step=STEP, labels=STUDY.labels(P, STEP))
    many = np.tile(units, (32 // len(units), 1))
    relu = {"loss": curves, "relu_input_weights": many, "unit_contribution": np.full(32, 1 / 32)}
    variants["relu"] = runs({}, SEEDS, relu, step=STEP, labels=STUDY.labels(P, STEP))
    networks = {"": variants["per-context"], "theory": of()} | variants
    return fitted(STUDY, grid(P, {}, SEEDS, networks))


PACES = {"per-context": 1.1, "always-on": 0.9}
BAD = {
    "weights-per-context": [
        {"network": "per-context"} | bad for bad in ({"off": 0.01}, {"swap": True})
    ],
    "weights-always-on": {"network": "always-on", "off": 0.01},
    "weights-samples": [
        {"network": "always-on-samples", "off": 0.01},
        {"network": "per-context-samples", "swap": True},
    ],
    "curves": [{"network": name, "speed": pace} for name, pace in PACES.items()],
    "curves-samples": [
        {"network": f"{name}-samples", "speed": pace} for name, pace in PACES.items()
    ],
    "gates-per-context": {"units": BY_SIGN},
    "gates-fastest": [
        {"units": BY_SIGN, "of": lambda: sooner("context, signs of x1, x2")},
        {"of": lambda: sooner("context, sign of x1")},
    ],
}


def sooner(name: str) -> xr.Dataset:
    """The theory with another gating as the fastest."""
    result = theory().copy(deep=True)
    result["gating_time"].loc[{"gating": name}] = 0.1
    return result


def test_every_sentence_can_hold_and_fail():
    check("context", build, BAD)
