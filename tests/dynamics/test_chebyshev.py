from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from foretrain.dynamics import chebyshev

RATES = np.array([0.1, 1.0, 3.0])


def decay(position, inputs):
    return -inputs * position


def logistic(position, inputs):
    return position * (1 - position)


def jitted(velocity, tolerance, stages):
    return jax.jit(
        lambda flow, inputs: chebyshev.adaptive_step(velocity, flow, inputs, tolerance, stages)
    )


@pytest.mark.usefixtures("x64")
@pytest.mark.parametrize("stages", [2, 5, 16])
def test_the_error_of_a_nonlinear_flow_falls_as_the_square_of_the_step(stages):
    exact = 1 / (1 + 9 * np.exp(-2.0))
    trial = jax.jit(partial(chebyshev.trial, logistic, inputs=None, stages=stages))
    errors = []
    for steps in (20, 40, 80):
        y = jnp.array(0.1)
        for _ in range(steps):
            y, _, _ = trial(position=y, slope=logistic(y, None), step_size=jnp.array(2 / steps))
        errors.append(abs(float(y) - exact))
    slopes = np.log2(np.array(errors[:-1]) / errors[1:])
    # Order 2 up to the next term of the expansion, a few percent of it at these steps.
    np.testing.assert_allclose(slopes, 2, atol=0.15)


@pytest.mark.usefixtures("x64")
@pytest.mark.parametrize("stages", [3, 10, 20])
def test_stable_up_to_its_length_and_not_far_beyond(stages):
    one = jnp.array(1.0)
    growth = jax.vmap(lambda z: jnp.abs(chebyshev.trial(decay, one, -z, z, one, stages)[0]))
    fractions = np.linspace(0.01, 1.3, 500)
    factors = np.asarray(growth(fractions * chebyshev.stability_length(stages)))
    assert factors[fractions < 1].max() <= 1
    # The length is the leading term in the number of stages; the next is of relative size 1 / stages^2.
    assert factors[fractions > 1 + 2 / stages**2].min() > 1


@pytest.mark.usefixtures("x64")
@pytest.mark.parametrize("tolerance", [1e-3, 1e-6])
def test_adaptive_steps_follow_exponentials_within_their_tolerance(tolerance):
    rates, step = jnp.array(RATES), jitted(decay, tolerance, 8)
    flow, tried = chebyshev.start(decay, jnp.ones(3), rates), 0
    while flow.time < 1:
        flow, tried = step(flow, rates), tried + 1
    exact = np.exp(-RATES * float(flow.time))
    # Local errors are below the tolerance, and along a decay they add up to no more than their sum.
    assert np.linalg.norm(flow.position - exact) < tried * tolerance * np.sqrt(3)


@pytest.mark.usefixtures("x64")
def test_stiff_decay_takes_steps_far_beyond_those_of_euler():
    rates, step = jnp.array([1.0, 1e4]), jitted(decay, 1e-3, 20)
    flow, evaluations = chebyshev.start(decay, jnp.ones(2), rates), 1
    while flow.time < 3 and evaluations < 10**5:
        flow, evaluations = step(flow, rates), evaluations + 20
    assert float(flow.position[0]) == pytest.approx(np.exp(-float(flow.time)), rel=0.02)
    # Euler needs 15,000 steps of at most 2 / 1e4; 20 stages go 6.5 times as far per evaluation, refused steps aside.
    assert evaluations < 15_000 / 2


@pytest.mark.usefixtures("x64")
def test_a_step_that_is_too_long_is_refused_and_shortened():
    flow = chebyshev.start(decay, jnp.ones(3), jnp.array(RATES))._replace(step_size=jnp.array(1e6))
    later = chebyshev.adaptive_step(decay, flow, jnp.array(RATES), 1e-6, 4)
    np.testing.assert_array_equal(later.position, flow.position)
    assert later.time == 0
    assert later.step_size == pytest.approx(5e5)
