import numpy as np
import pytest

from foretrain.quantities.learning_curves.slopes import slopes


def test_slopes_are_those_of_least_squares_over_what_is_known():
    random = np.random.default_rng(0)
    x, curves = np.array([0.0, 1.0, 3.0, 4.0, 7.0]), random.standard_normal((5, 2))
    curves[1, 1] = np.nan
    known = [0, 2, 3, 4]
    expected = [np.polyfit(x, curves[:, 0], 1)[0], np.polyfit(x[known], curves[known, 1], 1)[0]]
    np.testing.assert_allclose(slopes(x, curves), expected)


@pytest.mark.parametrize("number", [0, 1])
def test_fewer_than_two_points_have_no_slope(number):
    curves = np.where(np.arange(3)[:, None] < number, 1.0, np.nan)
    assert np.isnan(slopes(np.arange(3.0), curves)).all()
