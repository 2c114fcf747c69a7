import numpy as np
import pytest

from foretrain.quantities.learning_curves.tail import floor_share, tail_exponent

TIMES = np.arange(0, 2001, 10)


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
