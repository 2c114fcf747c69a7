"""Every sentence of the trained-fraction study holds on networks that obey the graph, and fails where it should."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from made_up import add, check, grid, times
from riding import trained

from foretrain.dynamics.program import CONVERGED, OUT_OF_STEPS, STALLED
from foretrain.plans import catalogue
from foretrain.plans.grid import Grid
from foretrain.quantities.cell import Cell
from foretrain.streams import Seed
from foretrain.studies.trained_fraction import study
from foretrain.studies.trained_fraction.study import SMALLER, Parameters
from foretrain.tasks.hierarchy import LEVEL_WEIGHTS, hierarchical_items
from foretrain.tasks.masks import circulant, without_common_output
from foretrain.training.routing import items_task, mask
from foretrain.training.routing_to_loss import zero_error

P = Parameters(domains=5, trained_outputs=1, hidden_width=8)
AXES = {"mask": ("circulant", "random_rows"), "trained_outputs": (1, 2, 3, 5)}
SHAPE, SEEDS, STEP = (2, 4), 5, np.arange(0, 200, 40)
ZERO = zero_error(P)


@cache
def _predicted():
    """Masks and predictions of every cell and seed."""
    cells = [
        replace(P, mask=m, trained_outputs=k) for m in AXES["mask"] for k in AXES["trained_outputs"]
    ]
    seeds = [Seed(0, number) for number in range(SEEDS)]
    each = [
        [{**study.predict(p, STEP, s), "trained_pairs": mask(p, s)} for s in seeds] for p in cells
    ]
    stack = lambda name: np.array([[item[name] for item in cell] for cell in each])  # noqa: E731
    return {n: stack(n).reshape(*SHAPE, SEEDS, *stack(n).shape[2:]) for n in each[0][0]}


def build(changes=None) -> Grid:
    """Networks with the errors that their graphs predict; `changes` are those of `grid`."""
    predicted = dict(_predicted())
    pairs, hair = predicted.pop("trained_pairs"), 1e-6 * (1 + np.arange(SEEDS))
    errors = np.where(pairs == 1, 1e-4, predicted["pair_error"]) * (1 + hair[:, None, None])
    untrained = (errors * (pairs == 0)).sum((-2, -1)) / np.maximum((pairs == 0).sum((-2, -1)), 1)
    loss = np.geomspace(ZERO, 1e-4, STEP.size) * (1 + hair[:, None]) + np.zeros((*SHAPE, 1, 1))
    # As many answers with the right sign as with the wrong one.
    signs = np.where((np.arange(5) - np.arange(5)[:, None]) % 5 > 2, -1.0, 1.0)
    answers = signs[..., None, None] * hierarchical_items(LEVEL_WEIGHTS["authors"])[1]
    own = {
        "loss": loss,
        "untrained_error": loss * 0 + untrained[..., None],
        "converged_loss": loss[..., -1],
        "converged_untrained_error": np.where((pairs == 0).any((-2, -1)), untrained, np.nan),
        "trained_pairs": pairs,
        "pair_error": errors,
        "gradient_gap": hair,
        "outputs": answers * (1 + hair)[:, None, None, None, None]
        + np.zeros((*SHAPE, 1, 1, 1, 1, 1)),
        "similarity": _similarity(1.0),
    }
    small = own | {"similarity": _similarity(SMALLER)}
    networks = {"": own, "small-init": small, "theory": predicted}
    return grid(P, AXES, SEEDS, networks, changes, step=STEP)


@cache
def _similarity(smaller):
    """Dot products of domains with a part of their own that falls with the power of the closed form."""
    modes = items_task("authors").input_modes[0]
    similar = []
    for outputs in AXES["trained_outputs"]:
        cell, part = Cell(Grid(replace(P, trained_outputs=outputs))), 0.0
        if outputs > 1 and without_common_output(circulant(5, outputs)).any():
            part = 0.04 / smaller ** study.power_of_scale(cell)
        similar.append(np.kron((1 - part) * np.ones((5, 5)) + part * np.eye(5), modes @ modes.T))
    hair = 1 + 1e-6 * np.arange(1, SEEDS + 1)[:, None, None]
    return np.array(similar)[:, None] * hair + np.zeros((2, 1, 1, 1, 1))


def set_to(value):
    return lambda values: np.where(np.isnan(values), np.nan, value + 1e-6 * values)


def spread(similarity):
    """Every domain with representations of its own."""
    return similarity * np.kron(np.eye(5), np.ones((4, 4)))


SPOILT = {
    "trained-routes-alone": [
        ("gradient_gap", add(0.05)),
        ("untrained_error", add(1.0)),
        ("trained_pairs", lambda pairs: pairs * 0 + 1),
        ("trained_pairs", lambda pairs: np.swapaxes(pairs, -1, -2)),
    ],
    "trained": [("converged_loss", set_to(2.0))],
    "threshold": [("converged_untrained_error", set_to(20.0))],
    "threshold.corrected": [("small-init/converged_untrained_error", set_to(20.0))],
    "components": [
        ("theory/component_count", add(1)),
        ("theory/pair_error", times(1.05)),
        ("theory/pair_error", lambda errors: np.roll(errors, 1, -1)),
        ("theory/converged_untrained_error", times(1.05)),
    ],
    "connectivity-small-init": [
        ("small-init/pair_error", lambda errors: np.where(errors < 3, 60.0, 0.0)),
        ("theory/pair_error", set_to(0.0)),
        ("theory/pair_error", set_to(60.0)),
    ],
    "few-outputs": [("converged_untrained_error", set_to(0.5 * ZERO))],
    "few-outputs.corrected": [
        ("small-init/outputs", times(0.5)),
        ("theory/converged_untrained_error", times(0.9)),
        ("theory/converged_untrained_error", times(1.1)),
    ],
    "unrelated": [("small-init/outputs", np.abs)],
    "shared-apart": [("similarity", spread)],
    "shared-apart.corrected": [("small-init/similarity", lambda v: v + 0.04 * spread(v))],
}


def test_every_sentence_can_hold_and_fail():
    spoilt = {id: [{"changes": dict([item])} for item in each] for id, each in SPOILT.items()}
    check("trained-fraction", build, spoilt)


SMALL = {"domains": 3, "trained_outputs": 2, "hidden_width": 8, "observe_every": 10}


def _ride(p):
    whole = catalogue.load("trained-fraction")
    return trained(whole.program(p), p, (whole.inputs(p, Seed(0, seed)) for seed in range(3)))


@pytest.mark.slow
def test_runs_end_as_converged_stalled_or_out_of_steps():
    common = {**SMALL, "init_scale": 0.3}
    converged = _ride(study.Parameters(**common, loss_tolerance=1e-2, steps=4000))
    assert [run.outcome for run in converged] == [CONVERGED] * 3
    assert max(run.finals["converged_loss"] for run in converged) <= 1e-2
    # A step so small that the loss cannot fall by 1% in 50 steps on the plateau where it begins.
    stuck = _ride(study.Parameters(**common, learning_rate=1e-5, patience=50, steps=4000))
    assert [run.outcome for run in stuck] == [STALLED] * 3
    assert max(run.steps_taken for run in stuck) < 200
    short = _ride(study.Parameters(**common, steps=40))
    assert [run.outcome for run in short] == [OUT_OF_STEPS] * 3


def test_threshold_is_where_the_error_stays_low():
    nan, p = np.nan, study.Parameters(domains=10)
    error = [[5, 0.01, 3, nan], [0.01, 0.01, 0.01, nan], [5, 0.01, 0.01, nan], [5, nan, 0.01, nan]]
    data = {"converged_untrained_error": np.array(error).T * zero_error(p)}
    cell = Cell(grid(p, {"trained_outputs": (1, 2, 3, 10)}, 4, {"": data}))
    # In the last a run diverged.
    np.testing.assert_array_equal(study.threshold(cell, cell.simulation), [1.0, 0.1, 0.2, nan])
