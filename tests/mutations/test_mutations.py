"""Errors planted in what a study computes are noticed: by a verdict, or by the prediction that is stored."""

import numpy as np
import pytest
import xarray as xr
from benchmarks.misreadings import readings
from mutations.golden import differing, digest, predicted, stored
from mutations.notice import NOTHING_PLANTED, SILENT, of_all, report
from mutations.plant import mutations

from foretrain.plans import catalogue
from foretrain.plans.grid import Grid
from foretrain.registry.small import PRESETS

#: Studies whose predictions at small sizes take less than half a second in all.
QUICK = set(
    "attention-ladder circulant connectivity cross-entropy image-grokking mask-spectrum masked-rank-one one-mode pathway-race "
    "rank-one ridge-grokking".split()
)


def small_grid() -> Grid:
    """A grid of three seeds and four modes, whose runs follow what is predicted."""
    step = np.arange(0, 60, 10)
    random = np.random.default_rng(0)
    dims = ("seed", "step", "mode")
    strength = random.uniform(1, 2, (3, 1, 4)) * step[:, None] / 50
    theory = xr.Dataset({"strength": (dims, strength)}, {"step": step})
    loss = (4 - strength).mean(2)
    runs = theory.assign(loss=(dims[:2], loss), heldout_error=(dims[:2], 2 * loss))
    return Grid(None, seeds=3, simulation=runs, theory=theory)


def test_every_kind_of_mutation_is_planted_and_changes_only_what_it_names():
    grid = small_grid()
    planted = {item.kind: item for item in mutations(grid)}
    assert set(planted) == {"theory", "clock", "seed", "index", "runs", "leak", "truncated"}
    changed = planted["theory"].plant(grid)
    assert np.allclose(changed.theory.strength, 0.9 * grid.theory.strength)
    assert changed.simulation.identical(grid.simulation)
    leaked = planted["leak"].plant(grid)
    assert np.array_equal(leaked.simulation.heldout_error, grid.simulation.loss)
    assert leaked.theory.identical(grid.theory)
    exchanged = planted["runs"].plant(grid)
    assert np.array_equal(exchanged.simulation.loss[0], grid.simulation.loss[-1])
    assert exchanged.theory.identical(grid.theory)
    (mixed,) = [item.plant(grid) for item in readings(grid) if item.what.startswith("loss of")]
    assert np.array_equal(mixed.simulation.loss[1], grid.simulation.loss[0])


def test_a_layer_is_read_in_place_of_another_where_layers_differ():
    change = ("layer", [1.0, 2.0]), ("layer", [1.0, 1.0])
    grid = Grid(None, simulation=xr.Dataset(dict(zip(("moved", "even"), change, strict=True))))
    (item,) = [item for item in mutations(grid) if item.kind == "layer"]
    assert (item.kind, item.what, item.reads) == ("layer", "moved another layer's", "moved")
    assert list(item.plant(grid).simulation.moved.values) == [2.0, 1.0]


def test_a_mutation_that_changes_nothing_or_rounding_alone_is_not_planted():
    theory = small_grid().theory
    same = Grid(None, seeds=3, theory=theory.isel(seed=[0, 0, 0]))
    assert "seed" not in {item.kind for item in mutations(same)}
    assert not list(mutations(Grid(None, theory=theory * 0)))
    runs = xr.Dataset({"imbalance": ("step", [0.0, 1e-17, 0.0, -1e-17])})
    assert not list(mutations(Grid(None, simulation=runs)))


def test_training_that_ends_half_way_is_planted_where_the_second_half_matters():
    runs = small_grid().simulation
    grid = Grid(None, simulation=runs.assign(loss=runs.loss * 0 + (runs.step < 40)))
    (cut,) = [item for item in mutations(grid) if item.kind == "truncated"]
    assert float(cut.plant(grid).simulation.loss.min()) == 1


def test_the_digest_of_a_prediction_tells_runs_and_indices_apart():
    theory = small_grid().theory
    value = digest(Grid(None, theory=theory))
    for other in (theory * 1.01, theory.roll(seed=1), theory.roll(mode=1), theory.roll(step=1)):
        assert differing(value, digest(Grid(None, theory=other))) == ["strength"]
    assert not differing(value, digest(Grid(None, theory=theory * (1 + 1e-6))))
    assert differing(value, {}) == ["strength"]


SPEEDS = {name: [] if name.partition(".")[0] in QUICK else pytest.mark.slow for name in PRESETS}


@pytest.mark.parametrize("name", [pytest.param(name, marks=SPEEDS[name]) for name in PRESETS])
def test_every_run_is_predicted_as_it_is_stored(name):
    assert differing(stored().get(name, {}), digest(predicted(name))) == []


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_of_the_errors_in_all_studies_95_in_a_hundred_are_noticed(tmp_path, capsys):
    every = of_all(catalogue.names(), tmp_path)
    with capsys.disabled():
        print("\n" + "\n".join(report(every)))
    missed = [item for item in every if not (item.by or item.golden)]
    assert not [item for item in missed if item.kind not in SILENT.get(item.study, ())]
    assert {item.study for item in every} == set(catalogue.names()) - NOTHING_PLANTED
    assert len(every) >= 200
    assert len(missed) <= 0.05 * len(every)
