import numpy as np
import pytest

from foretrain.plans.plan import make_plan
from foretrain.plans.study import traced
from foretrain.streams import Seed
from foretrain.studies.pathway_race import study, training
from foretrain.theory.pathways.race import race_factors
from foretrain.theory.pathways.race_schemes import (
    decoupled_scheme,
    half_time,
    random_scheme,
)
from foretrain.training.routing import items_task


@pytest.mark.parametrize("paths", [1, 4, 36])
def test_handicap_is_half_of_the_tie_of_both_poles(paths):
    parameters = study.Parameters(paths=paths)
    modules = random_scheme(0.2, race_factors(12, paths))
    handicap = study.duel_scales(parameters)["handicapped"]
    full = random_scheme(0.2 * 2 * handicap, race_factors(12, 144))
    assert full.pole == pytest.approx(modules.pole, rel=1e-12)


def test_curvature_is_the_rate_at_which_the_last_error_decays():
    from foretrain.theory.pathways.race import descent

    parameters = study.Parameters(paths=9, learning_rate=0.01)
    data, factors = items_task(parameters.level_weights), study.part_factors(parameters)
    s, d = data.singular_values[:1], data.variances[:1]
    # At B2 = sqrt(r) B1, just below the end point.
    outer = (0.999 * s / d / np.sqrt(factors[0].ratio)) ** (1 / 3)
    step = training.descent_step(parameters)
    b1, b2 = descent((outer[None], np.sqrt(factors[0].ratio) * outer[None]), step, 1, s, d, factors)
    error = s / d - (b2 * b1**2)[:, 0]
    # The error is a thousandth of the strength: so are the terms left out.
    assert 1 - error[1] / error[0] == pytest.approx(0.01, rel=5e-3)


def test_adaptive_steps_follow_the_flow(x64):
    import jax
    import jax.numpy as jnp

    parameters = study.Parameters(
        domains=2,
        paths=4,
        hidden_width=8,
        init_law="decoupled",
        precision="float64",
        step_fraction=0.01,
    )
    program = training.program(parameters)
    fed = {**traced(parameters), **training.inputs(parameters, Seed(0, 0))}
    fed = {name: jnp.asarray(value) for name, value in fed.items()}
    state, times, strengths = program.init(fed), [0.0], [0.2**3]
    step, observe = jax.jit(program.step), jax.jit(program.observe)
    for _ in range(600):
        state = step(fed, state)
        times.append(float(state[1]))
        strengths.append(float(observe(fed, state)["part_strength"][0, 0]))
    data = items_task(parameters.level_weights)
    s, d = data.singular_values[0], data.variances[0]
    measured = np.interp(s / d / 2, strengths, times)
    expected = half_time([decoupled_scheme((0.2, 0.2), race_factors(2, 4))], s, d)
    # Euler's delay is half of the growth in a step, here a hundredth at most.
    assert measured == pytest.approx(expected, rel=0.01)


def test_every_number_of_domains_has_modules_that_fit():
    assert make_plan("pathway-race", {"domains": 10}).axes == {"paths": (1, 4, 25, 100)}
    assert make_plan("pathway-race", {"domains": 7}).axes == {"paths": (1, 49)}
