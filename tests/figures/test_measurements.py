"""The figure of a study that measures and declares none, on grids made up here."""

from dataclasses import make_dataclass, replace

import numpy as np
import pytest
import xarray as xr
from legible import troubles

from foretrain.figures.boards import boards
from foretrain.figures.drawings import drawings
from foretrain.figures.measurements import measurements
from foretrain.plans.grid import Grid
from foretrain.study import define, panel, parameter
from foretrain.vocabulary import COMPUTED, FAILED, TIME_UNIT

AXES = {"law": ("gauss", "sign"), "width": (10, 30, 100)}


def grid(axes, seeds=5):
    """Variables of every kind over the axes; theory of the one that is declared last."""
    random = np.random.default_rng(0)
    fields = [(name, type(values[0]), parameter(values[0], "x")) for name, values in axes.items()]
    parameters = make_dataclass("Parameters", fields, frozen=True)()
    dims, shape = (*axes, "seed"), (*map(len, axes.values()), seeds)
    says = {"units": "1", "description": "Something."}
    stored = {
        "margin": (dims, random.uniform(1, 2, shape), says),
        "count": (dims, random.integers(1, 9, shape), says),
        "settled": (dims, random.random(shape) < 0.5, says),
        "spectrum": ((*dims, "mode"), random.random((*shape, 4)), says),
        "alone": ((*dims, "layer"), random.random((*shape, 1)), says),
        "matrix": ((*dims, "row", "column"), random.random((*shape, 2, 2)), says),
        "late": (dims, random.uniform(1, 2, shape), {**says, "units": TIME_UNIT}),
        "outcome": (dims, np.full(shape, COMPUTED)),
        "steps_taken": (dims, np.zeros(shape, int)),
    }
    coords = {name: list(values) for name, values in axes.items()}
    theory = xr.Dataset({"late": (tuple(axes), np.full(shape[:-1], 1.5))}, coords)
    return Grid(parameters, axes, seeds, 0, xr.Dataset(stored, coords), {}, theory)


def drawing(whole):
    study = define("m", Parameters=type(whole.parameters), measure=lambda p, seed: {})
    (artists,) = drawings(study, whole).values()
    return artists


def panels(figure):
    return {ax.get_ylabel(): ax for ax in figure.axes if ax.get_visible()}


def dashed(ax):
    return [line for line in ax.get_lines() if line.is_dashed() and len(line.get_xdata())]


def test_numbers_stand_against_the_first_numeric_axis_with_theory_first():
    whole = grid(AXES)
    artists = drawing(whole)
    known = panels(artists.figure)
    words = ["Margin", "Count", "Settled", "Spectrum", "Alone"]
    assert sorted(known) == sorted([f"Late ({TIME_UNIT})", *words])
    late = next(iter(known.values()))
    assert late is known[f"Late ({TIME_UNIT})"]
    assert (late.get_xlabel(), late.get_xscale()) == ("Width", "log")
    assert len(dashed(late)) == 2  # one for each law
    line, expected = known["Margin"].get_lines(), whole.simulation["margin"]
    means = [artist.get_ydata() for artist in line if artist.get_linestyle() == "-"]
    np.testing.assert_allclose(means, expected.mean("seed"))
    points = np.concatenate(
        [artist.get_ydata() for artist in line if artist.get_linestyle() == "None"]
    )
    np.testing.assert_allclose(np.sort(points), np.sort(expected.values.ravel()))
    assert "dashed: theory" in artists.caption
    assert "Margin: Something." in artists.caption
    assert artists.reads >= {"late", "margin", "spectrum"}


def test_a_variable_with_a_dim_of_its_own_stands_against_it():
    whole = grid({"width": (10, 20)})
    ax = panels(drawing(whole).figure)["Spectrum"]
    assert ax.get_xlabel() == "Mode"
    lines = [line for line in ax.get_lines() if line.get_linestyle() == "-"]
    expected = whole.simulation["spectrum"].mean("seed")
    np.testing.assert_allclose([line.get_ydata() for line in lines], expected)


@pytest.mark.parametrize("laws", [("gauss", "sign"), ()])
def test_values_of_text_are_columns_and_so_is_all_where_nothing_is_swept(laws):
    whole = grid({"law": laws} if laws else {})
    ax = panels(drawing(whole).figure)[f"Late ({TIME_UNIT})"]
    assert [artist.get_text() for artist in ax.get_xticklabels()] == list(laws or ("",))
    assert [artist.get_ydata().tolist() for artist in dashed(ax)] == [[1.5, 1.5]] * (len(laws) or 1)
    means = [line.get_ydata() for line in ax.get_lines() if line.get_linestyle() == "-"]
    np.testing.assert_allclose(np.ravel(means), np.ravel(whole.simulation["late"].mean("seed")))


def test_what_is_measured_of_a_network_beside_it_is_no_theory_of_it():
    whole = grid({"width": (10, 20)})
    whole = replace(whole, variants={"other": whole.simulation})
    shown = panel({"own": lambda c: c.late, "other": lambda c: c["other"].late}, x="width")
    (board,) = boards(shown, whole)
    assert [line.theory is None for line in board.lines] == [False, True]


def test_of_a_run_that_was_lost_nothing_is_drawn():
    whole = grid({"width": (10, 20)})
    whole.simulation["outcome"][0, 0] = FAILED
    whole.simulation["count"][0, 0] = -1
    ax = panels(drawing(whole).figure)["Count"]
    values = [line.get_ydata() for line in ax.get_lines() if len(line.get_ydata())]
    assert np.nanmin(np.concatenate(values)) >= 1


def test_at_most_six_variables_are_drawn_and_a_study_that_only_trains_has_none():
    whole = grid({})
    for number in range(3):
        whole.simulation[f"more_{number}"] = whole.simulation["margin"]
    assert "Of 9 variables 6 are drawn." in drawing(whole).caption
    for axes in (AXES, {}, {"law": AXES["law"]}, {"width": (10, 12, 14)}):
        assert troubles(drawing(grid(axes)).figure) == []
    empty = whole.simulation[["matrix", "outcome"]]
    assert measurements(Grid(whole.parameters, {}, 5, 0, empty)) is None
    trained = define("t", Parameters=type(whole.parameters), program=lambda p: None)
    assert drawings(trained, whole) == {}
