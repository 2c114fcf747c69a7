"""Every sentence of the rank-one study holds where the four numbers rule, fails where it should, and notices mutations."""

from functools import cache
from itertools import product

import numpy as np
import pytest
from made_up import check, grid, times, verdicts

from foretrain.claims.claim import FAILS, HOLDS
from foretrain.studies.rank_one import study
from foretrain.theory.factorization import rank_one as reduction
from foretrain.vocabulary import OUT_OF_STEPS

SEEDS = 6
AXES = {"weight_decay": (0.0, 0.2), "init_scale": (1.0, 0.1), "dimension": (1000, 10)}
STEP = np.arange(0, 1201, 5)
TIME = {"time": (("step",), STEP * 0.01)}
CURVES = (*study._CURVES, "loss")


@cache
def _starts(scale, dimension):
    """The typical start and its neighbours."""
    overlap, irrelevant = 0.3747 * scale / np.sqrt(dimension), scale**2 * (1 - 1 / dimension)
    return [
        reduction.RankOneState(
            overlap * (1 + 0.02 * (number - 2.5)), overlap, irrelevant, irrelevant
        )
        for number in range(SEEDS)
    ]


@cache
def _predicted(decays=(0.0, 0.2), rate=0.01, factor=1.0):
    """Predictions of the reduction along AXES, from starts `factor` times as large, name to array (axes, seed, ...)."""
    cells = []
    for decay, scale, dimension in product(decays, AXES["init_scale"], AXES["dimension"]):
        p = study.Parameters(weight_decay=decay, learning_rate=rate)
        for start in _starts(scale, dimension):
            numbers = (
                factor * start.overlap_x,
                factor * start.overlap_y,
                factor**2 * start.irrelevant_x,
                factor**2 * start.irrelevant_y,
            )
            cells.append(study.from_start(p, reduction.RankOneState(*numbers)))
    shape = (2, 2, 2, SEEDS)
    return {
        name: np.reshape([cell[name] for cell in cells], (*shape, *np.shape(cells[0][name])))
        for name in cells[0]
    }


def build(simulated=None, **changes):
    """A grid whose runs are `simulated` (by default what theory says), some variables replaced by functions of them."""
    simulated = {name: (simulated or _predicted())[name] for name in CURVES}
    networks = {"": simulated, "theory": _predicted()}
    p = study.Parameters(dimension=1000, weight_decay=0.0, init_scale=1.0)
    options = {"outcome": OUT_OF_STEPS, "step": STEP, "labels": TIME}
    return grid(p, AXES, SEEDS, networks, changes, **options)


def _verdict_of(runs, id, **cell):
    found = [c for c in verdicts("rank-one", runs)[id] if cell.items() <= c.cell.items()]
    assert found
    return {claim.verdict for claim in found}


def _undecayed():
    return _predicted(decays=(0.0, 0.0))


def _late(values):
    return np.concatenate([values[..., :1]] * 60 + [values[..., :-60]], -1)


SPOILT = {
    "four-numbers": {"overlap_x": times(1.1)},
    "weight-decay-end": lambda: build(_undecayed()),
    "irrelevant-decays": {},  # at small starts
    "irrelevant-decays.corrected": {"irrelevant_x": times(1.5)},
    "decay-dominates": {},  # at small starts
    "decay-dominates.corrected": {"signal": times(1.5)},
    "plateau-length": {"loss": _late},
    "plateau-estimate": {"loss": _late},
    "weight-decay-early": lambda: build(_predicted(decays=(0.2, 0.0))),
    "weight-decay-longer": lambda: build(_predicted(decays=(0.2, 0.0))),
}


def test_every_sentence_holds_on_the_reduction_and_fails_on_a_grid_spoilt_for_it():
    check("rank-one", build, SPOILT)


@pytest.mark.slow
def test_the_story_of_the_thread_holds_at_large_starts_only():
    for id in ("irrelevant-decays", "decay-dominates"):
        assert _verdict_of(build(), id, init_scale=1.0) == {HOLDS}
        assert _verdict_of(build(), id, init_scale=0.1) == {FAILS}


@pytest.mark.parametrize(
    ("mutated", "noticed"),
    [
        (lambda: _predicted(rate=0.011), ["four-numbers", "plateau-length"]),
        (
            _undecayed,
            ["four-numbers", *(f"weight-decay-{part}" for part in ("end", "early", "longer"))],
        ),
        (lambda: _predicted(decays=(0.0, 0.22)), ["four-numbers", "weight-decay-end"]),
        (lambda: _predicted(factor=1.1), ["four-numbers"]),
        (
            lambda: _predicted(factor=2.0),
            ["plateau-length", "irrelevant-decays.corrected", "decay-dominates.corrected"],
        ),
    ],
)
def test_a_network_that_learns_by_another_law_is_noticed(mutated, noticed):
    found = verdicts("rank-one", build(mutated()))
    for id in noticed:
        assert {claim.verdict for claim in found[id]} - {HOLDS}, id
