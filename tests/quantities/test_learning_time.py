import numpy as np
import xarray as xr

from foretrain.quantities.learning_curves import learning_time
from foretrain.quantities.readers import larger_first


def test_crossing_is_interpolated_between_observations():
    time = np.array([0.0, 1.0, 3.0])
    assert learning_time.crossing_time(time, [0.0, 1.0, 5.0], 3.0) == 2.0
    assert learning_time.crossing_time(time, [4.0, 5.0, 6.0], 3.0) == 0.0
    assert np.isnan(learning_time.crossing_time(time, [0.0, 0.1, 0.2], 1.0))


def test_half_learning_times_are_taken_mode_by_mode_and_seed_by_seed():
    time = np.arange(5.0)
    strength = np.stack([np.stack([time, 2 * time], -1), np.stack([time / 2, time], -1)])
    result = learning_time.half_learning_times(time, strength, np.array([4.0, 4.0]))
    np.testing.assert_allclose(result, [[2, 1], [4, 2]])


def test_every_run_may_have_a_clock_of_its_own():
    time = np.stack([np.arange(4.0), 3 * np.arange(4.0), np.arange(4.0)])
    strength = np.tile(np.arange(4.0)[:, None], (3, 1, 1))
    strength[2] = np.nan
    result = learning_time.half_times_of_runs(time, strength, np.array([4.0]))
    np.testing.assert_array_equal(result, [[2.0], [6.0], [np.nan]])


def test_an_exponential_falls_to_its_shares_at_equal_distances():
    time = np.linspace(0, 6, 601)
    loss = np.exp(-time)
    np.testing.assert_allclose(
        learning_time.fall_times(time, loss), np.log([2, 4, 8, 16]), atol=1e-4
    )
    assert np.isclose(learning_time.mean_fall_time(time, loss), 2.5 * np.log(2), rtol=1e-9)
    assert np.isnan(learning_time.mean_fall_time(time, np.full(601, np.nan)))


def test_pairs_of_modes_are_counted_where_one_is_larger():
    sizes = xr.DataArray([[3.0, 2.0, 1.95], [3.0, 2.0, 1.0], [1.0] * 3], dims=("seed", "mode"))
    times = sizes.copy(data=[[1.0, 2.0, 0.5], [1.0, np.nan, 2.0], [1.0, 2.0, 3.0]])
    np.testing.assert_array_equal(larger_first(times, sizes), [0.5, 2 / 3, np.nan])
