import numpy as np
import pytest

from foretrain.errors import ArgumentError
from foretrain.quantities.time_rescaling import time_rescaling, time_rescalings
from foretrain.theory.deep_linear import mode_strength

TIMES = np.linspace(0, 40, 4001)


def modes_loss(values):
    """Loss of decoupled modes of those singular values."""
    return np.sum((np.array(values) - mode_strength(1e-3, TIMES, np.array(values))) ** 2, axis=1)


def test_a_rescaled_curve_is_found_with_no_residual_and_the_inverse_on_exchange():
    losses = modes_loss((1, 0.3))
    slow = 2.5 * TIMES, losses
    found = time_rescaling(TIMES, losses, *slow)
    assert found.factor == pytest.approx(2.5, rel=1e-12)
    assert found.residual < 1e-12
    assert found.explained == pytest.approx(1.0, abs=1e-12)
    other = time_rescaling(*slow, TIMES, losses)
    assert other.factor == pytest.approx(0.4, rel=1e-12)


def test_a_curve_of_another_shape_has_a_residual_that_exchange_keeps():
    one, other = modes_loss((1, 0.3)), modes_loss((1, 0.2))
    there = time_rescaling(TIMES, one / one[0], TIMES, other / other[0])
    back = time_rescaling(TIMES, other / other[0], TIMES, one / one[0])
    assert there.residual > 0.05
    assert there.explained < 1 - 1e-3
    assert back.residual == pytest.approx(there.residual, rel=1e-9)
    assert back.factor * there.factor == pytest.approx(1.0, rel=1e-9)


def test_what_a_rescaling_leaves_is_the_spread_of_the_log_ratio():
    times = np.linspace(0, 8, 4001)
    # The other curve reaches level e^-t at t^1.5: the log ratio of times is log(t)/2.
    residual = time_rescaling(times, np.exp(-times), times**1.5, np.exp(-times)).residual
    levels = np.linspace(1, np.exp(-8), 66)[1:-1]
    assert residual == pytest.approx(np.log(-np.log(levels)).std() / 2, rel=1e-3)


def test_curves_that_share_no_level_are_refused():
    losses = np.exp(-TIMES)
    with pytest.raises(ArgumentError, match="`other_losses` must share levels with `losses`"):
        time_rescaling(TIMES, losses, TIMES, losses + 5)


def test_runs_are_compared_in_pairs_and_those_without_a_common_level_have_nan():
    losses, nothing = modes_loss((1, 0.3)), (TIMES[:0], TIMES[:0])
    runs = [(TIMES, losses), (TIMES, losses), (TIMES, losses)]
    factors, residuals, explained = time_rescalings(
        runs, [(3 * TIMES, losses), (TIMES, losses + 5), nothing]
    )
    np.testing.assert_allclose(factors, [3, np.nan, np.nan], rtol=1e-12)
    np.testing.assert_allclose(residuals, [0, np.nan, np.nan], atol=1e-12)
    np.testing.assert_allclose(explained, [1, np.nan, np.nan], rtol=1e-12)
