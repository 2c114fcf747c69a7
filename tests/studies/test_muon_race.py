from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from made_up import check, grid

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
    told = theory.learning_time(start, modes, 0.9, paths, depth)
    assert np.abs((seen >= 0.9 * modes).argmax(0) * rate - told).max() <= rate * (1 + 1e-9)
    assert (np.diff(told) < 0).all()
    room = paths * ((modes / paths) ** (1 / depth) + rate) ** depth - modes
    assert (abs(seen[-60:] - modes).max(0) <= room).all()
    np.testing.assert_allclose(theory.strength(told, modes, paths, depth).min(1) > 0, True)


def test_sums_of_singular_values_stay_apart_and_squares_do_not():
    turn = np.linalg.qr(np.random.default_rng(0).standard_normal((3, 3)))[0]
    layers = np.array([[0.5 * turn, 0.1 * turn.T]])
    last = descend(layers, np.diag([4.0, 2.0, 1.0]), 0.01, 100)[1][0]
    values = np.linalg.svd(last)[1]
    np.testing.assert_allclose(values[0] - values[1], 0.4, atol=1e-9)
    assert (values[0] ** 2 - values[1] ** 2 > 1.5 * (0.5**2 - 0.1**2)).all()
    kept = np.linalg.svd(descend(layers, np.diag([4.0, 2.0, 1.0]), 1e-4, 9999, polar=False)[1][0])[
        1
    ]
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
        for slope in jnp.array(
            random.standard_normal((400, 5, 5))
        ):  # Optax corrects the bias of early steps
            change, state = update(slope, state, weights)
            direction, memory = muon(-slope, memory)
    np.testing.assert_allclose(direction, change, atol=1e-6)


def build(paths=3, wrong="", by=1.0):
    """Runs that do as the theory says, but for one variable times a factor."""
    p, cells = replace(P, paths=paths), []
    signs = np.arange(SEEDS * paths).reshape(SEEDS, paths) % 2 == 0
    for depth in AXES["depth"]:
        q = replace(p, depth=depth)
        told = study.predict(q, STEP, Seed(0, 0)) | {"negative": signs}
        cells.append([told for _ in AXES["init_scale"]])
    shape = (*map(len, AXES.values()), SEEDS)

    def of(name, own):
        return np.broadcast_to(
            [[np.broadcast_to(told[name], (SEEDS, *own)) for told in row] for row in cells],
            (*shape, *own),
        )

    n = p.width
    apart = 1 + 1e-3 * np.random.default_rng(0).uniform(-1, 1, (SEEDS, 1))
    arrival, carried = apart * of("arrival", (n,)), of("carried", (len(STEP), n))
    negative = of("negative", (paths,))
    even = np.broadcast_to(strengths(p) / paths, (*shape, paths, n))
    leader = even * np.where(np.arange(paths) == paths - 1, 2.7, 0.15)[:, None]
    common = {"carried": carried, "loss": apart * np.ones(len(STEP))}
    networks = {
        "": common
        | {
            "arrival": arrival,
            "path_part": even,
            "smallest_direction": np.where(negative, 0, 1.0),
        },
        "muon": common | {"arrival": 1.2 * arrival, "path_part": even},
        "descent": common | {"arrival": 10 - arrival, "path_part": leader},
        "theory": {"arrival": of("arrival", (n,)), "carried": carried, "negative": negative},
    }
    changes = {wrong: lambda values: by * values} if wrong else {}
    return grid(p, AXES, SEEDS, networks, changes, step=STEP)


def test_every_sentence_can_hold_and_fail():
    backwards, one = np.array([1, 2, 4, 8.0]) ** 3, np.array([1.0, 0, 0])[:, None]
    spoilt = {
        "order": {"wrong": "arrival", "by": backwards},
        "times": {"wrong": "arrival", "by": 1.05},
        "equal-paths": {"wrong": "path_part", "by": one},
        "lost-direction": {"wrong": "smallest_direction", "by": 0},
        "muon": {"wrong": "muon/arrival", "by": backwards},
        "muon-times": [{"wrong": "muon/arrival", "by": by} for by in (0.6, 1.5)],
        "muon-equal": {"wrong": "muon/path_part", "by": one},
        "descent-race": {"wrong": "descent/path_part", "by": np.array([[18], [18], [1]])},
    }
    check("muon-race", build, spoilt)


def test_a_run_learns_smaller_modes_first_and_descent_larger_ones(tmp_path):
    size = {"depth": 2, "paths": 2, "init_scale": 0.01, "learning_rate": 0.002, "steps": 1500}
    result = foretrain.run("muon-race", **size, seeds=3, out=tmp_path / "a", quiet=True, workers=0)
    runs, told = result.simulation, result.theory["arrival"]
    assert abs(runs["arrival"] / told - 1).max() < 0.3
    assert (runs["arrival"].diff("mode") < 0).all()
    assert (result.variant("descent")["arrival"].mean("seed").diff("mode") > 0).all()
    p = study.Parameters(**size)
    weights = study.inputs(p, Seed(0, 1))["weights"]
    seen = descend(weights, np.diag(strengths(p)), p.learning_rate, 60)[0].sum(1)
    at = runs["carried"].sel(seed=1, step=[0, 20, 40]).values
    np.testing.assert_allclose(at, np.diagonal(seen[[0, 20, 40]], axis1=1, axis2=2), atol=1e-9)
