"""Every sentence of exclusive-or holds on a made-up grid and fails on another; mutations are noticed; nothing raises."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
import xarray as xr
from made_up import check, runs, verdicts

import foretrain
from foretrain.figures.drawings import drawings
from foretrain.laboratory.labelled import dataset, theory_of
from foretrain.plans import catalogue
from foretrain.plans.grid import Grid
from foretrain.studies.xor import training
from foretrain.studies.xor.study import Parameters, decoupled_strength
from foretrain.tasks.gated_data import GatedData
from foretrain.tasks.logic import xor
from foretrain.theory.exclusive_or import closed_form, descent, loss_of
from foretrain.theory.rectified_start import sort_rectified_units
from foretrain.vocabulary import DIVERGED, MISSING, STALLED

SEEDS, WIDTH = 10, 96
P = Parameters(hidden_width=WIDTH, learning_rate=0.02, steps=2000, observe_every=10)
STEP = np.arange(0, P.steps + 1, P.observe_every)
STUDY = catalogue.load("xor")
AXES = np.array([[1.0, 0.0], [-1.0, 0.0]])  # units along them are open on two neighbours


@cache
def theory() -> xr.Dataset:
    return theory_of(STUDY, Grid(P, seeds=SEEDS))


def foreseen() -> np.ndarray:
    """Input weights of units that point to the example that their start says, shape (seed, unit, input)."""
    found = []
    for number in range(SEEDS):
        start = training.start_weights(P, Grid(P).seed(number))
        found.append(sort_rectified_units(start["in1"], start["out1"][0])[0])
    return 0.1 * np.array(found)


def turned(weights, degrees):
    c, s = np.cos(np.radians(degrees)), np.sin(np.radians(degrees))
    return weights @ np.array([[c, -s], [s, c]])


def descended(start, p=P):
    return descent(start, p.learning_rate, p.steps, every=p.observe_every).swapaxes(0, 1)


def made(*, start=1.0, gated=1.0, rate=1.0, off=0.0, late=1.0, weights=None, of=theory) -> Grid:
    """Runs that do as theory says, but for starts, rates, errors of exact facts and trained weights."""
    known, other = of(), replace(P, learning_rate=rate * P.learning_rate)
    own = descended(start * theory()["start_strength"].values, other)
    beside = descended(gated * theory()["gated_start_strength"].values)
    strength = decoupled_strength(P) ** 2
    alone = descended(np.full((1, 4), strength))
    flow = closed_form(np.array([strength]), late * STEP * P.learning_rate).T
    labels = STUDY.labels(P, STEP)
    weights = foreseen() if weights is None else np.broadcast_to(weights, (SEEDS, WIDTH, 2))
    units = {"input_weights": weights, "output_weights": np.ones(WIDTH)}

    def network(seeds, loss, strengths):
        found = {"loss": loss, "example_strength": (1 + off) * strengths, **units}
        if seeds == 1:
            found = {"loss": found["loss"], "example_strength": found["example_strength"]}
        return runs({}, seeds, found, step=STEP, labels=labels)

    grid = Grid(
        P,
        seeds=SEEDS,
        simulation=network(SEEDS, loss_of(own), own),
        variants={
            "gated": network(SEEDS, loss_of(beside), beside),
            "decoupled": network(1, loss_of(alone), alone),
            "decoupled-flow": network(1, (1 + off) * flow, alone),
        },
        theory=known,
    )
    return fitted(grid)


def fitted(grid: Grid) -> Grid:
    return replace(grid, fits=dataset(STUDY.fit(grid), STUDY.labels(P, STEP), STEP, seeds=SEEDS))


BAD = {
    "relu-tracks-closed-form": {"rate": 0.8},
    "relu-start": {"start": 2.0},
    "relu-unfitted": {"start": 1.1},
    "cell-types": {
        "weights": np.repeat([[1.0, 1.0], [-1.0, 1.0], [-1.0, -1.0]], WIDTH // 3, axis=0)
    },
    "cell-directions": {"weights": turned(np.tile(xor(1).inputs["x"], (WIDTH // 4, 1)), 20)},
    "cell-types-foreseen": {"weights": np.tile(xor(1).inputs["x"], (WIDTH // 4, 1))},
    "decoupled": {"off": 1e-9},
    "closed-form": {"off": 1e-7},
    "gating-time": {"late": 0.9},
    "gated-start": {"gated": 1.6},
    "gated-unfitted": {"gated": 1.1},
    "gates-one-per-example": {"weights": np.tile(AXES, (WIDTH // 2, 1))},
    "gates-fastest": {},
    "gates-fastest.corrected": {"weights": np.tile(AXES, (WIDTH // 2, 1))},
}
GOOD = {"gates-fastest": {"weights": np.tile(AXES, (WIDTH // 2, 1))}}


def test_every_sentence_can_hold_and_fail():
    ids = {said.id for said in STUDY.sentences}
    assert ids == set(BAD)
    given = {id: GOOD.get(id, {}) for id in ids}
    good = {id: lambda given=given: made(**given) for id, given in given.items()}
    check("xor", good, {id: lambda given=given: made(**given) for id, given in BAD.items()})


def theory_with(**factors):
    """The theory with some variables multiplied; of a curve, what runs at another speed."""
    found = theory().copy(deep=True)
    for name, factor in factors.items():
        if "step" in found[name].dims:
            at = factor * STEP
            found[name] = xr.apply_ufunc(
                lambda row, at=at: np.interp(at, STEP, row),
                found[name],
                input_core_dims=[["step"]],
                output_core_dims=[["step"]],
                vectorize=True,
            )
        else:
            found[name] = factor * found[name]
    return found


@pytest.mark.parametrize(
    ("name", "id"),
    [
        ("loss", "relu-unfitted"),
        ("gated_loss", "gated-unfitted"),
        ("closed_form_loss", "closed-form"),
        ("gating_time", "gating-time"),
    ],
)
def test_a_theory_a_tenth_off_is_noticed(name, id):
    (claim,) = verdicts("xor", made(of=lambda: theory_with(**{name: 1.1})), id)[id]
    assert claim.verdict == "fails"


def test_agreement_with_permuted_gatings_is_noticed():
    grid = made()
    fits = grid.fits.copy(deep=True)
    fits["gating_agreement"][:] = np.roll(fits["gating_agreement"].values, 3, axis=1)
    wrong = replace(grid, fits=fits)
    for id in ("gates-one-per-example", "gates-fastest.corrected"):
        assert verdicts("xor", wrong, id)[id][0].verdict == "fails"


@pytest.mark.slow
def test_training_with_permuted_gates_is_noticed(monkeypatch, tmp_path):
    def permuted(width=128):
        data = xor(width)
        gates = dict(zip(data.gates, [data.gates[f"h{k}"] for k in (2, 1, 4, 3)], strict=True))
        return GatedData(data.graph, data.inputs, data.targets, gates)

    values = {"hidden_width": 16, "learning_rate": 0.08, "steps": 500, "network": "gated"}
    monkeypatch.setattr(training, "xor", permuted)
    found = foretrain.run("xor", seeds=5, workers=0, quiet=True, out=tmp_path / "a", **values)
    assert found.claims["gated-unfitted"].verdict == "fails"


ENDS = [(DIVERGED, slice(0, 3), 5), (MISSING, slice(None), 0), (STALLED, slice(None), 40)]


@pytest.mark.parametrize(("outcome", "seeds", "kept"), ENDS)
def test_nothing_raises_however_runs_end(outcome, seeds, kept):
    def ended(data):
        data = data.copy(deep=True)
        chosen = {"seed": seeds}
        data["outcome"][chosen] = outcome
        data["loss"][{**chosen, "step": slice(kept, None)}] = np.nan
        data["example_strength"][{**chosen, "step": slice(kept, None)}] = np.nan
        if outcome in (DIVERGED, MISSING) and "input_weights" in data:
            data["input_weights"][chosen] = np.nan
        return data

    grid = made()
    variants = {name: ended(data) for name, data in grid.variants.items()}
    whole = fitted(replace(grid, simulation=ended(grid.simulation), variants=variants))
    found = verdicts("xor", whole)
    assert set(found) == set(BAD)
    if outcome in (DIVERGED, MISSING):
        assert all(one.verdict != "holds" for claims in found.values() for one in claims)
    assert set(drawings(STUDY, whole)) == {
        "network",
        "cell-types",
        "learning-curve",
        "pathways",
        "gatings",
    }
