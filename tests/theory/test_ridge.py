import numpy as np
import pytest

from foretrain.theory.grokking import ridge


def drawn(n=12, d=20, init_scale=5.0, noise=0.0, seed=0):
    random = np.random.default_rng(seed)
    data, teacher = random.standard_normal((n, d)), random.standard_normal(d)
    teacher /= np.linalg.norm(teacher)
    targets = data @ teacher + noise * random.standard_normal(n)
    return data, targets, teacher, init_scale * random.standard_normal(d) / np.sqrt(d)


def descent(data, targets, teacher, start, decay, rate):
    return ridge.descent(start, rate, data, targets, teacher, decay)


def by_hand(data, targets, teacher, weights, decay, rate, steps):
    """Errors of every step of the plain recursion."""
    errors = []
    for _ in range(steps + 1):
        residual = data @ weights - targets
        errors.append(((residual**2).mean(), ((weights - teacher) ** 2).sum()))
        weights = weights - rate * (residual @ data / len(data) + decay * weights)
    return np.array(errors).T


@pytest.mark.parametrize("n", [12, 20, 30])
@pytest.mark.parametrize("decay", [0.0, 0.02])
@pytest.mark.parametrize("noise", [0.0, 0.3])
def test_the_closed_form_is_descent_step_by_step(n, decay, noise):
    options = drawn(n, noise=noise)
    run = descent(*options, decay, 0.1)
    np.testing.assert_allclose(
        run.errors(np.arange(301)), by_hand(*options, decay, 0.1, 300), rtol=1e-9, atol=1e-12
    )
    assert run.null.sum() == max(20 - n, 0)


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("noise", [0.0, 0.1])
def test_generalisation_lies_between_its_bounds_and_the_law_between_them(seed, noise):
    run = descent(*drawn(15, 20, init_scale=20.0, noise=noise, seed=seed), 0.006, 0.1)
    assert (np.abs(run.factor) <= 1).all()
    for threshold in (0.35, 0.5, 0.8):
        result = run.first_steps((0.01, threshold), 30_000)[1]
        low, law, high = run.generalisation(threshold)
        assert low <= law <= high
        assert low <= result <= high + 1 or (np.isinf(low) and np.isinf(result))


def test_no_decay_helps_where_the_null_space_holds_too_much_of_the_teacher():
    data, targets, teacher, start = drawn(12)
    run = ridge.descent(start, 0.1, data, targets, teacher, 0.01)
    hidden = (run.teacher[run.null] ** 2).sum()
    # A start orthogonal to the teacher there cannot pass by it.
    there = run.start * run.null
    there -= run.teacher * run.null * (there @ run.teacher) / hidden
    away = ridge.Descent(**{**vars(run), "start": there})
    assert np.isinf(away.forgetting(hidden * 0.999))
    assert np.isfinite(away.forgetting(hidden * 1.001))
    assert np.isinf(away.first_steps((0.01, hidden * 0.999), 50_000)[1])


@pytest.mark.slow
def test_the_typical_run_is_the_median_of_many():
    times = []
    for seed in range(40):
        times.append(descent(*drawn(140, 200, 10.0, seed=seed), 1e-4, 0.05).forgetting(0.5) * 0.05)
    # The middle of 40 runs that scatter by some 6% is known to 1.2%.
    assert np.median(times) == pytest.approx(
        ridge.typical_generalisation(0.7, 10.0, 0.5, 1e-4), rel=0.03
    )


@pytest.mark.parametrize(
    ("share", "init_scale", "threshold", "decay", "time"),
    [
        (0.4, 10.0, 0.5, 0.01, np.inf),
        (0.7, 10.0, 0.5, 0.0, np.inf),
        (0.7, 0.01, 0.5, 0.0, 0.0),
        (0.75, 2.0, 0.5, 0.5, np.log(4)),
    ],
)
def test_limits_of_the_typical_run(share, init_scale, threshold, decay, time):
    assert ridge.typical_generalisation(share, init_scale, threshold, decay) == pytest.approx(time)


@pytest.mark.parametrize(("decay", "rate"), [(100.0, 0.1), (0.01, 5.0)])
def test_where_a_step_overshoots_there_is_no_law(decay, rate):
    with np.errstate(all="raise"):
        bounds = np.array(descent(*drawn(), decay, rate).generalisation(0.5))
    assert np.isnan(bounds).all()
    assert np.isnan(ridge.room(bounds, 100))
