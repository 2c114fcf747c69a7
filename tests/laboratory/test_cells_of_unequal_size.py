"""A cell of a grid is laid out as a run of that cell alone, whatever the sizes of the other cells."""

from dataclasses import dataclass

import jax.numpy as jnp
import numpy as np
import pytest

from foretrain.laboratory.conduct import conduct
from foretrain.laboratory.folder import ended
from foretrain.laboratory.labelled import labelled
from foretrain.plans.options import Options
from foretrain.plans.plan import make_plan
from foretrain.results.journal import Scan
from foretrain.study import Program, Training, declare, default, define, parameter

declare("step mode", test_size_weights="Weights.")
declare("mode", kind="int", test_size_ranks="Whole numbers kept at the end.")
declare("mode", kind="bool", test_size_flags="Truth values kept at the end.")
AXES = {"width": (2, 3), "steps": (20, 45)}


@dataclass(frozen=True)
class Parameters(Training):
    width: int = parameter(2, "number of modes", minimum=1, static=True)
    steps: int = default(20)
    loss_tolerance: float = default(0.5)


def program(p):
    def observe(inputs, x):
        return {"loss": jnp.sum(x**2) / p.width, "test_size_weights": x}

    def finish(inputs, x):
        modes = jnp.arange(p.width)
        return {"test_size_ranks": modes, "test_size_flags": modes >= 0}

    def init(inputs):
        return jnp.ones(p.width) * inputs["start"]

    return Program(init, lambda inputs, x: 0.99 * x, observe, finish=finish)


def predict(p, step):
    modes = np.arange(p.width)
    weights = 0.99 ** step[:, None] * np.ones(p.width)
    return {"test_size_weights": weights, "test_size_ranks": modes, "test_size_flags": modes >= 0}


STUDY = define(
    "unequal",
    Parameters=Parameters,
    program=program,
    inputs=lambda p, seed: {"start": 1.0 if seed.number else 0.8},  # which ends before 20 steps
    predict=predict,
    fit=lambda cell: {"loss": cell.simulation["loss"].mean("seed").values},
    labels=lambda p: {
        "mode": np.arange(p.width)[::-1],
        "kind": ("mode", ["odd", "even", "b"][: p.width]),
    },
    variants=lambda p: {"long": {"steps": 50}},
)


def ran(folder, values):
    plan = make_plan(STUDY, {"observe_every": 10, **values}, seeds=2)
    conduct(plan, Options(out=folder, workers=0, quiet=True))
    return labelled(folder, plan)


@pytest.fixture(scope="module")
def grid(tmp_path_factory):
    return ran(tmp_path_factory.mktemp("swept") / "out", AXES)


@pytest.mark.slow
def test_a_cell_has_the_dims_values_and_labels_of_a_run_of_it_alone(grid, tmp_path):
    cell = next(grid.cells())  # the smaller one along both axes
    alone = ran(tmp_path / "out", cell.cell)
    pairs = {
        "simulation": (cell.simulation, alone.simulation),
        "variant": (cell.variants["long"], alone.variants["long"]),
        "theory": (cell.theory, alone.theory),
        "fits": (cell.fits, alone.fits),
    }
    for name, (result, wanted) in pairs.items():
        assert result.sizes == wanted.sizes, name
        assert set(result.coords) - {"width", "steps"} == set(wanted.coords), name
        for variable in {*wanted.data_vars, *wanted.coords}:
            np.testing.assert_array_equal(result[variable].values, wanted[variable].values)
            assert result[variable].dims == wanted[variable].dims, variable


def test_the_grid_says_how_far_its_cells_reach_and_a_kept_axis_is_padded(grid):
    assert grid.simulation["mode_length"].dims == ("width",)
    assert grid.simulation["mode_length"].values.tolist() == [2, 3]
    assert grid.simulation["step_length"].values.tolist() == [3, 5]
    assert "step_length" not in grid.variants["long"].coords
    whole = next(grid.cells(keep=("width",))).simulation
    assert whole.sizes["mode"] == 3
    assert whole.sizes["step"] == 3
    assert whole["test_size_ranks"].values[0, 0].tolist() == [0, 1, -1]
    assert not whole["test_size_flags"].values[0, 0, 2]


def test_a_run_that_cells_share_is_counted_once():
    plan = make_plan(STUDY, AXES, seeds=2)  # "long" has the same steps in every cell
    assert ended(plan, Scan([], np.array([]), {}, {})) == {"missing": 2 * 2 * 2 + 2 * 2}
