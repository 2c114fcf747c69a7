import jax
import jax.numpy as jnp
import numpy as np
import pytest

from foretrain.dynamics.flow import AdaptiveFlow, fixed_step
from foretrain.theory.deep_linear import mode_strength


def logistic(position, inputs):
    """The closed form of a mode: a' = 2 a (s - a)."""
    return 2 * position * (inputs - position)


def on_grid(flow, position, inputs, spacing, points, first_size=0.01):
    def go(state, _):
        state = flow.to_next_point(state, inputs, spacing)
        return state, (state.position, state.attempts)

    start = flow.start(position, inputs, first_size)
    last, (positions, attempts) = jax.jit(lambda s: jax.lax.scan(go, s, None, length=points))(start)
    return last, np.array(positions), np.array(attempts)


def test_the_fixed_step_is_of_fifth_order(x64):
    # The harmonic oscillator over time 10, far above rounding. The leading error coefficient of the method is small by
    # design, so that the order is approached from above.
    counts = np.array([64, 128, 256, 512])
    turn = lambda x, _: jnp.array([x[1], -x[0]])  # noqa: E731
    step = jax.jit(lambda x, size: fixed_step(turn, x, None, size))
    errors = []
    for count in counts:
        position = jnp.array([1.0, 0.0])
        for _ in range(count):
            position = step(position, 10.0 / count)
        errors.append(np.abs(np.array(position) - [np.cos(10), -np.sin(10)]).max())
    slope = np.polyfit(np.log(10.0 / counts), np.log(errors), 1)[0]
    assert slope == pytest.approx(5, abs=0.3)


@pytest.mark.parametrize("tolerance", [1e-5, 1e-7, 1e-9])
def test_the_adaptive_flow_follows_the_closed_form_within_its_tolerance(x64, tolerance):
    flow = AdaptiveFlow(logistic, tolerance, tolerance)
    _, positions, _ = on_grid(flow, jnp.array(1e-3), 1.0, 0.1, 80)
    exact = mode_strength(0.1 * np.arange(1, 81), np.array([1.0]), 1e-3)[:, 0]
    # The flow amplifies an early error by the growth of the mode, 1/a_0 = 1e3 at most; the solver's interpolant is of
    # order 4 and adds a few tolerances.
    assert np.abs(positions - exact).max() < 1e3 * tolerance


def test_the_grid_does_not_change_the_steps_of_the_solver(x64):
    flow = AdaptiveFlow(logistic, 1e-6, 1e-9)
    coarse, there, few = on_grid(flow, jnp.array(0.01), 1.0, 1.0, 5)
    fine, here, many = on_grid(flow, jnp.array(0.01), 1.0, 0.05, 100)
    assert few[-1] == many[-1]
    # Times relative to the last grid point are sums in different order: rounding only.
    np.testing.assert_allclose(coarse.right, fine.right, atol=1e-12)
    np.testing.assert_allclose(there, here[19::20], rtol=1e-11)


def test_a_long_flow_keeps_its_clock_in_single_precision():
    # The harmonic oscillator: its phase is time. After 2000 periods of 1 the sum of float32 steps would have lost
    # 2000 * 6e-8 = 1e-4 per step; the clock relative to the grid loses 6e-8 per point.
    def turn(position, inputs):
        return inputs * jnp.array([-position[1], position[0]])

    flow = AdaptiveFlow(turn, 1e-6, 1e-6)
    start = jnp.array([1.0, 0.0], jnp.float32)
    last, _, _ = on_grid(flow, start, jnp.float32(1e-4), 1.0, 2000, 0.5)
    assert last.position.dtype == jnp.float32
    assert int(last.point) == 2000
    angle = float(jnp.arctan2(last.position[1], last.position[0]))
    assert angle == pytest.approx(0.2, abs=1e-5)


def test_lanes_do_not_disturb_each_other(x64):
    flow = AdaptiveFlow(logistic, 1e-6, 1e-9)
    starts, rates = jnp.array([0.01, 0.3, jnp.nan, 2.0]), jnp.array([1.0, 50.0, 1.0, 0.3])

    def final(start, rate):
        state = flow.start(start, rate, 0.01)
        go = lambda _, held: flow.to_next_point(held, rate, 0.5)  # noqa: E731
        return jax.lax.fori_loop(0, 3, go, state).position

    together = jax.jit(jax.vmap(final))(starts, rates)
    changed = jax.jit(jax.vmap(final))(starts.at[1].set(jnp.nan), rates)
    assert np.isnan(together[2])
    np.testing.assert_array_equal(np.delete(together, [1, 2]), np.delete(changed, [1, 2]))


def test_a_flow_that_blows_up_ends_as_nan_and_ends(x64):
    flow = AdaptiveFlow(lambda x, _: x**2, 1e-6, 1e-9)
    # x' = x^2 from 1 is infinite at time 1.
    _, positions, attempts = on_grid(flow, jnp.array(1.0), 0.0, 0.4, 4)
    assert positions[0] == pytest.approx(1 / 0.6, rel=1e-5)
    assert np.isnan(positions[2])
    assert attempts[-1] < 5000
