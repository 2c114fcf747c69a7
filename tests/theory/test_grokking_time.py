import numpy as np
import pytest

from foretrain.errors import ArgumentError
from foretrain.tasks.groups import addition, training_sets
from foretrain.theory.grokking import effective_loss, grokking_time
from foretrain.theory.grokking.parallelograms import rqi, unique_linear

TEN = addition(10)
RANDOM = np.random.default_rng(0)
TRAINING = training_sets(TEN, 45, 1, RANDOM)[0]
START = RANDOM.uniform(-0.5, 0.5, (10, 1))


def test_flow_time_is_when_the_exact_flow_has_the_rqi_for_good():
    time = grokking_time.flow_time(START, TEN, TRAINING, 0.95)
    place = (START - START.mean()) / START.std(ddof=1)
    path = effective_loss.exact_flow(place, time * np.array([0.97, 1.0, 1.5, 3.0]), TEN, TRAINING)
    assert (rqi(path, TEN) > 0.95).tolist() == [False, True, True, True]


def test_flow_time_is_zero_on_the_line_and_infinite_where_the_set_leaves_freedom():
    assert grokking_time.flow_time(np.arange(10.0)[:, None], TEN, TRAINING, 0.95) == 0
    few = training_sets(TEN, 9, 1, RANDOM)[0]
    assert not unique_linear(TEN, few)
    assert np.isinf(grokking_time.flow_time(START, TEN, few, 0.95))


def test_adam_lowers_the_effective_loss_to_the_line_and_moves_by_the_rate_at_first():
    path = grokking_time.adam_descent(START, 1e-3, 2000, TEN, TRAINING)
    assert path.shape == (2001, 10, 1)
    np.testing.assert_array_equal(path[0], START)
    assert np.abs(path[1] - path[0]) == pytest.approx(1e-3, rel=1e-3)
    loss = effective_loss.effective_loss(path - path.mean(1, keepdims=True), TEN, TRAINING)
    assert loss[-1] < 1e-4 * loss[0]
    step = grokking_time.first_step(path, TEN, 0.95)
    assert rqi(path[int(step)], TEN) > 0.95 >= rqi(path[: int(step)], TEN).max()


def test_adam_does_not_see_origin_and_its_steps_scale_with_start_over_rate():
    def step(start, rate):
        path = grokking_time.adam_descent(start, rate, 3000, TEN, TRAINING)
        return grokking_time.first_step(path, TEN, 0.95)

    once = step(START, 1e-3)
    assert 100 < once < 3000
    assert step(START + 7, 1e-3) == once
    assert step(10 * START, 1e-2) == pytest.approx(once, abs=1)
    assert step(START, 2e-3) < 0.7 * once


@pytest.mark.parametrize(
    ("training", "start", "words"),
    [
        (TRAINING, START[:9], r"`start` must have shape \(10 symbols"),
        (TRAINING, np.ones((10, 1)), "`start` must tell symbols apart"),
        (np.stack([TRAINING, TRAINING]), START, "`training` must be one training set"),
    ],
)
def test_a_start_that_says_nothing_is_refused(training, start, words):
    with pytest.raises(ArgumentError, match=words):
        grokking_time.flow_time(start, TEN, training, 0.95)
    with pytest.raises(ArgumentError, match=words):
        grokking_time.adam_descent(start, 0.95, 3, TEN, training)
