import numpy as np
import pytest
from scipy.integrate import solve_ivp

from foretrain.errors import ArgumentError
from foretrain.theory.gated.deep_linear import balanced_flow, balanced_start, mode_strength


def balanced_case(seed, n, m, width, rank, scale):
    """A balanced start of the given width and a target of the given rank."""
    rng = np.random.default_rng(seed)
    target = rng.standard_normal((n, rank)) @ rng.standard_normal((rank, m)) / np.sqrt(n)
    count = min(n, m, width)
    left = np.linalg.qr(rng.standard_normal((n, count)))[0]
    right = np.linalg.qr(rng.standard_normal((m, count)))[0]
    rotation = np.linalg.qr(rng.standard_normal((width, width)))[0][:count]
    values = scale * rng.uniform(0.5, 1.5, count)
    return left * values @ rotation, right * values @ rotation, target


def integrated(left, right, target, times, time_constant=1.0):
    """X Y^T, X X^T and Y Y^T of the flow by SciPy, at the given times."""
    split, shapes = left.size, (left.shape, right.shape)

    def unpack(numbers):
        return numbers[:split].reshape(shapes[0]), numbers[split:].reshape(shapes[1])

    def derivative(_, numbers):
        x, y = unpack(numbers)
        residual = target - x @ y.T
        return np.concatenate([(residual @ y).ravel(), (residual.T @ x).ravel()]) / time_constant

    start = np.concatenate([left.ravel(), right.ravel()])
    span = (0, max(times))
    solution = solve_ivp(derivative, span, start, "DOP853", t_eval=times, rtol=1e-12, atol=1e-14)
    factors = [unpack(numbers) for numbers in solution.y.T]
    return [
        np.array(p) for p in zip(*((x @ y.T, x @ x.T, y @ y.T) for x, y in factors), strict=True)
    ]


def product(lefts, rights):
    return lefts @ rights.mT


@pytest.mark.parametrize(
    "case",
    [
        pytest.param((5, 5, 5, 5, 0.1), id="full rank"),
        pytest.param((5, 4, 4, 2, 0.1), id="rank-deficient target"),
        pytest.param((5, 4, 2, 4, 0.1), id="fewer hidden units than modes"),
        pytest.param((4, 6, 8, 3, 0.5), id="more hidden units than inputs"),
        pytest.param((3, 3, 3, 3, 1e-3), id="tiny start"),
        pytest.param((4, 4, 4, 4, 3.0), id="start larger than the target"),
    ],
)
@pytest.mark.parametrize("time_constant", [1.0, 0.5])
def test_riccati_solution_is_the_flow(case, time_constant):
    start = balanced_case(1, *case)
    times = [0.0, 0.1, 0.5, 1.0, 2.0, 5.0]
    x, y = balanced_flow(start[:2], times, start[2], time_constant=time_constant)
    exact = product(x, y), product(x, x), product(y, y)
    for result, expected in zip(exact, integrated(*start, times, time_constant), strict=True):
        np.testing.assert_allclose(result, expected, atol=1e-8)


def test_repeated_singular_values_and_zero_overlaps_are_exact():
    times = [0.0, 1.0, 3.0]
    start = balanced_start(np.diag([0.01, 0.04, 0.0]))
    exact = product(*balanced_flow(start, times, 2 * np.eye(3)))
    modes = mode_strength([0.01, 0.04], times, [2.0, 2.0])
    np.testing.assert_allclose(exact, [np.diag([*row, 0]) for row in modes], atol=1e-14)


@pytest.mark.parametrize("width", [2, 5])
def test_long_times_reach_the_best_fit_without_overflow(width):
    left, right, target = balanced_case(3, 6, 5, width, 5, 1e-6)
    target *= 10 / np.linalg.norm(target, 2)
    u, values, v = np.linalg.svd(target)
    best = u[:, :width] * values[:width] @ v[:width]
    # At t = 1e3 the exponents are 1e4; the best fit of rank `width` is reached to rounding.
    ends = product(*balanced_flow((left, right), [1e3, 1e6], target))
    np.testing.assert_allclose(ends, [best, best], atol=1e-12)


def test_a_decoupled_start_follows_the_scalar_solution_for_every_mode():
    values, initial = np.array([3.0, 1.0, 0.2]), np.array([1e-3, 1e-2, 0.5])
    times = np.array([0.0, 0.5, 2.0, 10.0, 1e3])
    rng = np.random.default_rng(4)
    u, v = (np.linalg.qr(rng.standard_normal((n, 3)))[0] for n in (5, 4))
    left, right = u * np.sqrt(initial), v * np.sqrt(initial)
    matrices = product(*balanced_flow((left, right), times, u * values @ v.T))
    strengths = np.einsum("ni,tnm,mi->ti", u, matrices, v)
    np.testing.assert_allclose(strengths, mode_strength(initial, times, values), atol=1e-13)


def test_unbalanced_starts_are_refused_with_the_number():
    left, right, target = balanced_case(10, 4, 4, 3, 4, 0.3)
    square, trace = left.T @ left, np.sum(left**2)
    gram = np.linalg.norm(
        square - np.trace(square) / 3 * np.eye(3)
    )  # a multiple of I is no obstacle
    number = (1.5**2 - 1) * gram / ((1.5**2 + 1) * trace)
    with pytest.raises(ArgumentError, match=f"be balanced .* but deviates by {number:.3g} of"):
        balanced_flow((1.5 * left, right), [1.0], target)
    # For a factor 1 + e the deviation is e |X^T X - its mean| / |X|^2: a factor 2 above and below 1e-8.
    excess = 1e-8 * trace / gram
    with pytest.raises(ArgumentError, match="but deviates by 2e-08 of"):
        balanced_flow((left * (1 + 2 * excess), right), [1.0], target)
    balanced_flow((left * (1 + excess / 2), right), [1.0], target)


@pytest.mark.parametrize(("imbalance", "n", "m"), [(0.7, 5, 4), (-0.7, 4, 5), (30.0, 4, 4)])
def test_lambda_balanced_starts_follow_the_flow_and_keep_their_lambda(imbalance, n, m):
    rng = np.random.default_rng(5)
    start = balanced_start(0.3 * rng.standard_normal((n, m)), imbalance)
    lefts, rights, eye = start[0].T @ start[0], start[1].T @ start[1], np.eye(min(n, m))
    np.testing.assert_allclose(lefts - rights, imbalance * eye, atol=1e-13)
    target, times = rng.standard_normal((n, m)), [0.0, 0.1, 0.5, 2.0]
    x, y = balanced_flow(start, times, target, time_constant=0.5)
    exact = product(x, y), product(x, x), product(y, y)
    for result, expected in zip(exact, integrated(*start, target, times, 0.5), strict=True):
        np.testing.assert_allclose(result, expected, atol=1e-8)
    np.testing.assert_allclose(x.mT @ x - y.mT @ y, [imbalance * eye] * 4, atol=1e-12)


@pytest.mark.parametrize("imbalance", [1e-3, 0.5, -2.0, 20.0])
@pytest.mark.parametrize("start", [-0.1, 0.0, 0.05, 2.0])
def test_an_unbalanced_mode_follows_small_steps_of_its_two_factors(imbalance, start):
    s, d, tau, step, steps = 1.3, 0.7, 2.0, 1e-3, 4000

    def slope(x, y):
        error = (s - d * x * y) / tau
        return np.array([error * y, error * x])

    size = np.hypot(imbalance, 2 * start)
    factors = np.sqrt([(size + imbalance) / 2, (size - imbalance) / 2]) * [1, np.copysign(1, start)]
    course = [factors]
    for _ in range(steps):  # Runge-Kutta of order four
        a = slope(*factors)
        b = slope(*(factors + step / 2 * a))
        c = slope(*(factors + step / 2 * b))
        factors = factors + step / 6 * (a + 2 * b + 2 * c + slope(*(factors + step * c)))
        course.append(factors)
    times, modes = step * np.arange(steps + 1), np.array([s])
    units = {"input_variances": d, "time_constant": tau}
    a = mode_strength(start, times, modes, imbalance=imbalance, **units)[:, 0]
    np.testing.assert_allclose(a, np.prod(course, 1), atol=1e-8)
    if start > 0 and abs(imbalance) > 0.1:
        assert abs(a - mode_strength(start, times, modes, **units)[:, 0]).max() > 1e-4


def test_an_unbalanced_mode_has_the_balanced_and_the_lazy_limit():
    times, values = np.array([0.0, 0.3, 2.0, 1e4]), np.array([1.0, 0.0])
    balanced = mode_strength(0.1, times, values)
    assert (mode_strength(0.1, times, values, imbalance=0.0) == balanced).all()
    mixed = mode_strength(0.1, times, values, imbalance=[1e-9, 0.0])
    np.testing.assert_allclose(mixed, balanced, rtol=1e-13)
    # Of delta >> s one layer stands still: s - (s - a_0) e^(-delta t), up to (s / delta)^2.
    lazy = mode_strength(0.1, times / 1e4, values, imbalance=1e4)[:, 0]
    np.testing.assert_allclose(lazy, 1 - 0.9 * np.exp(-times), atol=1e-7)
    with pytest.raises(ArgumentError, match="`start` must be greater than 0, but has -1"):
        mode_strength([2.0, -1.0], times, values, imbalance=[1.0, 0.0])


def test_mode_strength_solves_its_equation_and_has_its_limits():
    values, initial = np.array([2.0, 0.5, 0.0]), np.array([0.01, 3.0, 1.0])
    variances, gap = [2.0, 1.0, 0.5], 1e-5
    times = np.array([1.0 - gap, 1.0, 1.0 + gap])
    a = mode_strength(initial, times, values, input_variances=variances, time_constant=3.0)
    slope = (a[2] - a[0]) / (2 * gap)
    # Central differences: gap^2 = 1e-10, rounding 1e-16/gap = 1e-11.
    np.testing.assert_allclose(3.0 * slope, 2 * a[1] * (values - variances * a[1]), atol=1e-8)
    ends = mode_strength(initial, [0.0, 1e6], values, input_variances=variances)
    np.testing.assert_allclose(ends[0], initial, rtol=1e-15)
    np.testing.assert_allclose(ends[1], [1.0, 0.5, 1e-6], rtol=1e-5)


def test_user_errors_name_the_argument():
    square = np.eye(3)
    with pytest.raises(ArgumentError, match=r"`target` must have shape \(3, 3\), .* \(2, 3\)"):
        balanced_flow((square, square), [1.0], np.ones((2, 3)))
    with pytest.raises(ArgumentError, match=r"`start\[1\]` must have 3 columns"):
        balanced_flow((square, np.ones((3, 2))), [1.0], square)
