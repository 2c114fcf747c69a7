from dataclasses import dataclass

import numpy as np
import pytest
import xarray as xr

from foretrain.plans.grid import Grid


@dataclass(frozen=True)
class Parameters:
    scale: float = 0.2
    width: int = 4
    rule: str = "sgd"


def small_grid():
    data = xr.Dataset(
        {"loss": (("scale", "width", "seed"), np.arange(12.0).reshape(2, 3, 2))},
        coords={"scale": [0.2, 0.1], "width": [4, 8, 16]},
    )
    axes = {"scale": (0.2, 0.1), "width": (4, 8, 16)}
    return Grid(Parameters(), axes, 2, 0, data, {"twin": data}, data.isel(seed=0))


def test_cells_cut_every_axis_but_those_that_are_kept():
    whole = list(small_grid().cells())
    assert [cell.cell for cell in whole[:2]] == [
        {"scale": 0.2, "width": 4},
        {"scale": 0.2, "width": 8},
    ]
    assert whole[4].simulation["loss"].dims == ("seed",)
    assert whole[4].parameters == Parameters(0.1, 8)
    (first, second) = small_grid().cells(keep=("width", "depth"))
    assert (first.cell, second.cell) == ({"scale": 0.2}, {"scale": 0.1})
    assert second.axes == {"width": (4, 8, 16)}
    assert second.simulation["loss"].dims == ("width", "seed")
    np.testing.assert_array_equal(
        second.variants["twin"]["loss"], small_grid().simulation["loss"][1]
    )
    np.testing.assert_array_equal(second.theory["loss"], small_grid().theory["loss"][1])


def test_a_grid_along_axes_has_exactly_those_dims_ascending_and_of_length_one_where_not_swept():
    laid = small_grid().along("scale", "width")
    assert laid.simulation["loss"].dims == ("scale", "width", "seed")
    np.testing.assert_array_equal(laid.simulation["scale"], [0.1, 0.2])
    np.testing.assert_array_equal(laid.simulation["loss"][1], small_grid().simulation["loss"][0])
    assert laid.axes == {"scale": (0.1, 0.2), "width": (4, 8, 16)}
    cell = next(small_grid().cells()).along("rule", "width")
    assert cell.simulation["loss"].dims == ("rule", "width", "seed")
    assert cell.simulation["rule"].values.tolist() == ["sgd"]
    assert cell.theory["loss"].dims == ("rule", "width")
    assert cell.ends() == {"rule": ("sgd", "sgd"), "width": (4, 4)}
    with pytest.raises(ValueError, match="must be cut"):
        small_grid().along("width")


def test_the_first_part_of_a_grid_comes_with_words_for_a_caption():
    part, words = small_grid().first(keep=("width",))
    assert part.cell == {"scale": 0.2}
    assert words == " Drawn at scale=0.2."
    assert small_grid().first(keep=("scale", "width"))[1] == ""


def test_theory_that_does_not_differ_by_seed_is_repeated():
    assert next(small_grid().cells()).by_seed("loss").sizes == {"seed": 2}
