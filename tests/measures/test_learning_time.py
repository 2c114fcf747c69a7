import numpy as np

from foretrain.measures.learning_time import crossing_time, half_learning_times


def test_crossing_is_interpolated_between_observations():
    time = np.array([0.0, 1.0, 3.0])
    assert crossing_time(time, [0.0, 1.0, 5.0], 3.0) == 2.0
    assert crossing_time(time, [4.0, 5.0, 6.0], 3.0) == 0.0


def test_what_is_never_reached_has_no_time():
    assert np.isnan(crossing_time(np.arange(3.0), [0.0, 0.1, 0.2], 1.0))


def test_half_learning_times_are_taken_mode_by_mode_and_seed_by_seed():
    time = np.arange(5.0)
    strength = np.stack([np.stack([time, 2 * time], -1), np.stack([time / 2, time], -1)])
    np.testing.assert_allclose(
        half_learning_times(time, strength, np.array([4.0, 4.0])), [[2, 1], [4, 2]]
    )
