import numpy as np
import pytest
from scipy import stats

from foretrain.quantities.distribution import distance


def test_distance_is_that_of_kolmogorov():
    values = np.random.default_rng(0).random((3, 40))
    expected = [stats.kstest(row, "uniform").statistic for row in values]
    np.testing.assert_allclose(distance(values, lambda x: x), expected, rtol=1e-12)


def test_values_off_the_law_are_far_from_it():
    assert distance(np.full((1, 10), 2.0), lambda x: np.clip(x, 0, 1))[0] == pytest.approx(1)
