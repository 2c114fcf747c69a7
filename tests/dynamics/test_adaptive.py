import jax
import jax.numpy as jnp
import numpy as np
import pytest

from foretrain.dynamics.adaptive import Clock, attempt, fixed_step


def go(velocity, position, inputs, attempts, *, size=1e-2, relative=1e-8, absolute=1e-12):
    def step(state, _):
        state = attempt(velocity, state[0], inputs, state[1], relative=relative, absolute=absolute)
        return state, state

    start = (position, Clock(jnp.zeros(()), jnp.array(size)))
    return jax.jit(lambda s: jax.lax.scan(step, s, None, length=attempts))(start)


def blow_up(position, _):
    """a' = a^2: a = 1/(1/a_0 - t)."""
    return position**2


def test_the_path_is_the_closed_form_over_many_decades_of_time(x64):
    _, (path, clock) = go(blow_up, jnp.array(1e-8), None, 300, size=1.0, absolute=1e-20)
    time, path = np.array(clock.time), np.array(path)
    # Far enough that a has grown by eight decades, after a time of 1e8.
    seen = path < 1
    assert path[seen].max() > 0.1
    assert time[seen].max() > 0.999e8
    # Errors grow like a/a_0 relative to those of time; compared in 1/a, where they add up: one per step of 1e-8.
    assert (np.abs(1 / path[seen] - (1e8 - time[seen])) / 1e8).max() < 1e-8 * seen.sum()


def test_rescaling_time_rescales_every_step_exactly(x64):
    # Powers of two change no digit.
    _, (item, fast) = go(lambda a, rate: rate * a, jnp.array(1.0), 1.0, 40, size=2.0**-6)
    _, (other, slow) = go(lambda a, rate: rate * a, jnp.array(1.0), 2.0**-20, 40, size=2.0**14)
    np.testing.assert_array_equal(item, other)
    np.testing.assert_array_equal(np.array(fast.time) * 2.0**20, slow.time)


@pytest.mark.parametrize("size", [10.0, 1e200])
def test_a_step_that_is_too_long_is_refused_and_shortened(x64, size):
    (position, clock), _ = go(blow_up, jnp.array(1.0), None, 1, size=size)
    assert float(position) == 1.0
    assert float(clock.time) == 0.0
    assert float(clock.step_size) == pytest.approx(size / 5)


def test_the_fixed_step_is_of_fifth_order(x64):
    # The harmonic oscillator over time 10, far above rounding; the order is approached from above.
    counts = np.array([64, 128, 256, 512])
    turn = lambda x, _: jnp.array([x[1], -x[0]])  # noqa: E731
    step = jax.jit(lambda x, size: fixed_step(turn, x, None, size))
    errors = []
    for count in counts:
        position = jnp.array([1.0, 0.0])
        for _ in range(count):
            position = step(position, 10.0 / count)
        errors.append(np.abs(np.array(position) - [np.cos(10), -np.sin(10)]).max())
    assert np.polyfit(np.log(10.0 / counts), np.log(errors), 1)[0] == pytest.approx(5, abs=0.3)
