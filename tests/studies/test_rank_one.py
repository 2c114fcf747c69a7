"""Every sentence of the rank-one study holds where the four numbers rule, fails where it should, and notices mutations."""

from functools import cache
from itertools import product

import numpy as np
import pytest
from made_up import check, grid, times, verdicts

import foretrain
from foretrain.claims.claim import FAILS, HOLDS
from foretrain.streams import Seed
from foretrain.studies.rank_one import study
from foretrain.theory.factorization import rank_one as reduction
from foretrain.vocabulary import OUT_OF_STEPS

SEEDS = 4
AXES = {"weight_decay": (0.0, 0.2), "init_scale": (1.0, 0.1), "dimension": (1000, 10)}
STEP = np.arange(0, 1201, 5)


@cache
def _starts(scale, dimension):
    """The typical start and its neighbours."""
    overlap, irrelevant = 0.3747 * scale / np.sqrt(dimension), scale**2 * (1 - 1 / dimension)
    near = overlap * (1 + 0.02 * (np.arange(SEEDS) - 1.5))
    return [reduction.RankOneState(each, overlap, irrelevant, irrelevant) for each in near]


@cache
def _predicted(decays=(0.0, 0.2), rate=0.01, factor=1.0):
    """Predictions of the reduction along AXES, from starts `factor` times as large, name to array (axes, seed, ...)."""
    cells = []
    for decay, scale, dimension in product(decays, AXES["init_scale"], AXES["dimension"]):
        p = study.Parameters(weight_decay=decay, learning_rate=rate)
        cells += [study.from_start(p, start) for start in _starts(factor * scale, dimension)]
    shape = (2, 2, 2, SEEDS)
    return {
        name: np.reshape([cell[name] for cell in cells], (*shape, *np.shape(cells[0][name])))
        for name in cells[0]
    }


def build(simulated=None, **changes):
    """A grid whose runs are `simulated` (by default what theory says), some variables replaced by functions of them."""
    simulated = {name: (simulated or _predicted())[name] for name in (*study._CURVES, "loss")}
    networks = {"": simulated, "theory": _predicted()}
    p = study.Parameters(dimension=1000, weight_decay=0.0, init_scale=1.0)
    options = {"outcome": OUT_OF_STEPS, "step": STEP, "labels": {"time": (("step",), STEP * 0.01)}}
    return grid(p, AXES, SEEDS, networks, changes, **options)


def _undecayed():
    return _predicted(decays=(0.0, 0.0))


def _twice_as_large():
    return build(_predicted(factor=2.0))


def _late(values):
    return np.concatenate([values[..., :1]] * 60 + [values[..., :-60]], -1)


def _sooner(values):
    """Plateaus are a little shorter than those of the flow, not longer."""
    return np.apply_along_axis(lambda row: np.interp(1.015 * STEP, STEP, row), -1, values)


SPOILT = {
    "four-numbers": [
        {"overlap_x": times(1.1)},
        lambda: build(_predicted(rate=0.011)),
        lambda: build(_undecayed()),
        lambda: build(_predicted(decays=(0.0, 0.22))),
        lambda: build(_predicted(factor=1.1)),
    ],
    "weight-decay-end": [
        lambda: build(_undecayed()),
        lambda: build(_predicted(decays=(0.0, 0.22))),
    ],
    "irrelevant-decays": {},  # at small starts
    "irrelevant-decays.corrected": [{"irrelevant_x": times(1.5)}, _twice_as_large],
    "decay-dominates": {},  # at small starts
    "decay-dominates.corrected": [{"signal": times(1.5)}, _twice_as_large],
    "plateau-length": [{"loss": _late}, {"loss": _sooner}, _twice_as_large],
    "plateau-estimate": {"loss": _late},
    "weight-decay-early": lambda: build(_predicted(decays=(0.2, 0.0))),
    "weight-decay-longer": lambda: build(_predicted(decays=(0.2, 0.0))),
}


def test_every_sentence_holds_on_the_reduction_and_fails_on_a_grid_spoilt_for_it():
    check("rank-one", build, SPOILT)


@pytest.mark.slow
@pytest.mark.parametrize("id", ["irrelevant-decays", "decay-dominates"])
def test_the_story_of_the_thread_holds_at_large_starts_only(id):
    outcome = {
        (claim.cell["init_scale"], claim.verdict) for claim in verdicts("rank-one", build(), id)[id]
    }
    assert outcome == {(1.0, HOLDS), (0.1, FAILS)}


def test_claims_hold_where_they_are_exact_and_name_their_cell(tmp_path):
    size = {"dimension": 10, "learning_rate": 0.03, "steps": 400, "observe_every": 20, "seeds": 3}
    options = {"init_scale": 1.0, "weight_decay": (0.0, 0.2), "workers": 0, "quiet": True}
    result = foretrain.run("rank-one", out=tmp_path / "run", **size, **options)
    verdicts = {claim.label: claim.verdict for claim in result.claims}
    assert verdicts["four-numbers"] == verdicts["weight-decay-end"] == "holds"
    assert "irrelevant-decays.corrected[weight_decay=0]" in verdicts
    assert len(verdicts) == len(list(result.claims))


def test_prediction_starts_at_the_start_and_has_its_plateau():
    p = study.Parameters(dimension=100, steps=100)
    outcome = study.predict(p, np.arange(0, 101, 5), Seed(0, 1))
    start = reduction.reduce(**study.inputs(p, Seed(0, 1)))
    assert outcome["loss"][0] == pytest.approx(float(reduction.loss(start)), rel=1e-12)
    assert outcome["signal"][0] == pytest.approx(2 * abs(start.overlap_y), rel=1e-12)
    # Published error of the closed form at n = 100, sigma = 1: at most .024.
    assert abs(outcome["plateau_length"] - outcome["plateau_estimate"]) < 0.03
