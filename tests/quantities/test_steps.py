"""Plateaus counted over all windows: the right number whatever the width of the steps and the noise."""

import numpy as np
import pytest

from foretrain.quantities.learning_curves.steps import plateau_strengths

SHAPES = {
    "tanh": lambda z: (1 - np.tanh(z)) / 2,
    "logistic": lambda z: 1 / (1 + np.exp(np.clip(2 * np.log(9) * z, -60, 60))),  # 10 to 90%
    "ramp": lambda z: np.clip(0.5 - z, 0, 1),
}
TIMES = np.linspace(0, 40, 1001)


def staircase(number, width, noise, random, shape="tanh"):
    """A number of equal steps at times 1, 2, ..."""
    times = np.linspace(0, number + 1, 400)
    curve = sum(SHAPES[shape]((times - at) / width) for at in range(1, number + 1)) / number
    return times, curve + noise * random.standard_normal(times.size)


def count(times, curve, strength=2.0):
    return sum(plateau_strengths(times, curve[None], nth)[0] >= strength for nth in range(1, 7))


@pytest.mark.parametrize("shape", SHAPES)
def test_the_right_number_of_steps_is_found_in_all_but_a_twentieth_of_curves(shape):
    random = np.random.default_rng(0)
    right = []
    for number in (1, 2, 3, 4, 5):
        for _ in range(3):
            width, noise = random.uniform(0.02, 1 / 3), random.uniform(0, 0.02)
            right.append(count(*staircase(number, width, noise, random, shape)) == number)
        right.append(count(*staircase(number, 1 / 3, 0.02, random, shape)) == number)
    assert np.mean(right) >= 0.95


def test_units_of_time_and_of_loss_do_not_matter():
    times, curve = staircase(3, 0.2, 0.01, np.random.default_rng(1))
    other = plateau_strengths(30 * times, 7 * curve[None])
    assert plateau_strengths(times, curve[None]) == pytest.approx(other, rel=1e-9)


def test_what_only_slows_down_has_no_plateau_at_any_strength():
    curves = [
        np.exp(-TIMES),
        1 / (1 + TIMES),
        np.exp(-TIMES) + np.exp(-TIMES / 10),
        np.exp(-TIMES) + 0.1,
        np.clip(1 - TIMES / 30, 0, 1),
    ]
    np.testing.assert_array_equal(plateau_strengths(TIMES, np.stack(curves)), 1)


def test_the_strength_is_how_many_times_slower_the_loss_falls():
    # A fall by .3 at unit speed, by .2 at a quarter of it, by .5 at unit speed again.
    curve = np.interp(TIMES / 40, [0, 0.3 / 1.6, 1.1 / 1.6, 1], [1, 0.7, 0.5, 0])
    (first,) = plateau_strengths(TIMES, curve[None])
    (second,) = plateau_strengths(TIMES, curve[None], 2)
    assert 3.2 <= first <= 4
    assert second == 1


def test_runs_that_diverged_have_no_strength_and_those_that_ended_have_that_of_what_there_is():
    times, curve = staircase(2, 0.1, 0.0, np.random.default_rng(0))
    ended = np.where(times > 2.8, np.nan, curve)
    rows = np.stack([curve, ended, np.where(times > 1, np.nan, 1 + times), 0 * curve + np.nan])
    result = plateau_strengths(times, rows, 2)
    assert (result[:2] > 4).all()
    assert np.isnan(result[2:]).all()
