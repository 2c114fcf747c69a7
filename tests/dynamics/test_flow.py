import jax
import jax.numpy as jnp
import numpy as np
import pytest

from foretrain.dynamics.adaptive import fixed_step


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
