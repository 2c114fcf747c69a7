from unittest.mock import patch

import numpy as np
import pytest

from foretrain.theory import published_rules
from foretrain.theory.published_rules import factorization_losses, forgetting, step

WEIGHTS, SLOPE = np.array([0.5, -2.0, 3.0]), np.array([0.1, -4.0, 30.0])
NOTHING = (np.zeros(3), np.zeros(3))


def after(optimizer, slopes, rate=0.01, decay=0.0, weights=WEIGHTS):
    """Weights after a step along each slope."""
    memory = NOTHING
    for count, slope in enumerate(slopes, 1):
        weights, memory = step(optimizer, weights, slope, memory, count, rate, decay)
    return weights


@pytest.mark.parametrize("steps", [1, 2, 50])
def test_adam_moves_by_the_rate_while_the_slope_stays(steps):
    # Bias corrected, both means of a constant are that constant, from the first step on.
    expected = WEIGHTS - 0.01 * steps * np.sign(SLOPE)
    np.testing.assert_allclose(after("adam", [SLOPE] * steps), expected, rtol=1e-6, atol=1e-6)


def test_decay_of_adamw_is_no_part_of_its_means():
    still = after("adamw", [0 * SLOPE] * 5, decay=0.3)
    np.testing.assert_allclose(still, WEIGHTS * (1 - 0.01 * 0.3) ** 5, rtol=1e-14)
    # Whatever the size of the slope, decay is the same part of the step.
    for size in (1.0, 1e3):
        gap = after("adam", [size * SLOPE]) - after("adamw", [size * SLOPE], decay=0.3)
        np.testing.assert_allclose(gap, 0.01 * 0.3 * WEIGHTS, rtol=1e-12)


def drawn(seeds=2, size=5, rank=1):
    target, start = np.random.default_rng(0).standard_normal((2, 2, seeds, rank, size))
    return target / np.linalg.norm(target, axis=-1, keepdims=True), start / np.sqrt(size)


STORED = {"steps": 60, "every": 3, "tolerance": 0.0}


def test_descent_of_several_components_is_that_of_the_matrices():
    target, start = drawn(rank=3)
    losses = factorization_losses(start, 0.03, target, "sgd", 0.0, **STORED)
    for seed in range(2):
        (a, b), (x, y) = target[:, seed], start[:, seed]
        for stored in losses[:, seed]:
            np.testing.assert_allclose(stored, np.sum((a.T @ b - x.T @ y) ** 2), rtol=1e-11)
            for _ in range(3):
                gap = x.T @ y - a.T @ b
                x, y = x - 0.06 * y @ gap.T, y - 0.06 * x @ gap


def test_what_decay_leaves_of_the_loss_falls_as_the_second_mean_forgets():
    target, start = drawn(size=50, rank=2)
    stored = {"steps": 1000, "every": 200, "tolerance": 0.0}
    with patch.object(published_rules, "BETAS", (0.9, 0.995)):
        losses = factorization_losses(start, 0.002, target, "adamw", 1.0, **stored)
        without = factorization_losses(start, 0.002, target, "adamw", 0.0, **stored)
        expected = np.log(forgetting(1000) / forgetting(600))
    fell = np.log(losses[5] / losses[3]) / expected
    # Entries of 1/sqrt(50), whose squares slow it by some 5/50.
    assert ((0.8 < fell) & (fell < 1.02)).all()
    assert (without[5] < 1e-3 * losses[5]).all()


def test_it_ends_where_all_have_learned_or_none_is_finite():
    target, start = drawn()
    learned = {**STORED, "tolerance": 0.05, "steps": 3000}
    losses = factorization_losses(start, 0.03, target, "sgd", 0.0, **learned)
    assert (losses[-1] <= 0.05).all()
    assert not (losses[-2] <= 0.05).all()
    with np.errstate(over="ignore", invalid="ignore"):
        burst = factorization_losses(start, 1e6, target, "sgd", 0.0, **{**STORED, "steps": 3000})
    assert len(burst) < 100
