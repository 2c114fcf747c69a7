"""Every sentence of the contextual task holds on made-up runs and fails on others; mutations are noticed; nothing raises."""

from functools import cache

import numpy as np
import pytest
import xarray as xr
from made_up import check, fitted, grid, runs, verdicts

from foretrain.laboratory.labelled import theory_of
from foretrain.plans import catalogue
from foretrain.plans.grid import Grid
from foretrain.studies.context import study
from foretrain.studies.context.study import GATINGS, NETWORKS, Parameters

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


BAD = {
    **{f"weights-{name}": {"network": name, "off": 0.01} for name in ("per-context", "always-on")},
    "weights-samples": {"network": "always-on-samples", "off": 0.01},
    "curves": {"network": "per-context", "speed": 1.1},
    "curves-samples": {"network": "per-context-samples", "speed": 1.1},
    "gates-per-context": {"units": BY_SIGN},
    "gates-fastest": {"units": BY_SIGN, "of": lambda: sooner("context, signs of x1, x2")},
}


def sooner(name: str) -> xr.Dataset:
    """The theory with another gating as the fastest."""
    result = theory().copy(deep=True)
    result["gating_time"].loc[{"gating": name}] = 0.1
    return result


def test_every_sentence_can_hold_and_fail():
    check("context", build, BAD)


@pytest.mark.parametrize(
    ("id", "changes"),
    [
        ("curves", {"network": "always-on", "speed": 0.9}),
        ("curves-samples", {"network": "always-on-samples", "speed": 0.9}),
        ("weights-per-context", {"network": "per-context", "swap": True}),
        ("weights-samples", {"network": "per-context-samples", "swap": True}),
        ("gates-fastest", {"of": lambda: sooner("context, sign of x1")}),
    ],
)
def test_a_tenth_of_speed_swapped_contexts_and_another_fastest_gating_are_noticed(id, changes):
    (result,) = verdicts("context", build(**changes), id)[id]
    assert result.verdict == "fails"
