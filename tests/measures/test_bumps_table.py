import numpy as np
import xarray as xr

from foretrain.studies.bumps.table import bumps_table


def test_every_cell_has_its_mean_over_components_and_unstable_ones_are_marked():
    # Two seeds alike: the interval is the mean. The second component of rank one is padding.
    counts = np.array(
        [[[[1, 3], [1, 3]], [[0, 1], [0, 1]]], [[[2, np.nan]] * 2, [[4, np.nan]] * 2]]
    )
    losses = np.array([1.0, 0.5, 0.0]) * np.ones((2, 2, 2, 1))
    losses[0, 1, :, -1] = 0.9
    data = xr.Dataset(
        {
            "component_bumps": (("rank", "relative_rate", "seed", "component"), counts),
            "relative_loss": (("rank", "relative_rate", "seed", "step"), losses),
        },
        {"rank": [2, 1], "relative_rate": [0.25, 1.0]},
    )
    assert bumps_table(data).splitlines() == [
        "| rank | rate 0.25 | rate 1 |",
        "|---|---|---|",
        "| 2 | 2.00 (2.00 .. 2.00) | 0.50 (0.50 .. 0.50) † |",
        "| 1 | 2.00 (2.00 .. 2.00) | 4.00 (4.00 .. 4.00) |",
    ]
