from dataclasses import dataclass

import numpy as np
import xarray as xr

from foretrain.claims.claim import exact
from foretrain.plans.grid import LabelledRuns, judge_cells


@dataclass(frozen=True)
class Parameters:
    scale: float = 0.1
    width: int = 4


def runs():
    values = np.arange(12.0).reshape(2, 3, 2)
    data = xr.Dataset(
        {"loss": (("scale", "width", "seed"), values)},
        coords={"scale": [0.1, 0.2], "width": [4, 8, 16]},
    )
    axes = {"scale": (0.1, 0.2), "width": (4, 8, 16)}
    return LabelledRuns(Parameters(), axes, 2, 0, data, {"twin": data}, data.isel(seed=0))


def test_cells_cut_every_axis_but_those_that_are_kept():
    whole = dict(runs().cells())
    assert list(whole)[:2] == ["scale=0.1, width=4", "scale=0.1, width=8"]
    assert whole["scale=0.2, width=8"].simulation["loss"].dims == ("seed",)
    assert whole["scale=0.2, width=8"].parameters == Parameters(0.2, 8)
    kept = dict(runs().cells(keep=("width", "depth")))
    assert list(kept) == ["scale=0.1", "scale=0.2"]
    cell = kept["scale=0.2"]
    assert cell.axes == {"width": (4, 8, 16)}
    assert cell.simulation["loss"].dims == ("width", "seed")
    np.testing.assert_array_equal(cell.variants["twin"]["loss"], runs().simulation["loss"][1])
    np.testing.assert_array_equal(cell.theory["loss"], runs().theory["loss"][1])


def test_claims_name_the_axes_that_were_cut():
    def judge(cell):
        worst = float(cell.simulation["loss"].max())
        return [exact("bounded", "It is bounded.", "nowhere", worst, 5.0, seeds=2)]

    assert [claim.id for claim in judge_cells(judge, runs(), keep=("scale", "width"))] == [
        "bounded"
    ]
    kept = judge_cells(judge, runs(), keep=("width",))
    assert [claim.id for claim in kept] == ["bounded[scale=0.1]", "bounded[scale=0.2]"]
    assert [claim.verdict for claim in kept] == ["holds", "fails"]
