import numpy as np

from foretrain.measures.curve_deviation import mean_deviation


def test_deviation_is_a_share_of_the_start():
    measured = np.array([[2.0, 1.0, 0.0], [4.0, 4.0, 4.0]])
    predicted = np.array([2.0, 0.5, 0.25])
    np.testing.assert_allclose(mean_deviation(measured, predicted), [0.125, 9.25 / 12])
    np.testing.assert_array_equal(mean_deviation(measured, measured), 0)


def test_what_diverged_or_ended_early_deviates_by_nan():
    measured = np.array([[1.0, np.inf, np.nan], [1.0, 0.5, 0.25]])
    found = mean_deviation(measured, np.array([1.0, 0.5, 0.25]))
    assert np.isnan(found[0])
    assert found[1] == 0
    assert np.isnan(mean_deviation(measured[:, :2], np.ones(3))).all()
