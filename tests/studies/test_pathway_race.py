import numpy as np
import pytest

import foretrain
from foretrain.errors import ArgumentError
from foretrain.plans.plan import make_plan
from foretrain.plans.study import traced
from foretrain.results.summary import read_summary
from foretrain.streams import Seed
from foretrain.studies.pathway_race import study, training
from foretrain.theory.race import race_factors
from foretrain.theory.race_schemes import (
    RANDOM_POLE,
    decoupled_scheme,
    effective_start,
    half_time,
    random_scheme,
)
from foretrain.training.routing import items_task


def test_effective_start_is_the_inverse_of_the_half_learning_time():
    factors = race_factors(12, 9)
    time = half_time([decoupled_scheme((0.13, 0.13), factors)], 3.4, 0.25)
    assert effective_start(time, 3.4, 0.25, factors) == pytest.approx(0.13, rel=1e-5)
    assert np.isnan(effective_start(np.nan, 3.4, 0.25, factors))


@pytest.mark.parametrize("paths", [1, 16, 144])
def test_small_random_weights_have_the_effective_overlap_of_the_page(paths):
    factors, scale = race_factors(12, paths), 1e-4
    time = half_time([random_scheme(scale, factors)], 3.4, 0.25)
    start = effective_start(time, 3.4, 0.25, factors)
    # Where the poles of both starts are the same; both end there up to terms of order sigma.
    overlap = decoupled_scheme((1.0, 1.0), factors).pole * factors.outer / RANDOM_POLE
    assert start / scale == pytest.approx(overlap, rel=1e-3)


@pytest.mark.parametrize("paths", [1, 4, 36])
def test_handicap_is_half_of_the_tie_of_both_poles(paths):
    parameters = study.Parameters(paths=paths)
    modules = random_scheme(0.2, race_factors(12, paths))
    full = random_scheme(0.2 * 2 * study.handicap(parameters), race_factors(12, 144))
    assert full.pole == pytest.approx(modules.pole, rel=1e-12)


def test_curvature_is_the_rate_at_which_the_last_error_decays():
    from foretrain.theory.race import descent

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


def _run(folder, **values):
    result = foretrain.run(
        "pathway-race",
        hidden_width=32,
        loss_tolerance=0.05,
        step_fraction=0.05,
        out=folder,
        workers=0,
        quiet=True,
        **values,
    )
    assert not read_summary(result.path).problems
    return {claim.label: claim for claim in result.claims}


@pytest.mark.slow
def test_modules_in_one_network_with_full_sharing_lose_or_win_as_predicted(tmp_path):
    claims = _run(tmp_path / "run", domains=4, paths=1, seeds=2)
    assert claims["decoupled"].verdict == "holds"
    # Wide layers are asked for; at 32 units the overlaps vary by a sixth.
    assert claims["half-time"].measured == pytest.approx(claims["half-time"].predicted, rel=0.3)
    assert claims["full-sharing-wins"].measured > 0.9
    assert claims["head-start"].measured < 0.1
    assert "sharing-faster" not in claims
    for name in ("strengths", "mixed"):
        assert (tmp_path / "run" / "figures" / f"{name}.svg").exists()


@pytest.mark.slow
def test_grid_of_sharing_is_judged_as_a_whole(tmp_path):
    claims = _run(tmp_path / "run", domains=4, paths=(1, 16), seeds=3)
    for paths in (1, 16):
        assert claims[f"decoupled[paths={paths}]"].verdict == "holds"
    assert claims["sharing-faster"].verdict == "holds"
    # From equal starts full sharing would be faster by more than it is from random ones.
    assert claims["speed-up.corrected"].predicted < claims["speed-up"].predicted
    assert "full-sharing-wins[paths=16]" not in claims
    assert (tmp_path / "run" / "figures" / "half-times.svg").exists()


def test_every_number_of_domains_has_modules_that_fit():
    assert make_plan("pathway-race", {"domains": 10}).axes == {"paths": (1, 4, 25, 100)}
    assert make_plan("pathway-race", {"domains": 7}).axes == {"paths": (1, 49)}
    assert make_plan("pathway-race", {}).axes == {"paths": (1, 4, 9, 16, 36, 144)}
    plan = make_plan("pathway-race", {}, preset="paper")
    assert (plan.parameters.domains, plan.axes) == (10, {"paths": (1, 4, 25, 100)})


def test_refuses_modules_that_do_not_fit():
    with pytest.raises(
        ArgumentError, match=r"`paths` must be the square of a divisor of `domains` = 12"
    ):
        foretrain.run("pathway-race", paths=25)
