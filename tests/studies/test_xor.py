"""Every sentence of exclusive-or holds on a made-up grid and fails on another; mutations are noticed; nothing raises."""

from functools import cache

import numpy as np
import pytest
import xarray as xr
from made_up import check, fitted, grid, runs

import foretrain
from foretrain.laboratory.labelled import theory_of
from foretrain.plans import catalogue
from foretrain.plans.grid import Grid
from foretrain.plans.plan import make_plan
from foretrain.streams import Seed
from foretrain.studies.xor import study
from foretrain.studies.xor.study import SINGLE, Parameters, decoupled_strength, start_weights
from foretrain.tasks.logic import xor
from foretrain.theory.pathways import exclusive_or
from foretrain.theory.pathways.exclusive_or import closed_form, descent, loss_of
from foretrain.theory.pathways.rectified_start import sort_rectified_units

SEEDS, WIDTH = 10, 96
P = Parameters(hidden_width=WIDTH, learning_rate=0.02, steps=2000, observe_every=10)
STEP = np.arange(0, P.steps + 1, P.observe_every)
STUDY = catalogue.load("xor")
TWO_NEIGHBOURS = {"weights": np.tile([[1.0, 0.0], [-1.0, 0.0]], (WIDTH // 2, 1))}


@cache
def theory() -> xr.Dataset:
    return theory_of(STUDY, Grid(P, seeds=SEEDS))


@cache
def foreseen() -> np.ndarray:
    """Input weights of units that point to the example that their start says, shape (seed, unit, input)."""
    starts = [study.start_weights(P, Grid(P).seed(number)) for number in range(SEEDS)]
    return 0.1 * np.array([sort_rectified_units(w["in1"], w["out1"][0])[0] for w in starts])


def turned(weights, degrees):
    c, s = np.cos(np.radians(degrees)), np.sin(np.radians(degrees))
    return weights @ np.array([[c, -s], [s, c]])


def descended(start, rate=1.0):
    return descent(start, rate * P.learning_rate, P.steps, every=P.observe_every).swapaxes(0, 1)


def build(*, start=1.0, gated=1.0, rate=1.0, off=0.0, weights=None, predicted=None, derived=1.0):
    """Runs that do as theory says, but for starts, rates, errors of exact facts, trained weights and derived starts."""
    own = descended(start * theory()["start_strength"].values, rate)
    neighbour = descended(gated * theory()["gated_start_strength"].values)
    strength = decoupled_strength(P) ** 2
    alone = descended(np.full((1, 4), strength))
    flow = closed_form(np.array([strength]), STEP * P.learning_rate).T
    weights = foreseen() if weights is None else np.broadcast_to(weights, (SEEDS, WIDTH, 2))
    units = {"input_weights": weights, "output_weights": np.ones(WIDTH)}

    def network(loss, strengths, **ends):
        curves = {"loss": loss, "example_strength": (1 + off) * strengths}
        return runs({}, len(loss), {**curves, **ends}, step=STEP, labels=STUDY.labels(P, STEP))

    predicted = theory() if predicted is None else predicted
    networks = {
        "": network(loss_of(own), own, **units),
        "gated": network(loss_of(neighbour), neighbour, **units),
        "decoupled": network(loss_of(alone), alone),
        "decoupled-flow": network((1 + off) * flow, alone),
        "theory": predicted.assign(start_strength=derived * predicted.start_strength),
    }
    return fitted(STUDY, grid(P, {}, SEEDS, networks))


def faster(name):
    """A prediction of which one curve is a tenth too fast."""
    curve = lambda row: np.interp(1.1 * STEP, STEP, row)  # noqa: E731
    dims = {"input_core_dims": [["step"]], "output_core_dims": [["step"]], "vectorize": True}
    return {"predicted": theory().assign({name: xr.apply_ufunc(curve, theory()[name], **dims)})}


def permuted():
    """Runs of which another gating stands in the place of each."""
    whole = build()
    whole.fits["gating_agreement"][:] = np.roll(whole.fits["gating_agreement"].values, 3, axis=1)
    return whole


BAD = {
    "relu-tracks-closed-form": {"rate": 0.8},
    "relu-unfitted": [{"start": 1.1}, lambda: build(**faster("loss"))],
    "strengths-unfitted": {"start": 1.1},
    "predicted-starts": {"derived": 1.05},
    "cell-types": [
        {"weights": turned(np.tile(xor(1).inputs["x"], (WIDTH // 4, 1)), 20)},
        {"weights": np.repeat([[1.0, 1.0], [-1.0, 1.0], [-1.0, -1.0]], WIDTH // 3, axis=0)},
    ],
    "cell-types-foreseen": {"weights": np.tile(xor(1).inputs["x"], (WIDTH // 4, 1))},
    "decoupled": {"off": 1e-9},
    "closed-form": [{"off": 1e-7}, lambda: build(**faster("closed_form_loss"))],
    "gated-unfitted": [{"gated": 1.1}, lambda: build(**faster("gated_loss"))],
    "gates-one-per-example": [TWO_NEIGHBOURS, permuted],
    "gates-fastest": {},
    "gates-fastest.corrected": [TWO_NEIGHBOURS, permuted],
}


def test_every_sentence_can_hold_and_fail():
    check("xor", build, BAD, {"gates-fastest": TWO_NEIGHBOURS})


def parameters(**values):
    return make_plan("xor", values).parameters


def test_the_derived_start_is_that_of_the_paper_s_reduction_for_balanced_weights():
    p = parameters(network="gated", init_law="decoupled", hidden_width=6)
    weights = start_weights(p, Seed(0, 0))
    np.testing.assert_allclose(
        exclusive_or.gated_strengths(weights), decoupled_strength(p) ** 2, rtol=1e-12
    )


def test_derived_starts_have_the_means_they_are_said_to_have():
    width, scale, draws = 128, 2e-4, 200
    relu, gated = (parameters(network=name, hidden_width=width) for name in ("relu", "gated"))
    unit = width * scale**2
    for p, function, mean in (
        (relu, exclusive_or.rectified_strengths, 0.16542),  # 3/4 of the mean of q^2 over the sphere
        (gated, exclusive_or.gated_strengths, 0.5),
    ):
        drawn = np.array([function(start_weights(p, Seed(0, seed))) for seed in range(draws)])
        error = drawn.std() / unit / np.sqrt(drawn.size)
        assert drawn.mean() / unit == pytest.approx(mean, abs=4 * error)


def test_only_one_pathway_per_example_is_consistent_with_its_own_gates():
    strength = decoupled_strength(parameters())
    table, names = study.candidates(strength), np.array(list(study.gatings()))
    solves, consistent = table["gating_final_loss"] < 1e-12, table["gating_consistent"]
    assert len(names) == 15
    assert solves.sum() == 7
    assert SINGLE in names[consistent]
    assert not (consistent & solves & (names != SINGLE)).any()
    # Half of the loss of four decoupled pathways is left where a(t) is 1 - sqrt(1/2) of its end.
    time = np.linspace(0, 60, 60001)
    loss = exclusive_or.closed_form(np.array([strength**2]), time)[:, 0]
    half = time[np.argmax(loss <= loss[0] / 2)]
    assert table["gating_time"][names == SINGLE] == pytest.approx(half, abs=2e-3)


@pytest.mark.slow
def test_a_gated_network_may_be_the_study_s_own(tmp_path):
    values = {"network": "gated", "hidden_width": 8, "learning_rate": 0.1, "steps": 300}
    result = foretrain.run("xor", seeds=2, workers=0, quiet=True, out=tmp_path / "a", **values)
    ids = {"decoupled", "closed-form", "gated-unfitted", "predicted-starts"}
    assert {claim.id for claim in result.claims} == ids
    assert not (result.path / "figures" / "cell-types.svg").exists()


def test_descent_of_the_reduction_tends_to_the_closed_form():
    start, time = np.array([1e-3]), 12.0
    exact = exclusive_or.closed_form(start, np.array([time]))[0, 0]
    errors = []
    for rate in (0.04, 0.02, 0.01):
        steps = round(time / rate)
        strengths = exclusive_or.descent(start, rate, steps, every=steps)
        errors.append(abs(exclusive_or.loss_of(np.repeat(strengths[-1], 4)) - exact))
    orders = np.log2(np.array(errors[:-1]) / errors[1:])
    np.testing.assert_allclose(orders, 1, atol=0.1)  # Euler's scheme is of first order
