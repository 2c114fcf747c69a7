import itertools

import numpy as np
import pytest
import xarray as xr

from foretrain.errors import ForetrainError
from foretrain.results import journal
from foretrain.results.folding import Layout, fold_all
from foretrain.results.journal import Writer, scan
from foretrain.results.segment import FinishedRun
from foretrain.vocabulary import VocabularyError, declare

OUTCOMES = ("running", "converged", "diverged")

declare("mode", test_fold_spectrum="A spectrum kept at the end.")
declare("step mode", unit="1", test_fold_strength="Strength of each mode.")
declare(kind="int", test_fold_count="A count kept at the end.")
declare(kind="bool", test_fold_flag="A flag kept at the end.")
declare("layer mode", test_fold_weights="Observed, declared without step.")

SCALES, WIDTHS = (0.1, 0.2, 0.3), (2, 4)


def identity(i, j, seed):
    return f"{i}-{j}-{seed}"


def make_run(i, j, seed):
    """A run whose length depends on its place, and whose spectrum is as long as its width."""
    observations = 1 + (3 * i + 5 * j + seed) % 6
    draw = np.random.default_rng([i, j, seed])
    return FinishedRun(
        identity=identity(i, j, seed),
        outcome=1 + (i + j) % 2,
        steps_taken=10 * (observations - 1),
        steps=10 * np.arange(observations),
        curves={
            "loss": draw.normal(size=observations).astype(np.float32),
            "test_fold_strength": draw.normal(size=(observations, WIDTHS[j])),
        },
        finals={
            "test_fold_spectrum": draw.normal(size=WIDTHS[j]),
            "test_fold_count": np.int32(draw.integers(100)),
            "test_fold_flag": np.bool_(seed % 2),
        },
    )


PLACES = list(itertools.product(range(3), range(2), range(2)))
RUNS = {place: make_run(*place) for place in PLACES}


def layout(**changes):
    fields = {
        "axes": {"init_scale": SCALES, "hidden_width": WIDTHS},
        "seeds": 2,
        "places": [(place, identity(*place)) for place in PLACES],
        "outcomes": OUTCOMES,
    }
    return Layout(**{**fields, **changes})


@pytest.fixture
def folder(tmp_path):
    """All runs, in segments of different size, in an order unlike that of the grid."""
    shuffled = np.random.default_rng(0).permutation(len(PLACES))
    writers = [Writer(tmp_path, "w0"), Writer(tmp_path, "w1")]
    for number, part in enumerate(np.split(shuffled, [1, 4, 5, 9])):
        writers[number % 2].append([RUNS[PLACES[n]] for n in part])
    return tmp_path


def test_every_value_of_every_run_stands_at_its_place_and_the_rest_is_padding(folder):
    dataset = fold_all(folder, {"": layout()})[""]
    longest = max(len(run.steps) for run in RUNS.values())
    np.testing.assert_array_equal(dataset.step, 10 * np.arange(longest))
    for (i, j, seed), run in RUNS.items():
        cell = dataset.sel(init_scale=SCALES[i], hidden_width=WIDTHS[j], seed=seed)
        n, width = len(run.steps), WIDTHS[j]
        assert int(cell.outcome) == run.outcome
        assert int(cell.steps_taken) == run.steps_taken
        loss = np.full(longest, np.nan)
        loss[:n] = run.curves["loss"]
        np.testing.assert_array_equal(cell.loss, loss)
        strength = np.full((longest, max(WIDTHS)), np.nan)
        strength[:n, :width] = run.curves["test_fold_strength"]
        np.testing.assert_array_equal(cell.test_fold_strength, strength)
        spectrum = np.full(max(WIDTHS), np.nan)
        spectrum[:width] = run.finals["test_fold_spectrum"]
        np.testing.assert_array_equal(cell.test_fold_spectrum, spectrum)
        assert int(cell.test_fold_count) == run.finals["test_fold_count"]
        assert bool(cell.test_fold_flag) == run.finals["test_fold_flag"]


def test_dims_are_the_axes_then_seed_then_step_then_the_variables_own_with_their_words(folder):
    dataset = fold_all(folder, {"": layout()})[""]
    grid = ("init_scale", "hidden_width", "seed")
    result = {name: (variable.dims, variable.dtype) for name, variable in dataset.data_vars.items()}
    assert result == {
        "loss": ((*grid, "step"), np.float32),
        "test_fold_strength": ((*grid, "step", "mode"), np.float64),
        "test_fold_spectrum": ((*grid, "mode"), np.float64),
        "test_fold_count": (grid, np.int32),
        "test_fold_flag": (grid, np.bool_),
        "outcome": (grid, np.int8),
        "steps_taken": (grid, np.int64),
    }
    assert set(dataset.coords) == {*grid, "step", "mode_length"}
    assert dataset.mode_length.dims == ("hidden_width",)
    assert tuple(dataset.mode_length.values) == WIDTHS
    assert dataset.test_fold_strength.attrs["description"] == "Strength of each mode."
    assert dataset.outcome.attrs["flag_meanings"] == "missing running converged diverged"
    assert dataset.outcome.attrs["flag_values"] == [-1, 0, 1, 2]


def test_the_order_of_finishing_and_the_segments_leave_no_trace(folder, tmp_path_factory):
    other = tmp_path_factory.mktemp("other")
    Writer(other, "w").append(list(RUNS.values()))
    assert fold_all(folder, {"": layout()})[""].identical(fold_all(other, {"": layout()})[""])


def test_runs_that_are_not_done_are_missing(tmp_path):
    Writer(tmp_path, "w").append([RUNS[0, 1, 0], RUNS[2, 0, 1]])
    dataset = fold_all(tmp_path, {"": layout()})[""]
    assert int((dataset.outcome >= 0).sum()) == 2
    missing = dataset.sel(init_scale=0.2)
    assert (missing.outcome == -1).all()
    assert (missing.steps_taken == -1).all()
    assert (missing.test_fold_count == missing.test_fold_count.attrs["padding"]).all()
    assert np.isnan(missing.loss).all()


def test_a_run_may_stand_at_several_places_and_those_at_none_widen_nothing(folder):
    places = [((i, seed), identity(0, 0, seed)) for i in range(3) for seed in range(2)]
    dataset = fold_all(folder, {"": layout(axes={"init_scale": SCALES}, places=places)})[""]
    assert dataset.sizes["mode"] == 2
    assert dataset.sizes["step"] == max(len(RUNS[0, 0, seed].steps) for seed in range(2))
    assert (dataset.loss.fillna(-1) == dataset.loss.isel(init_scale=0, drop=True).fillna(-1)).all()
    assert not np.isnan(dataset.loss.isel(step=0)).any()


def test_a_variable_that_only_some_runs_have_is_padded_in_the_others(tmp_path):
    runs = [
        FinishedRun("0-0-0", 1, 0, np.array([0]), {"loss": np.ones(1)}),
        FinishedRun("0-0-1", 1, 0, np.array([0]), {}, {"test_fold_spectrum": np.ones(2)}),
    ]
    Writer(tmp_path, "w").append(runs)
    dataset = fold_all(tmp_path, {"": layout()})[""].isel(init_scale=0, hidden_width=0)
    np.testing.assert_array_equal(dataset.loss[:, 0], [1, np.nan])
    np.testing.assert_array_equal(dataset.test_fold_spectrum, [[np.nan] * 2, [1, 1]])


def test_what_is_observed_gets_a_step_dim_even_if_declared_without(tmp_path):
    weights = np.arange(12.0).reshape(2, 2, 3)
    run = FinishedRun("0-0-0", 1, 1, np.arange(2), {"test_fold_weights": weights})
    Writer(tmp_path, "w").append([run])
    dataset = fold_all(tmp_path, {"": layout()})[""]
    assert dataset.test_fold_weights.dims[-3:] == ("step", "layer", "mode")
    np.testing.assert_array_equal(dataset.test_fold_weights[0, 0, 0], weights)


@pytest.mark.parametrize(
    ("message", "curves", "finals"),
    [
        ("not declared", {"unheard_of": np.ones(1)}, [{}]),
        (r"dims \('step',\)", {"loss": np.ones((1, 2))}, [{}]),
        ("must have dims", {}, [{"loss": np.ones(())}]),
        ("same dims in all runs", {}, [{"test_fold_count": x} for x in (np.int32(1), np.ones(2))]),
    ],
)
def test_variables_must_be_declared_with_the_dims_they_have(tmp_path, message, curves, finals):
    writer = Writer(tmp_path, "w")
    for number, ends in enumerate(finals):
        writer.append([FinishedRun(f"0-0-{number}", 1, 0, np.arange(1), curves, ends)])
    with pytest.raises(VocabularyError, match=message):
        fold_all(tmp_path, {"": layout()})


def test_a_result_larger_than_memory_is_refused_with_its_size(folder):
    stored = fold_all(folder, {"": layout()})[""].drop_vars(["outcome", "steps_taken"])
    size = sum(variable.nbytes for variable in stored.data_vars.values())
    fold_all(folder, {"": layout()}, memory=size)
    message = f"needs {size / 1e9:.2g} GB of memory, but {(size - 1) / 1e9:.2g} GB are there"
    with pytest.raises(ForetrainError, match=message):
        fold_all(folder, {"": layout()}, memory=size - 1)


def test_labels_depend_on_those_axes_alone_along_which_they_differ(folder):
    def coordinates(index, step):
        i, j = index
        return {
            "time": (("step",), SCALES[i] * step),
            "mode_name": (("mode",), [f"mode {n}" for n in range(WIDTHS[j])]),
            "epoch": ("step", step // 10),
            "scalar": ((), 1.5),
        }

    alone = layout(coordinates=coordinates, places=[((0, 0, 0), identity(0, 0, 0))])
    few = fold_all(folder, {"": alone})[""]
    assert few.mode_name.sizes["mode"] == 2, "cut to the runs that are done"
    dataset = fold_all(folder, {"": layout(coordinates=coordinates)})[""]
    assert dataset.time.dims == ("init_scale", "step")
    np.testing.assert_array_equal(dataset.time.sel(init_scale=0.2), 0.2 * dataset.step)
    assert dataset.mode_name.dims == ("hidden_width", "mode")
    assert dataset.mode_name.sel(hidden_width=2).values.tolist() == ["mode 0", "mode 1", "", ""]
    assert dataset.epoch.dims == ("step",)
    assert float(dataset.scalar) == 1.5


@pytest.mark.parametrize(
    ("first", "message"), [({"a": ("item", [1])}, "same dims"), ({}, "in every cell")]
)
def test_labels_must_be_alike_in_all_cells(folder, first, message):
    def coordinates(index, step):
        return {"a": ("mode", [1])} if index[0] else first

    with pytest.raises(VocabularyError, match=message):
        fold_all(folder, {"": layout(coordinates=coordinates)})


def test_several_layouts_are_folded_as_each_alone_from_two_readings(folder, monkeypatch):
    layouts = {
        "": layout(),
        "none": layout(places=[((0, 0, 0), "unknown")]),
        "twice": layout(places=[(place, identity(0, 1, place[2])) for place in PLACES]),
    }
    few = [((n,), identity(*place)) for n, place in enumerate(PLACES[:3])]
    layouts["few"] = Layout({}, 3, few, OUTCOMES)
    alone = {name: fold_all(folder, {"": item})[""] for name, item in layouts.items()}
    count = len(list((folder / "journal").glob("*.npz")))
    read_file, read = journal.read_file, []
    monkeypatch.setattr(
        journal, "read_file", lambda *args: read.append(args[0]) or read_file(*args)
    )
    for journal_or_none in (None, scan(folder)):
        for name, dataset in fold_all(folder, layouts, journal=journal_or_none).items():
            xr.testing.assert_identical(dataset, alone[name])
            assert all(dataset[key].dtype == alone[name][key].dtype for key in dataset.variables)
    assert len(read) == 4 * count


def test_runs_that_came_after_the_scan_are_not_taken(folder):
    value = scan(folder)
    Writer(folder, "z").append([FinishedRun("late", 1, 0, np.arange(1), {"loss": np.ones(1)})])
    item = Layout({}, 1, [((0,), "late")], OUTCOMES)
    assert int(fold_all(folder, {"": item}, journal=value)[""].outcome[0]) == -1
    assert int(fold_all(folder, {"": item})[""].outcome[0]) == 1


def test_steps_of_runs_that_are_no_beginnings_of_each_other_are_all_kept(tmp_path):
    runs = [
        FinishedRun(f"{n}", 1, 9, np.array(steps), {"loss": np.array(steps, float)})
        for n, steps in enumerate([[0, 5, 9], [0, 7], [3], []])
    ]
    Writer(tmp_path, "w").append(runs)

    def folded(*names):
        places = [((n,), name) for n, name in enumerate(names)]
        return fold_all(tmp_path, {"": Layout({}, len(names), places, OUTCOMES)})[""]

    assert folded("0", "1", "2", "3").step.values.tolist() == [0, 3, 5, 7, 9]
    np.testing.assert_array_equal(folded("1", "2").loss, [[0, np.nan, 7], [np.nan, 3, np.nan]])
    assert folded("3").sizes["step"] == 0
