import numpy as np
import pytest
import xarray as xr

from foretrain.quantities.learning_curves.curve_deviation import (
    deviation_while_learning,
    largest_deviation,
    largest_difference,
    mean_deviation,
)


def test_deviation_is_a_share_of_the_start():
    measured = np.array([[2.0, 1.0, 0.0], [4.0, 4.0, 4.0]])
    predicted = np.array([2.0, 0.5, 0.25])
    np.testing.assert_allclose(mean_deviation(measured, predicted), [0.125, 9.25 / 12])
    # What diverged or ended early deviates by nan.
    measured = np.array([[1.0, np.inf, np.nan], [1.0, 0.5, 0.25]])
    np.testing.assert_array_equal(mean_deviation(measured, measured[1]), [np.nan, 0])
    assert np.isnan(mean_deviation(measured[:, :2], np.ones(3))).all()


def test_the_largest_deviation_is_that_of_the_run_furthest_off_as_far_as_it_went():
    measured = xr.DataArray([[4.0, 2.0, np.nan], [0.5, 0.25, 0.125]], dims=("seed", "step"))
    predicted = measured.fillna(7.0).T + xr.DataArray([0.4, 0.2, 0.1], dims="step")
    # Four is more than one and is the unit of the first run; the second is measured in units of one.
    assert largest_deviation(measured, predicted) == pytest.approx(0.4)
    assert largest_deviation(measured[:1], predicted[:, :1]) == pytest.approx(0.1)
    until, at_start = (predicted.where(predicted["step"] <= last) for last in (1, 0))
    assert largest_deviation(measured, until) == pytest.approx(0.4)
    assert largest_deviation(measured, at_start) == np.inf
    assert np.isnan(largest_deviation(measured * np.nan, predicted))


def test_curves_of_two_lengths_are_compared_as_far_as_both_go():
    item, other = np.array([1.0, 0.5, 0.25]), np.array([1.0, 0.75])
    assert largest_difference(item, other) == largest_difference(other, item) == 0.25
    assert np.isnan(largest_difference(item, other[:0]))


def test_a_deviation_while_learning_leaves_out_the_flat_end():
    measured = np.array([5.0, 3.0, 1.0, 1.0, 1.0])
    assert deviation_while_learning(measured, np.array([5.0, 4.0, 9.0, 9.0, 9.0, 9.0])) == 0.125
    assert np.isnan(deviation_while_learning(np.full(5, np.nan), measured))
    assert np.isnan(deviation_while_learning(np.ones(5), measured))
