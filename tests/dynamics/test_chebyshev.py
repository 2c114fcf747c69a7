import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.integrate import solve_ivp

from foretrain.dynamics.chebyshev import attempt, reach, start


def decay(position, inputs):
    """Gradient flow of a quadratic bowl with curvatures `inputs`."""
    return jax.tree.map(lambda x: -inputs * x, position)


def two_layers(position, target):
    """Gradient flow of (target - a b)^2 / 2."""
    error = target - position["a"] * position["b"]
    return {"a": error * position["b"], "b": error * position["a"]}


@pytest.mark.parametrize("stages", [2, 3, 6, 10])
def test_one_step_is_the_damped_chebyshev_polynomial(x64, stages):
    # On y' = -k y a step of size h multiplies y by P(-k h), |P| <= 1 up to the method's reach, P = 1 - z + z^2/2 + O(z^3).
    @jax.jit
    @jax.vmap
    def factor(z):
        flow = start(decay, jnp.ones(1), 1.0)
        flow = flow._replace(step_size=z, curvature=jnp.asarray(1.0))
        return attempt(decay, flow, 1.0, 1e12, stages).position[0]

    assert abs(factor(jnp.linspace(0, reach(stages), 60)[1:])).max() <= 1
    # The damping leaves a margin beyond the reach, wide where stages are few.
    assert abs(factor(1.6 * reach(stages) * jnp.ones(1)))[0] > 1
    # Second order: the remainder after z^2/2 falls by eight when z is halved; two stages leave none but rounding.
    z = jnp.array([0.02, 0.01])
    remainder = factor(z) - (1 - z + z**2 / 2)
    assert abs(8 * remainder[1] - remainder[0]) <= 0.05 * abs(remainder[0]) + 1e-14


def test_reach_grows_as_the_square_of_the_stages():
    # Sommeijer, Shampine & Verwer (1998): 2/3 (s^2 - 1) (1 - 2/15 of the damping).
    for stages in (5, 10, 20):
        assert reach(stages) == pytest.approx(2 / 3 * (stages**2 - 1) * (1 - 4 / 195), rel=0.03)


def test_error_falls_with_the_tolerance_towards_scipys_solution(x64):
    exact = solve_ivp(
        lambda t, y: [(1 - y[0] * y[1]) * y[1], (1 - y[0] * y[1]) * y[0]],
        (0, 20),
        [0.3, 0.01],
        rtol=1e-11,
        atol=1e-13,
        dense_output=True,
    ).sol
    errors = []
    for tolerance in (1e-3, 1e-5, 1e-7):
        flow = start(two_layers, {"a": jnp.asarray(0.3), "b": jnp.asarray(0.01)}, 1.0)
        once = jax.jit(functools.partial(attempt, two_layers, inputs=1.0, stages=6))
        while flow.time < 5:
            flow = once(flow, tolerance=jnp.asarray(tolerance))
        errors.append(abs(float(flow.position["a"]) - exact(float(flow.time))[0]))
    # A second-order method whose steps go as tolerance^(1/3): the whole error goes as its 2/3 power, 21 for 100.
    assert errors[1] < errors[0] / 8
    assert errors[2] < errors[1] / 8
    assert errors[2] < 1e-5


def test_settled_directions_do_not_slow_the_waiting_ones_down(x64):
    # Curvatures 1 and 1000: a classical method of six evaluations needs steps below 0.0034, this one takes 1/45 of its reach.
    curvatures = jnp.array([1.0, 1000.0])
    flow = start(decay, jnp.ones(2), curvatures)
    once = jax.jit(lambda f: attempt(decay, f, curvatures, 1e-3, 6))
    for _ in range(400):
        flow = once(flow)
    assert float(flow.curvature) == pytest.approx(1000, rel=0.01)
    assert float(flow.step_size) <= reach(6) / 1000
    assert float(flow.time) > 400 * 3.3 / 1000
    assert float(flow.position[0]) == pytest.approx(np.exp(-float(flow.time)), rel=0.02)
    assert abs(float(flow.position[1])) < 1e-6


def test_a_step_that_is_too_long_is_refused_and_changes_only_the_step():
    flow = start(decay, jnp.ones(3), 1.0)
    flow = flow._replace(step_size=jnp.asarray(500.0))
    refused = attempt(decay, flow, 1.0, 1e-3, 6)
    assert float(refused.time) == 0
    assert int(refused.attempts) == 1
    assert int(refused.accepted) == 0
    np.testing.assert_array_equal(refused.position, flow.position)
    assert 0 < float(refused.step_size) < 500


@pytest.mark.slow
def test_of_several_numbers_of_stages_the_fewest_that_are_stable_are_taken(x64):
    flow = start(decay, jnp.ones(1), 1.0)
    for length, few in ((reach(3) / 1.3, 3), (reach(3), 5), (reach(5), 8), (reach(8) / 1.2, 8)):
        flow = flow._replace(step_size=jnp.asarray(length), curvature=jnp.asarray(1.0))
        free, fixed = (attempt(decay, flow, 1.0, 1e12, stages) for stages in ((3, 5, 8), few))
        for leaf, other in zip(jax.tree.leaves(free), jax.tree.leaves(fixed), strict=True):
            # The next step may be as long as the most stages allow.
            assert np.allclose(leaf, other, rtol=1e-13) or leaf is free.step_size
        assert free.step_size >= fixed.step_size
