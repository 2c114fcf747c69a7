import dataclasses

import numpy as np
import pytest
import xarray as xr
from riding import trained

from foretrain.dynamics.program import CONVERGED, OUT_OF_STEPS, STALLED
from foretrain.plans import catalogue
from foretrain.plans.grid import Grid
from foretrain.quantities.cell import Cell
from foretrain.streams import Seed
from foretrain.studies.trained_fraction import study
from foretrain.studies.trained_fraction.claims import threshold
from foretrain.training.routing_to_loss import inputs, zero_error

SMALL = {"domains": 3, "trained_outputs": 2, "hidden_width": 8, "observe_every": 10}
STUDY = catalogue.load("trained-fraction")


def _ride(p):
    return trained(STUDY.program(p), p, (STUDY.inputs(p, Seed(0, seed)) for seed in range(3)))


def test_graph_predicts_zero_within_components_and_unrelated_bases_across(monkeypatch):
    p, power = study.Parameters(domains=4), 2 * zero_error(study.Parameters())
    step, seed = np.arange(2), Seed(0, 0)
    apart = study.predict(dataclasses.replace(p, trained_outputs=1), step, seed)
    assert np.allclose(apart["pair_error"], power * (1 - np.eye(4)))
    assert apart["component_count"] == 4
    joined = study.predict(dataclasses.replace(p, trained_outputs=2), step, seed)
    assert np.allclose(joined["pair_error"], 0)
    idle = np.array([[1, 0, 0], [1, 1, 0], [0, 1, 0]])
    monkeypatch.setattr(study, "mask", lambda p, seed: idle)
    expected = np.zeros((3, 3))
    expected[:, 2] = power / 2
    assert np.allclose(study.predict(p, step, seed)["pair_error"], expected)


def test_a_seed_starts_from_the_same_draw_at_every_scale_and_mask():
    one = inputs(study.Parameters(**SMALL, init_scale=0.1), Seed(0, 2))
    sparse = {**SMALL, "trained_outputs": 1, "mask": "biregular", "init_scale": 0.3}
    other = inputs(study.Parameters(**sparse), Seed(0, 2))
    assert np.allclose(3 * one["start_hidden"], other["start_hidden"])
    assert not np.array_equal(one["trained_pairs"], other["trained_pairs"])


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
    fractions = np.array([0.1, 0.2, 0.3, 1.0])
    error = np.array(
        [
            [5.0, 0.01, 3.0, np.nan],
            [0.01, 0.01, 0.01, np.nan],
            [5.0, 0.01, 0.01, np.nan],
            [5.0, np.nan, 0.01, np.nan],  # a run that diverged
        ]
    )
    p = study.Parameters(domains=10)
    data = xr.Dataset({"converged_untrained_error": (("seed", "trained_outputs"), error)})
    data *= zero_error(p)
    outputs = tuple((10 * fractions).astype(int).tolist())
    data = data.assign_coords(trained_outputs=list(outputs))
    cell = Cell(Grid(p, {"trained_outputs": outputs}, 4, simulation=data))
    np.testing.assert_array_equal(threshold(cell, cell.simulation), [1.0, 0.1, 0.2, np.nan])
