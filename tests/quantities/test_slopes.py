import numpy as np
import pytest

from foretrain.quantities.learning_curves.slopes import floor_share, slopes, tail_exponent

TIMES = np.arange(0, 2001, 10)


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


@pytest.mark.parametrize("power", [-0.5, -1.0, -2.0])
def test_a_power_of_time_is_found(power):
    assert tail_exponent(TIMES, (TIMES + 1e-9) ** power) == pytest.approx(power)


def test_what_is_left_for_ever_is_told_from_what_is_slow():
    slow = 3 / (TIMES + 1e-9)
    assert floor_share(TIMES, slow) == pytest.approx(0, abs=1e-9)
    assert floor_share(TIMES, slow + 0.006) == pytest.approx(0.006 / 0.0075)
    assert floor_share(TIMES, np.full(TIMES.size, 0.3)) == pytest.approx(1)
    assert floor_share(TIMES, np.exp(-TIMES / 500)) < -0.5  # faster than 1/t
    stuck = 0.3 + np.exp(-TIMES / 100)
    assert floor_share(TIMES, stuck) > 0.9
    assert tail_exponent(TIMES, stuck) == pytest.approx(0, abs=0.01)


@pytest.mark.parametrize("values", [np.zeros(3), np.array([2.0, 1.0, -1.0]), np.ones(2)])
def test_what_has_no_tail_is_unknown(values):
    times = np.arange(values.size) + 1.0
    assert np.isnan([tail_exponent(times, values), floor_share(times, values)]).all()
