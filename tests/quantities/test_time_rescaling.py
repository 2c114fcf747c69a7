import numpy as np
import pytest

from foretrain.quantities.learning_curves.time_rescaling import time_rescalings
from foretrain.theory.gated.deep_linear import mode_strength

TIMES = np.linspace(0, 40, 4001)


def modes_loss(values):
    """Loss of decoupled modes of those singular values."""
    return np.sum((np.array(values) - mode_strength(1e-3, TIMES, np.array(values))) ** 2, axis=1)


def rescaling(first, other):
    return time_rescalings([first], [other])[:, 0]


def test_a_rescaled_curve_is_found_with_no_residual_and_the_inverse_on_exchange():
    losses = modes_loss((1, 0.3))
    both = (TIMES, losses), (2.5 * TIMES, losses)
    assert rescaling(*both) == pytest.approx((2.5, 0, 1), rel=1e-12, abs=1e-12)
    assert rescaling(*both[::-1])[0] == pytest.approx(0.4, rel=1e-12)


def test_a_curve_of_another_shape_has_a_residual_that_exchange_keeps():
    item, other = modes_loss((1, 0.3)), modes_loss((1, 0.2))
    both = (TIMES, item / item[0]), (TIMES, other / other[0])
    factor, residual, explained = rescaling(*both)
    assert residual > 0.05
    assert explained < 1 - 1e-3
    assert rescaling(*both[::-1])[:2] == pytest.approx((1 / factor, residual), rel=1e-9)


def test_what_a_rescaling_leaves_is_the_spread_of_the_log_ratio():
    times = np.linspace(0, 8, 4001)
    # The other curve reaches level e^-t at t^1.5: the log ratio of times is log(t)/2.
    residual = rescaling((times, np.exp(-times)), (times**1.5, np.exp(-times)))[1]
    levels = np.linspace(1, np.exp(-8), 66)[1:-1]
    assert residual == pytest.approx(np.log(-np.log(levels)).std() / 2, rel=1e-3)


def test_runs_are_compared_in_pairs_and_those_without_a_common_level_have_nan():
    losses, nothing = modes_loss((1, 0.3)), (TIMES[:0], TIMES[:0])
    runs = [(TIMES, losses), (TIMES, losses), (TIMES, losses)]
    factors, residuals, explained = time_rescalings(
        runs, [(3 * TIMES, losses), (TIMES, losses + 5), nothing]
    )
    np.testing.assert_allclose(factors, [3, np.nan, np.nan], rtol=1e-12)
    np.testing.assert_allclose(residuals, [0, np.nan, np.nan], atol=1e-12)
    np.testing.assert_allclose(explained, [1, np.nan, np.nan], rtol=1e-12)
