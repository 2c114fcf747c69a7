import numpy as np
import pytest

from foretrain.errors import ArgumentError
from foretrain.theory.factorization import rank_one
from foretrain.theory.factorization.rank_one import RankOneState, loss, reduce
from foretrain.theory.factorization.rank_one_plateau import (
    early_solution,
    plateau,
    plateau_estimate,
)


def draw(seed, dimension=100, init_scale=1.0):
    """x, y, a, b: a Gaussian start and a target on the unit sphere."""
    x, y, a, b = np.random.default_rng(seed).standard_normal((4, dimension))
    scale = init_scale / np.sqrt(dimension)
    return x * scale, y * scale, a / np.linalg.norm(a), b / np.linalg.norm(b)


def full_descent(x, y, a, b, steps, learning_rate, weight_decay):
    """Gradient descent on the vectors, the gradient taken from the n x n residual."""
    target, path, losses = np.outer(a, b), [], []
    for _ in range(steps + 1):
        residual = target - np.outer(x, y)
        path.append(reduce(x, y, a, b))
        losses.append(np.sum(residual**2))
        grad_x, grad_y = -2 * residual @ y, -2 * residual.T @ x
        x = x - learning_rate * (grad_x + weight_decay * x)
        y = y - learning_rate * (grad_y + weight_decay * y)
    return path, np.array(losses)


def as_rows(state):
    return np.array([state.overlap_x, state.overlap_y, state.irrelevant_x, state.irrelevant_y])


@pytest.mark.parametrize("learning_rate", [1e-3, 0.05, 0.2])
@pytest.mark.parametrize("weight_decay", [0.0, 0.05, 3.0])
def test_discrete_reduction_is_descent_on_the_vectors_at_any_step(learning_rate, weight_decay):
    x, y, a, b = draw(1)
    path, losses = full_descent(x, y, a, b, 200, learning_rate, weight_decay)
    reduced = rank_one.descent(reduce(x, y, a, b), learning_rate, 200, weight_decay)
    # Rounding only: sums over 100 entries, 200 steps near a saddle that stretches errors by about
    # 1/init overlap = 10.
    np.testing.assert_allclose(
        as_rows(reduced), np.transpose([as_rows(s) for s in path]), atol=1e-12
    )
    np.testing.assert_allclose(loss(reduced), losses, rtol=1e-11, atol=1e-12)


def test_descent_tends_to_the_flow_at_first_order_in_the_step():
    start, horizon, weight_decay = reduce(*draw(2)), 4.0, 0.05
    rates, deviations = np.array([1e-2, 1e-3, 1e-4]), []
    for rate in rates:
        steps = round(horizon / rate)
        discrete = rank_one.descent(start, rate, steps, weight_decay)
        flow = rank_one.flow(start, rate * np.arange(steps + 1), weight_decay)
        deviations.append(np.abs(loss(discrete) - loss(flow)).max())
    slope = np.polyfit(np.log(rates), np.log(deviations), 1)[0]
    assert slope == pytest.approx(1.0, abs=0.05)  # Euler's scheme is of order one
    # At step 1e-4 the deviation is half a step times |L''| of order one over time: about 1e-4.
    assert 1e-5 < deviations[-1] < 2e-4


@pytest.mark.parametrize("weight_decay", [0.0, 0.4])
def test_imbalance_is_conserved_or_falls_exponentially(weight_decay):
    start, times = reduce(*draw(4)), np.linspace(0, 5, 41)
    path = rank_one.flow(start, times, weight_decay)
    before, after = (item.squared_norm_x - item.squared_norm_y for item in (start, path))
    expected = before * np.exp(-2 * weight_decay * times)
    np.testing.assert_allclose(after, expected, atol=1e-10)  # 100 x the integrator's


@pytest.mark.parametrize("weight_decay", [0.05, 0.5, 1.5])
def test_weight_decay_ends_at_its_fixed_point(weight_decay):
    # Overlaps grow at rate 2 - lambda, the imbalance is forgotten at rate 2 lambda: 30 of each.
    horizon = 30 / (2 - weight_decay) + 15 / weight_decay
    end = rank_one.flow(reduce(*draw(7)), [horizon], weight_decay)
    assert (end.overlap_x[0] * end.overlap_y[0]) == pytest.approx(1 - weight_decay / 2, abs=1e-10)
    assert abs(end.overlap_x[0]) == pytest.approx(abs(end.overlap_y[0]), abs=1e-10)
    assert loss(end)[0] == pytest.approx(weight_decay**2 / 4, abs=1e-10)
    overlap = np.sqrt(1 - weight_decay / 2)
    np.testing.assert_allclose(np.abs(as_rows(end)[:, 0]), [overlap, overlap, 0, 0], atol=1e-10)


def test_gradient_terms_add_up_to_the_gradient():
    x, y, a, b = draw(15)
    for own, other, goal, its in ((x, y, a, b), (y, x, b, a)):
        signal, decay = rank_one.gradient_terms(reduce(own, other, goal, its), 0.2)
        assert signal == pytest.approx(np.linalg.norm(2 * (its @ other) * goal))
        assert decay == pytest.approx(np.linalg.norm(2 * (other @ other) * own + 0.2 * own))


def test_user_errors_name_the_argument():
    x, y, a, b = draw(20)
    with pytest.raises(ArgumentError, match=r"`a` must be a unit vector, but has length 2"):
        reduce(x, y, 2 * a, b)
    with pytest.raises(ArgumentError, match=r"`b` must have shape \(100,\), but has shape \(99,\)"):
        reduce(x, y, a, b[:-1])


@pytest.mark.parametrize("weight_decay", [0.0, 0.3])
def test_plateau_begins_and_ends_where_the_loss_says(weight_decay):
    start = reduce(*draw(1))
    result = plateau(start, weight_decay=weight_decay)
    assert 0 < result.start < result.end
    ends = loss(rank_one.flow(start, [result.start, result.end], weight_decay))
    np.testing.assert_allclose(ends, [1.1, 0.9], atol=1e-9)
    grid = np.linspace(0, result.end, 2000)[:-1]
    assert (loss(rank_one.flow(start, grid, weight_decay)) > 0.9).all()


@pytest.mark.parametrize("weight_decay", [0.0, 0.7])
def test_early_solution_is_exact_to_first_order_in_the_overlaps(weight_decay):
    times = np.array([0.0, 0.3, 1.0, 2.0])
    errors = []
    for size in (1e-3, 1e-4):
        # Equal irrelevant parts if there is weight decay: otherwise the Magnus series is cut off.
        start = RankOneState(size, -0.4 * size, 0.9, 0.5 if weight_decay == 0 else 0.9)
        exact = as_rows(rank_one.flow(start, times, weight_decay))
        early = as_rows(early_solution(start, times, weight_decay))
        errors.append(np.abs(early - exact)[:2].max() / size)
        np.testing.assert_allclose(early[:, 0], exact[:, 0], rtol=1e-14)
    # The error relative to the overlaps is of second order: it falls 100-fold.
    assert errors[1] == pytest.approx(errors[0] / 100, rel=0.05)
    assert errors[0] < 1e-2


@pytest.mark.parametrize(
    ("dimension", "init_scale", "weight_decay", "allowed"),
    [
        # What is dropped is of order alpha^2 t ~ init_scale^2 t/n during the fall of p, q, and
        # level^2 at the end.
        (10_000, 0.1, 0.0, 1e-3),
        (10_000, 1.0, 0.0, 2e-2),
        (100, 0.1, 0.5, 2e-2),
        (100, 1.0, 0.0, 0.2),
        (100, 1.0, 0.5, 0.2),
    ],
)
def test_closed_form_plateau_is_close_to_the_exact_one(
    dimension, init_scale, weight_decay, allowed
):
    for seed in range(10):
        start = reduce(*draw(seed, dimension, init_scale))
        exact = plateau(start, weight_decay=weight_decay)
        estimate = plateau_estimate(start, weight_decay=weight_decay)
        assert estimate.start == pytest.approx(exact.start, abs=allowed)
        assert estimate.end == pytest.approx(exact.end, abs=allowed)


def test_weight_decay_lengthens_the_plateau_until_it_never_ends():
    start = RankOneState(0.0037, 0.0037, 0.0099, 0.0099)  # typical of 100 numbers at scale .1
    decays = [0.0, 0.5, 1.0, 1.5]
    for function in (plateau, plateau_estimate):
        assert (np.diff([function(start, weight_decay=decay).length for decay in decays]) > 0).all()
        # The end has loss lambda^2/4 > .9 from lambda = 1.897 on.
        assert function(start, weight_decay=1.95).end == np.inf
        assert function(start, weight_decay=3.0).end == np.inf


def test_a_start_below_the_plateau_has_none_and_one_without_signal_never_leaves_it():
    low, opposed = RankOneState(0.9, 0.9, 0.0, 0.0), RankOneState(0.1, -0.1, 0.0, 0.0)
    assert plateau(low) == plateau_estimate(low)
    assert plateau(low).length == 0
    assert plateau(opposed, until=5.0).end == plateau_estimate(opposed).end == np.inf
