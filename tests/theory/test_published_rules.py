import numpy as np
import pytest

from foretrain.theory import rank_one
from foretrain.theory.published_rules import rank_one_losses, step

WEIGHTS, SLOPE = np.array([0.5, -2.0, 3.0]), np.array([0.1, -4.0, 30.0])
NOTHING = (np.zeros(3), np.zeros(3))


def after(optimizer, slopes, rate=0.01, decay=0.0, weights=WEIGHTS):
    """Weights after a step along each slope."""
    memory = NOTHING
    for count, slope in enumerate(slopes, 1):
        weights, memory = step(optimizer, weights, slope, memory, count, rate, decay)
    return weights


def test_descent_moves_against_slope_and_decay():
    expected = WEIGHTS - 0.01 * (SLOPE + 0.3 * WEIGHTS)
    np.testing.assert_allclose(after("sgd_decay", [SLOPE], decay=0.3), expected, rtol=1e-15)


@pytest.mark.parametrize("steps", [1, 2, 50])
def test_adam_moves_by_the_rate_while_the_slope_stays(steps):
    # Bias corrected, both means of a constant are that constant, from the first step on.
    expected = WEIGHTS - 0.01 * steps * np.sign(SLOPE)
    np.testing.assert_allclose(after("adam", [SLOPE] * steps), expected, rtol=1e-6, atol=1e-6)


def test_adam_forgets_by_its_two_rates():
    slopes = [SLOPE, -2 * SLOPE]
    first = (0.9 * 0.1 - 2 * 0.1) / (1 - 0.9**2) * SLOPE
    second = (0.999 * 0.001 + 4 * 0.001) / (1 - 0.999**2) * SLOPE**2
    moved = after("adam", slopes[:1]) - 0.01 * first / np.sqrt(second)
    np.testing.assert_allclose(after("adam", slopes), moved, rtol=1e-7)


def test_decay_of_adamw_is_no_part_of_its_means():
    still = after("adamw", [0 * SLOPE] * 5, decay=0.3)
    np.testing.assert_allclose(still, WEIGHTS * (1 - 0.01 * 0.3) ** 5, rtol=1e-14)
    # Whatever the size of the slope, decay is the same part of the step.
    for size in (1.0, 1e3):
        gap = after("adam", [size * SLOPE]) - after("adamw", [size * SLOPE], decay=0.3)
        np.testing.assert_allclose(gap, 0.01 * 0.3 * WEIGHTS, rtol=1e-12)


def drawn(seeds=2, size=5):
    random = np.random.default_rng(0)
    target = random.standard_normal((2, seeds, size))
    return target / np.linalg.norm(target, axis=-1, keepdims=True), random.standard_normal(
        (2, seeds, size)
    ) / np.sqrt(size)


STORED = {"steps": 60, "every": 3, "tolerance": 0.0}


@pytest.mark.parametrize("decay", [0.0, 0.4])
def test_descent_at_rank_one_is_that_of_the_four_numbers(decay):
    target, start = drawn()
    losses = rank_one_losses("sgd_decay", target, start, 0.03, decay, **STORED)
    for seed in range(2):
        four = rank_one.reduce(*start[:, seed], *target[:, seed])
        path = rank_one.descent(four, 60, 0.03, decay, every=3)
        np.testing.assert_allclose(losses[:, seed], rank_one.loss(path), rtol=1e-11)
    first = [np.sum((np.outer(*target[:, k]) - np.outer(*start[:, k])) ** 2) for k in range(2)]
    np.testing.assert_allclose(losses[0], first, rtol=1e-13)


@pytest.mark.parametrize("optimizer", ["adam", "adamw"])
def test_both_factors_are_trained_alike(optimizer):
    target, start = drawn()
    losses = rank_one_losses(optimizer, target, start, 0.01, 0.2, **STORED)
    exchanged = rank_one_losses(optimizer, target[::-1], start[::-1], 0.01, 0.2, **STORED)
    np.testing.assert_allclose(losses, exchanged, rtol=1e-12)
    assert (losses[-1] < losses[0]).all()


def test_it_ends_where_all_have_learned_or_none_is_finite():
    target, start = drawn()
    learned = {**STORED, "tolerance": 0.05, "steps": 3000}
    losses = rank_one_losses("sgd", target, start, 0.03, 0.0, **learned)
    assert (losses[-1] <= 0.05).all()
    assert not (losses[-2] <= 0.05).all()
    with np.errstate(over="ignore", invalid="ignore"):
        burst = rank_one_losses("sgd", target, start, 1e6, 0.0, **{**STORED, "steps": 3000})
    assert len(burst) < 100
