import numpy as np
import xarray as xr

from foretrain.quantities.trajectory import at_end, furthest


def test_each_run_ends_at_its_own_last_observation():
    nan = np.nan
    values = xr.DataArray(
        [[1.0, 2.0, 3.0], [4.0, 5.0, nan], [nan, nan, nan]], dims=("seed", "step")
    )
    np.testing.assert_array_equal(at_end(values), [3.0, 5.0, nan])
    data = at_end(xr.Dataset({"loss": values, "final": ("seed", [7.0, 8.0, 9.0])}))
    np.testing.assert_array_equal(data["final"], [7, 8, 9])


def test_the_value_furthest_from_what_is_expected_stands_for_a_seed():
    values = xr.DataArray([[1.1, 0.8], [1.3, np.nan]], dims=("cell", "seed"))
    np.testing.assert_array_equal(furthest(values), [1.3, np.nan])
    np.testing.assert_array_equal(furthest(values[:1], 0.75), [1.1, 0.8])
