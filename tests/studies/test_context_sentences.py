"""Every sentence of the contextual task holds on made-up runs and fails on others; mutations are noticed; nothing raises."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
import xarray as xr
from made_up import check, runs, verdicts

from foretrain.figures.drawings import drawings
from foretrain.laboratory.labelled import dataset, theory_of
from foretrain.plans import catalogue
from foretrain.plans.grid import Grid
from foretrain.studies.context import theory as context_theory
from foretrain.studies.context.study import GATINGS, NETWORKS, Parameters
from foretrain.vocabulary import DIVERGED, MISSING, STALLED

SEEDS = 6
P = Parameters(hidden_width=32, samples=200, steps=2000)
STEP = np.arange(0, P.steps + 1, P.observe_every)
STUDY = catalogue.load("context")
# Units open in one context alone, as trained ones are; and units that look at one input alone.
BY_CONTEXT = np.array([[0.1, 0, 1, -1], [-0.1, 0, 1, -1], [0, 0.1, -1, 1], [0, -0.1, -1, 1]])
BY_SIGN = np.array([[1.0, 0, 0, 0], [-1.0, 0, 0, 0]])
SOLVES = np.array([name.startswith("context") for name in GATINGS])


@cache
def theory() -> xr.Dataset:
    """The theory, but for the times of gatings, which are slow to compute and tested elsewhere."""

    def ranked(x, y, gates, strength):
        times = np.where(SOLVES, np.arange(len(GATINGS)) + 1.0, np.inf)
        return {"gating_time": times, "gating_final_loss": np.where(SOLVES, 0.0, 0.1)}, {}

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(context_theory, "rank_gatings", ranked)
        return theory_of(STUDY, Grid(P, seeds=SEEDS))


def faster(curves: np.ndarray, factor: float) -> np.ndarray:
    """Curves of shape (seed, step) that run at another speed."""
    return np.array([np.interp(factor * STEP, STEP, row) for row in curves])


def made(*, network="", off=0.0, speed=1.0, swap=False, units=BY_CONTEXT, of=theory):
    """Runs that do as theory says, but for the weights and speed of one network, and the units of the ReLU one."""
    variants = {}
    for name in NETWORKS:
        known, own = theory().sel(condition=name), name == network
        curves = known["network_loss"].transpose("seed", "step").values
        curves = faster(curves, speed if own else 1)
        weights = known["network_weights"].transpose("seed", "pathway", "input").values.copy()
        weights = weights[:, ::-1] if swap and own else weights
        pathways = 2 if name.startswith("per-context") else 1
        found = {"loss": curves, "total_weights": weights[:, :pathways] + off * own}
        variants[name] = runs({}, SEEDS, found, step=STEP, labels=STUDY.labels(P, STEP))
    many = np.tile(units, (32 // len(units), 1))
    relu = {
        "loss": curves,
        "relu_input_weights": many,
        "unit_contribution": np.full(32, 1 / 32),
        "context_open": np.full((32, 2), 0.5),
    }
    variants["relu"] = runs({}, SEEDS, relu, step=STEP, labels=STUDY.labels(P, STEP))
    return fitted(Grid(P, {}, SEEDS, 0, variants["per-context"], variants, of()))


def fitted(grid: Grid) -> Grid:
    return replace(grid, fits=dataset(STUDY.fit(grid), STUDY.labels(P, STEP), STEP, seeds=SEEDS))


BAD = {
    **{f"weights-{name}": {"network": name, "off": 0.01} for name in NETWORKS},
    **{f"curve-{name}": {"network": name, "speed": 1.1} for name in NETWORKS},
    "gates-per-context": {"units": BY_SIGN},
    "gates-fastest": {"units": BY_SIGN, "of": lambda: sooner("context, signs of x1, x2")},
}


def sooner(name: str) -> xr.Dataset:
    """The theory with another gating as the fastest."""
    found = theory().copy(deep=True)
    found["gating_time"].loc[{"gating": name}] = 0.1
    return found


def test_every_sentence_can_hold_and_fail():
    assert {said.id for said in STUDY.sentences} == set(BAD)
    bad = {id: lambda given=given: made(**given) for id, given in BAD.items()}
    check("context", made, bad)


@pytest.mark.parametrize("name", NETWORKS)
def test_a_theory_a_tenth_too_fast_is_noticed(name):
    found = verdicts("context", made(network=name, speed=0.9), f"curve-{name}")
    assert found[f"curve-{name}"][0].verdict == "fails"


def test_pathways_that_learn_each_other_s_context_are_noticed():
    for name in ("per-context", "per-context-samples"):
        found = verdicts("context", made(network=name, swap=True), f"weights-{name}")
        assert found[f"weights-{name}"][0].verdict == "fails"


def test_the_wrong_gating_is_noticed():
    grid = made()
    wrong = {**grid.variants, "per-context": grid.variants["always-on"]}
    weights = wrong["per-context"]["total_weights"].isel(pathway=[0, 0])
    wrong["per-context"] = (
        wrong["per-context"].drop_vars("total_weights").assign(total_weights=weights)
    )
    for id in ("weights-per-context", "curve-per-context"):
        assert verdicts("context", replace(grid, variants=wrong), id)[id][0].verdict == "fails"


@pytest.mark.parametrize("fastest", ["context, sign of x1", "context, signs of x1, x2"])
def test_another_gating_predicted_as_the_fastest_is_noticed(fastest):
    found = verdicts("context", made(of=lambda: sooner(fastest)), "gates-fastest")
    assert found["gates-fastest"][0].verdict == "fails"


ENDS = [(DIVERGED, slice(0, 3), 5), (MISSING, slice(None), 0), (STALLED, slice(None), 40)]


@pytest.mark.parametrize(("outcome", "seeds", "kept"), ENDS)
def test_nothing_raises_however_runs_end(outcome, seeds, kept):
    grid, variants = made(), {}
    for name, whole in grid.variants.items():
        data = variants[name] = whole.copy(deep=True)
        data["outcome"][{"seed": seeds}] = outcome
        data["loss"][{"seed": seeds, "step": slice(kept, None)}] = np.nan
        for finals in set(data.data_vars) - {"outcome", "loss"}:
            if outcome in (DIVERGED, MISSING):
                data[finals][{"seed": seeds}] = np.nan
    whole = fitted(replace(grid, simulation=variants["per-context"], variants=variants))
    found = verdicts("context", whole)
    assert set(found) == set(BAD)
    if outcome in (DIVERGED, MISSING):
        assert all(one.verdict != "holds" for claims in found.values() for one in claims)
    assert set(drawings(STUDY, whole)) == {"task", "learning-curve", "relu-gates", "gatings"}
