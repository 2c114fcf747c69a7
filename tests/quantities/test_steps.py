"""Plateaus counted over all windows: the right number whatever the width of the steps and the noise."""

import numpy as np
import pytest

from foretrain.quantities.steps import plateau_strengths, steps

SHAPES = {
    "tanh": lambda z: (1 - np.tanh(z)) / 2,
    "logistic": lambda z: 1 / (1 + np.exp(np.clip(2 * np.log(9) * z, -60, 60))),  # 10 to 90%
    "ramp": lambda z: np.clip(0.5 - z, 0, 1),
}
TIMES = np.linspace(0, 40, 1001)


def staircase(number, width, noise, random, shape="tanh"):
    """That many equal steps at times 1, 2, ..."""
    times = np.linspace(0, number + 1, 400)
    curve = sum(SHAPES[shape]((times - at) / width) for at in range(1, number + 1)) / number
    return times, curve + noise * random.standard_normal(times.size)


@pytest.mark.parametrize("shape", SHAPES)
def test_the_right_number_of_steps_is_found_in_all_but_a_twentieth_of_curves(shape):
    random = np.random.default_rng(0)
    right = []
    for number in (1, 2, 3, 4, 5):
        for _ in range(3):
            width, noise = random.uniform(0.02, 1 / 3), random.uniform(0, 0.02)
            found = steps(*staircase(number, width, noise, random, shape))
            right.append(len(found) == number)
        right.append(len(steps(*staircase(number, 1 / 3, 0.02, random, shape))) == number)
    assert np.mean(right) >= 0.95


@pytest.mark.slow
@pytest.mark.parametrize("strength", [2.0, 2.5])
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("number", [1, 2, 3, 4, 5])
def test_the_number_does_not_hang_on_the_strength_asked_for(shape, number, strength):
    random = np.random.default_rng(number)
    draws = [(random.uniform(0.02, 1 / 3), random.uniform(0, 0.02)) for _ in range(20)]
    curves = [staircase(number, *draw, random, shape) for draw in draws]
    right = [len(steps(*curve, strength=strength)) == number for curve in curves]
    assert np.mean(right) >= 0.95


def test_every_plateau_has_its_depth_and_length():
    times, curve = staircase(4, 0.1, 0.0, np.random.default_rng(0), "ramp")
    found = steps(times, curve)
    assert [one.level for one in found] == pytest.approx([1, 0.75, 0.5, 0.25], abs=0.05)
    assert [one.depth for one in found] == pytest.approx([0.25] * 4, abs=0.05)
    # Flat for .9 of the spacing between steps, and .95 before the first; the window takes some of the ramps with it.
    assert [one.length for one in found] == pytest.approx([0.95, 0.9, 0.9, 0.9], abs=0.1)
    assert all(one.strength > 5 for one in found)


@pytest.mark.parametrize("scale", [1.0, 30.0])
def test_units_of_time_and_of_loss_do_not_matter(scale):
    times, curve = staircase(3, 0.2, 0.01, np.random.default_rng(1))
    plain, other = steps(times, curve), steps(scale * times, 7 * curve)
    for one, two in zip(plain, other, strict=True):
        assert two.length == pytest.approx(scale * one.length, rel=1e-9)
        assert two.depth == pytest.approx(one.depth, rel=1e-9)


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
    found = plateau_strengths(times, rows, 2)
    assert (found[:2] > 4).all()
    assert np.isnan(found[2:]).all()
    assert steps(times, np.ones_like(times)) == []
    assert len(steps(times, curve, floor=0.6)) == 1
