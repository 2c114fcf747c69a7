"""Every sentence of exclusive-or holds on a made-up grid and fails on another; mutations are noticed; nothing raises."""

from functools import cache

import numpy as np
import pytest
import xarray as xr
from made_up import check, fitted, grid, runs, verdicts

from foretrain.laboratory.labelled import theory_of
from foretrain.plans import catalogue
from foretrain.plans.grid import Grid
from foretrain.studies.xor import study
from foretrain.studies.xor.study import Parameters, decoupled_strength
from foretrain.tasks.logic import xor
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
    beside = descended(gated * theory()["gated_start_strength"].values)
    strength = decoupled_strength(P) ** 2
    alone = descended(np.full((1, 4), strength))
    flow = closed_form(np.array([strength]), STEP * P.learning_rate).T
    weights = foreseen() if weights is None else np.broadcast_to(weights, (SEEDS, WIDTH, 2))
    units = {"input_weights": weights, "output_weights": np.ones(WIDTH)}

    def network(loss, strengths, **ends):
        labels = STUDY.labels(P, STEP)
        curves = {"loss": loss, "example_strength": (1 + off) * strengths}
        return runs({}, len(loss), {**curves, **ends}, step=STEP, labels=labels)

    predicted = theory() if predicted is None else predicted
    networks = {
        "": network(loss_of(own), own, **units),
        "gated": network(loss_of(beside), beside, **units),
        "decoupled": network(loss_of(alone), alone),
        "decoupled-flow": network((1 + off) * flow, alone),
        "theory": predicted.assign(start_strength=derived * predicted.start_strength),
    }
    return fitted(STUDY, grid(P, {}, SEEDS, networks))


BAD = {
    "relu-tracks-closed-form": {"rate": 0.8},
    "relu-unfitted": {"start": 1.1},
    "strengths-unfitted": {"start": 1.1},
    "predicted-starts": {"derived": 1.05},
    "cell-types": {"weights": turned(np.tile(xor(1).inputs["x"], (WIDTH // 4, 1)), 20)},
    "cell-types-foreseen": {"weights": np.tile(xor(1).inputs["x"], (WIDTH // 4, 1))},
    "decoupled": {"off": 1e-9},
    "closed-form": {"off": 1e-7},
    "gated-unfitted": {"gated": 1.1},
    "gates-one-per-example": TWO_NEIGHBOURS,
    "gates-fastest": {},
    "gates-fastest.corrected": TWO_NEIGHBOURS,
}


def test_every_sentence_can_hold_and_fail():
    check("xor", build, BAD, {"gates-fastest": TWO_NEIGHBOURS})


def test_three_cell_types_are_not_four():
    weights = np.repeat([[1.0, 1.0], [-1.0, 1.0], [-1.0, -1.0]], WIDTH // 3, axis=0)
    (claim,) = verdicts("xor", build(weights=weights), "cell-types")["cell-types"]
    assert (claim.verdict, claim.measured) == ("fails", 3)


@pytest.mark.parametrize(
    ("name", "id"),
    [
        ("loss", "relu-unfitted"),
        ("gated_loss", "gated-unfitted"),
        ("closed_form_loss", "closed-form"),
    ],
)
def test_a_curve_a_tenth_too_fast_is_noticed(name, id):
    faster = lambda row: np.interp(1.1 * STEP, STEP, row)  # noqa: E731
    dims = {"input_core_dims": [["step"]], "output_core_dims": [["step"]], "vectorize": True}
    predicted = theory().assign({name: xr.apply_ufunc(faster, theory()[name], **dims)})
    (claim,) = verdicts("xor", build(predicted=predicted), id)[id]
    assert claim.verdict == "fails"


def test_agreement_with_permuted_gatings_is_noticed():
    permuted = build()
    agreement = permuted.fits["gating_agreement"]
    agreement[:] = np.roll(agreement.values, 3, axis=1)
    for id in ("gates-one-per-example", "gates-fastest.corrected"):
        assert verdicts("xor", permuted, id)[id][0].verdict == "fails"
