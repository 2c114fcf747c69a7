from functools import cache

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from made_up import check, grid, predictions, times

import foretrain
from foretrain.dynamics import spectral as steps
from foretrain.streams import Seed
from foretrain.studies.muon_race import study
from foretrain.studies.muon_race.study import strengths
from foretrain.theory.pathways import spectral as theory

SEEDS = 20
AXES = {"depth": (2, 3), "init_scale": (0.0001, 0.01, 0.1)}
P = study.Parameters(singular_value=6.0)
STEP = np.arange(0, 3000, 300)


def descend(layers, target, rate, number, polar=True):
    """Return products of every path after each step of spectral descent (or descent) from layers (path, L, n, n)."""
    seen = []
    for _ in range(number):
        before = [[np.eye(len(target))] for _ in layers]
        for path, carried in zip(layers, before, strict=True):
            for layer in path:
                carried.append(layer @ carried[-1])
        seen.append([carried[-1] for carried in before])
        error, change = target - sum(seen[-1]), np.zeros_like(layers)
        for m, path in enumerate(layers):
            after = np.eye(len(target))
            for place in reversed(range(len(path))):
                slope = after.T @ error @ before[m][place].T
                left, values, right = np.linalg.svd(slope)
                change[m, place] = (left * (values > 1e-9 * values[0])) @ right if polar else slope
                after = after @ path[place]
        layers = layers + rate * change
    return np.array(seen), layers


@pytest.mark.parametrize(("depth", "paths"), [(2, 1), (3, 2), (4, 3)])
def test_aligned_layers_learn_to_the_step_as_told_and_stay_within_one(depth, paths):
    modes, rate, start = np.array([3.0, 1.0, 0.4]), 0.004, 0.02
    layers = np.broadcast_to(start * np.eye(3), (paths, depth, 3, 3))
    seen = np.diagonal(descend(layers, np.diag(modes), rate, 600)[0].sum(1), axis1=1, axis2=2)
    message = theory.learning_time(modes, 0.9, paths, depth) - start
    assert np.abs((seen >= 0.9 * modes).argmax(0) * rate - message).max() <= rate * (1 + 1e-9)
    assert (np.diff(message) < 0).all()
    room = paths * ((modes / paths) ** (1 / depth) + rate) ** depth - modes
    assert (abs(seen[-60:] - modes).max(0) <= room).all()
    np.testing.assert_allclose(theory.strength(message, modes, paths, depth).min(1) > 0, True)


def test_sums_of_singular_values_stay_apart_and_squares_do_not():
    turn = np.linalg.qr(np.random.default_rng(0).standard_normal((3, 3)))[0]
    layers = np.array([[0.5 * turn, 0.1 * turn.T]])
    last = descend(layers, np.diag([4.0, 2.0, 1.0]), 0.01, 100)[1][0]
    values = np.linalg.svd(last)[1]
    np.testing.assert_allclose(values[0] - values[1], 0.4, atol=1e-9)
    assert (values[0] ** 2 - values[1] ** 2 > 1.5 * (0.5**2 - 0.1**2)).all()
    slow = descend(layers, np.diag([4.0, 2.0, 1.0]), 1e-4, 9999, polar=False)[1][0]
    kept = np.linalg.svd(slow)[1]
    np.testing.assert_allclose((kept[0] ** 2 - kept[1] ** 2).sum(), 3 * 0.24, rtol=1e-3)


@pytest.mark.parametrize(("depth", "lost"), [(2, True), (3, False)])
def test_a_negative_start_far_below_a_step_costs_two_layers_a_direction_and_three_none(depth, lost):
    for seed in range(6):
        random = np.random.default_rng(seed)
        start = 1e-6 * random.standard_normal((1, depth, 4, 4))
        products = descend(start, np.diag([4.0, 2.0, 1.0, 0.5]), 0.01, 25)[0][-1]
        smallest = np.linalg.svd(products[0])[1][-1] / 0.24**depth
        assert (smallest < 0.5) == (lost and bool(theory.negative(start)[0]))


def test_polar_factors_are_those_of_a_decomposition_and_muons_steps_those_of_optax():
    random = np.random.default_rng(1)
    left, right = np.linalg.qr(random.standard_normal((2, 5, 5)))[0]
    values = np.array([1.0, 0.3, 0.01, 1e-4, 1e-6])
    with jax.enable_x64(True):
        close = steps.polar(jnp.array((left * values) @ right))
        assert not steps.polar(jnp.zeros((2, 3, 3))).any()
    np.testing.assert_allclose(close, left @ right, atol=1e-10)
    x = np.geomspace(0.01, 1, 5000)
    for _ in range(steps.ITERATIONS):
        x = np.sum([c * x ** (2 * n + 1) for n, c in enumerate(steps.COEFFICIENTS)], 0)
    assert 0.68 < x.min() < x.max() < 1.14
    rule = optax.contrib.muon(1.0, beta=steps.MOMENTUM)
    with jax.enable_x64(True):
        memory = weights = direction = change = jnp.zeros((5, 5))
        state, update, muon = rule.init(weights), jax.jit(rule.update), jax.jit(steps.muon)
        # Optax corrects the bias of early steps.
        for slope in jnp.array(random.standard_normal((400, 5, 5))):
            change, state = update(slope, state, weights)
            direction, memory = muon(-slope, memory)
    np.testing.assert_allclose(direction, change, atol=1e-6)


@cache
def laws():
    return predictions(study, P, AXES, SEEDS, STEP)


def build():
    """Runs that do as the theory says, each at a pace of its own; under descent the last path takes all."""
    law = laws()
    distance = 1 + 1e-3 * np.random.default_rng(0).uniform(-1, 1, (SEEDS, 1))
    arrival, even = distance * law["arrival"], np.tile(strengths(P) / P.paths, (P.paths, 1))
    common = {"carried": law["carried"], "loss": distance * np.ones(len(STEP)), "path_part": even}
    own = {"arrival": arrival, "smallest_direction": np.where(law["negative"], 0, 1.0)}
    leader = even * np.array([0.15, 0.15, 2.7])[:, None]
    networks = {
        "": common | own,
        "muon": common | {"arrival": 1.2 * arrival},
        "descent": common | {"arrival": 10 - arrival, "path_part": leader},
        "theory": law,
    }
    return grid(P, AXES, SEEDS, networks, step=STEP)


def test_every_sentence_can_hold_and_fail():
    backwards, alone = times(np.array([1, 2, 4, 8.0]) ** 3), times(np.array([1.0, 0, 0])[:, None])
    spoilt = {
        "order": ("arrival", backwards),
        "times": ("arrival", times(1.05)),
        "equal-paths": ("path_part", alone),
        "lost-direction": ("smallest_direction", times(0)),
        "muon": ("muon/arrival", backwards),
        "muon-times": [("muon/arrival", times(factor)) for factor in (0.6, 1.5)],
        "muon-equal": ("muon/path_part", alone),
        "descent-race": ("descent/path_part", times(np.array([[18], [18], [1]]))),
    }
    check("muon-race", build, spoilt)


def test_a_run_learns_smaller_modes_first_and_descent_larger_ones(tmp_path):
    size = {"depth": 2, "paths": 2, "init_scale": 0.01, "learning_rate": 0.002, "steps": 1500}
    result = foretrain.run("muon-race", **size, seeds=3, out=tmp_path / "a", quiet=True, workers=0)
    runs, message = result.simulation, result.theory["arrival"]
    assert abs(runs["arrival"] / message - 1).max() < 0.3
    assert (runs["arrival"].diff("mode") < 0).all()
    assert (result.variant("descent")["arrival"].mean("seed").diff("mode") > 0).all()
    p = study.Parameters(**size)
    weights = study.inputs(p, Seed(0, 1))["weights"]
    seen = descend(weights, np.diag(strengths(p)), p.learning_rate, 60)[0].sum(1)
    at = runs["carried"].sel(seed=1, step=[0, 20, 40]).values
    np.testing.assert_allclose(at, np.diagonal(seen[[0, 20, 40]], axis1=1, axis2=2), atol=1e-9)
