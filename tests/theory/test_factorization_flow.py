"""Descent of a factorisation predicted from its start by Riccati flows."""

import numpy as np
import pytest

from foretrain.theory.factorization.factorization_flow import decayed_loss, descent_curves
from foretrain.theory.gated import deep_linear


def drawn(seed, rank, size=14, scale=1.0):
    target, start = np.random.default_rng(seed).standard_normal((2, 2, size, rank))
    return target / np.linalg.norm(target, axis=1, keepdims=True), scale * start / np.sqrt(size)


def trained(target, start, rate, steps, decay=0.0):
    """Losses and the last factors of descent."""
    (a, b), (x, y) = target, start
    losses = []
    for _ in range(steps + 1):
        error = a @ b.T - x @ y.T
        losses.append(np.sum(error**2))
        last = x, y
        x, y = x + rate * (2 * error @ y - decay * x), y + rate * (2 * error.T @ x - decay * y)
    return np.array(losses), last


def test_of_a_balanced_start_it_is_the_closed_form():
    target, start = drawn(0, 3)
    balanced = deep_linear.balanced_start(0.1 * start[0] @ start[1].T)
    # So small a step is a flow.
    steps, rate = np.array([0, 10, 200, 900, 3000]) * 1000, 1e-6
    product = target[0] @ target[1].T
    x, y = deep_linear.balanced_flow(balanced, steps * rate, product, time_constant=0.5)
    expected = np.sum((product - x @ y.transpose(0, 2, 1)) ** 2, (1, 2))
    result = descent_curves(balanced, rate, steps, target)
    np.testing.assert_allclose(result.loss, expected, rtol=1e-4)


@pytest.mark.parametrize(("rank", "decay"), [(1, 0.0), (2, 0.0), (3, 0.2), (14, 0.0)])
def test_it_errs_in_proportion_to_the_step_of_descent(rank, decay):
    target, start = drawn(rank, rank)
    errors = []
    for rate, steps in ((0.02, 100), (0.004, 500)):
        losses, (x, y) = trained(target, start, rate, steps, decay)
        stored = np.arange(0, steps + 1, steps // 50)
        result = descent_curves(start, rate, stored, target, decay, followed=rank)
        errors.append(
            np.abs(result.loss - losses[stored]).max() / np.sum((target[0] @ target[1].T) ** 2)
        )
    # A fifth of the step, a fifth of the error; without the imbalance it would stay.
    assert errors[1] < 0.3 * errors[0]
    assert errors[1] < 0.02
    cosines = [
        goal.T @ (own / np.linalg.norm(own, axis=0))
        for goal, own in zip(target, (x, y), strict=True)
    ]
    np.testing.assert_allclose(result.alignments[-1], cosines[0] * cosines[1], atol=0.02)
    left, _, right = np.linalg.svd(target[0] @ target[1].T)
    modes = np.diag(left.T @ x @ y.T @ right.T)[:rank]
    np.testing.assert_allclose(result.modes[-1], modes, atol=0.01)
    inside = sum(
        np.sum((np.linalg.qr(g)[0].T @ own) ** 2) for g, own in zip(target, (x, y), strict=True)
    )
    whole = np.sum(x**2) + np.sum(y**2)
    assert result.inside[-1] == pytest.approx(inside, rel=0.02)
    assert result.outside[-1] == pytest.approx(whole - inside, abs=0.01 * whole)


def test_with_decay_it_ends_at_the_soft_threshold_of_the_singular_values():
    target, start = drawn(2, 3)
    result = descent_curves(start, 0.02, np.arange(0, 4001, 50), target, 0.4)
    assert result.loss[-1] == pytest.approx(decayed_loss(target[0] @ target[1].T, 3, 0.4), rel=1e-6)


def test_decay_takes_half_of_itself_from_every_strength_it_can_learn():
    target = np.diag([3.0, 1.0, 0.1])
    assert decayed_loss(target, 2, 1.0) == pytest.approx(0.25 + 0.25 + 0.01)
    # The third strength is below lambda/2 and stays where it is, with a component of its own or without.
    assert decayed_loss(target, 3, 1.0) == pytest.approx(decayed_loss(target, 2, 1.0))
    turned = np.linalg.qr(drawn(0, 3, 3)[1][0])[0] @ target
    assert decayed_loss(turned, 2, 1.0) == pytest.approx(0.51)
    for components, left in enumerate((10.01, 1.01, 0.01, 0.0)):
        assert decayed_loss(target, components, 0.0) == pytest.approx(left)
    assert decayed_loss(target, 3, 1e9) == pytest.approx(10.01)
