import math

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from foretrain.errors import ArgumentError
from foretrain.tasks import masks as routing
from foretrain.theory.factorization import masked_rank_one_escape as escape


def draw(seed, rows=6, columns=6, pairs=14):
    shared = np.random.default_rng(seed)
    ranks = np.argsort(shared.permutation(rows * columns)).reshape(rows, columns)
    trained = (ranks < pairs).astype(float)
    return trained, shared.normal(size=rows), shared.normal(size=columns), shared.normal()


def flow_of(trained, *start):
    return escape.early_flow(start, trained)


def integrate(trained, u, v, s, times):
    """u, v, s and the integral of s by SciPy, from the linearised equations as they stand."""
    rows = u.size

    def derivative(_, state):
        left, right, scale = state[:rows], state[rows:-2], state[-2]
        du, dv = scale * trained @ right, scale * trained.T @ left
        return np.concatenate([du, dv, [left @ trained @ right, scale]])

    solution = solve_ivp(
        derivative,
        (0, times[-1]),
        np.concatenate([u, v, [s, 0.0]]),
        method="DOP853",
        t_eval=times,
        rtol=1e-12,
        atol=1e-14,
    )
    return [(y[:rows], y[rows:-2], y[-2], y[-1]) for y in solution.y.T]


SEEDS = range(8)
TURNING = [seed for seed in SEEDS if math.isfinite(flow_of(*draw(seed)).turning_point)]


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("shape", [(6, 6, 14), (3, 7, 9)])
def test_closed_forms_are_the_linearised_flow(seed, shape):
    trained, u, v, s = draw(seed, *shape)
    s = 0.0 if seed == 3 else s
    early = flow_of(trained, u, v, s)
    times = np.array([0.1, 0.4, 0.7, 0.9]) * escape.blow_up_time(early)
    turned = math.isfinite(early.turning_point) and escape.time_at(early, early.turning_point)
    path = integrate(trained, u, v, s, times)
    for time, (left, right, scale, progress) in zip(times, path, strict=True):
        place, returning = early.sign * progress, bool(turned and time > turned)
        assert escape.time_at(early, place, returning=returning) == pytest.approx(time, rel=1e-8)
        largest = max(np.abs(left).max(), np.abs(right).max(), abs(scale))
        result = escape.weights_at(early, progress, scale)
        for own, expected in zip(result, (left, right, scale), strict=True):
            np.testing.assert_allclose(own, expected, atol=1e-7 * largest)


@pytest.mark.parametrize("seed", TURNING)
def test_the_scale_changes_sign_at_the_turning_point(seed):
    trained, u, v, s = draw(seed)
    early = flow_of(trained, u, v, s)
    turned = escape.time_at(early, early.turning_point)
    assert escape.time_at(early, early.turning_point, returning=True) == turned
    (_, _, scale, progress) = integrate(trained, u, v, s, [turned])[0]
    assert abs(scale) < 1e-8
    assert early.sign * progress == pytest.approx(early.turning_point, rel=1e-8)
    around = integrate(trained, u, v, s, turned * np.array([0.999, 1.001]))
    assert early.sign * around[0][2] > 0 > early.sign * around[1][2]
    assert escape.time_at(early, 0.0, returning=True) == pytest.approx(2 * turned, rel=1e-12)


def test_one_mode_has_the_closed_form_of_a_growing_exponential():
    # T = 1, u = v = s = a: all three stay equal, ds/dt = s^2, s = a/(1 - a t), S = -log(1 - a t).
    early = escape.early_flow(([0.25], [0.25], 0.25), [[1.0]])
    assert escape.blow_up_time(early) == pytest.approx(4, rel=1e-11)
    assert escape.time_at(early, math.log(4)) == pytest.approx(3, rel=1e-11)
    assert escape.squared_scale(early, math.log(4)) == pytest.approx(1, rel=1e-11)
    assert escape.time_at(early, 1.0) == pytest.approx(4 * (1 - math.exp(-1)), rel=1e-11)


def test_starts_that_oppose_each_other_exactly_are_refused():
    # u = -v = s: s = a/(1 + a t) decays for ever. The last bit of a weight decides nothing.
    for bit in (0.2, 0.25, 0.3):
        near = np.nextafter(0.25, bit)
        for start in (([near], [-0.25], 0.25), ([0.25], [-0.25], near)):
            with pytest.raises(ArgumentError, match="`start` must have a part that grows"):
                escape.early_flow(start, [[1.0]])


def test_weights_far_out_do_not_overflow_and_align_with_the_first_mode():
    _, u, v, s = draw(1)
    early = flow_of(routing.circulant(6, 4), u, v, s)
    left, right, log_size = escape.early_weights(early, 1e4)
    assert log_size == pytest.approx(4e4)
    np.testing.assert_allclose(left / left[0], 1, rtol=1e-12)
    np.testing.assert_allclose(right / left[0], 1, rtol=1e-12)
    with pytest.raises(ArgumentError, match="`progress` must lie between 0 and the turning"):
        escape.time_at(early, -1.0)


@pytest.mark.parametrize(
    "mask", [np.ones((3, 3)), np.ones((4, 2)), np.kron(np.eye(2), np.ones((3, 2)))]
)
def test_rounding_does_not_decide_that_a_start_only_decays(mask):
    random, (left, values, right) = np.random.default_rng(0), np.linalg.svd(mask)
    rank = int((values > 1e-9).sum())
    for number in range(40):
        part = random.normal(size=rank)
        scale = np.linalg.norm(part) * (1 + number % 2)
        u = left[:, :rank] @ part + left[:, rank:] @ random.normal(size=len(left) - rank)
        v = right[rank:].T @ random.normal(size=len(right) - rank) - right[:rank].T @ part
        u, v = (w * (1 + random.choice([-1, 0, 1], w.size) * np.finfo(float).eps) for w in (u, v))
        rows, columns = random.permutation(u.size), random.permutation(v.size)
        with pytest.raises(ArgumentError, match="only decays"):
            flow_of(mask[rows][:, columns], u[rows], v[columns], scale)
        grows = v + 1e-9 * right[0]
        assert flow_of(mask[rows][:, columns], u[rows], grows[columns], 2 * scale).growing.any()
