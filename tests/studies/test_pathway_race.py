"""Every sentence of the pathway race holds on races as the closed forms have them, and fails where it should."""

import dataclasses

import numpy as np
import pytest
from made_up import check, grid, runs

from foretrain.plans.grid import Grid
from foretrain.plans.parameters import traced
from foretrain.streams import Seed
from foretrain.studies.pathway_race import study, theory, training
from foretrain.theory.pathways.race import race_factors
from foretrain.theory.pathways.race_schemes import (
    decoupled_scheme,
    final_gains,
    half_time,
    random_scheme,
)
from foretrain.training.routing import items_task

P = study.Parameters(domains=4, paths=1)
PATHS, SEEDS, STEP = (1, 4, 16), 5, np.arange(0, 50, 10)
CELLS = [dataclasses.replace(P, paths=paths) for paths in PATHS]
THEORY = [theory.predict(p, STEP) for p in CELLS]
HAIR = 1 + 1e-3 * np.arange(SEEDS)
DATA = items_task(P.level_weights)
OPTIMUM = DATA.singular_values / DATA.variances


def foretold(name):
    return np.array([item[name] for item in THEORY])


def decoupled_runs(scale=1.0, loser=1.0, start=1.0):
    """Strengths of the reduction at the stored steps, shape (paths, 1, step, part, mode)."""
    result = []
    for p in CELLS:
        overrides = {k: v for k, v in study.variants(p)["decoupled"].items() if k != "seeds"}
        p = dataclasses.replace(p, **overrides)
        p = dataclasses.replace(p, init_scale=start * p.init_scale)
        result.append(theory.decoupled_run(p)[STEP] * [[1.0], [loser]])
    return scale * np.array(result)[:, None]


def strengths(share, factor=1.0):
    """Both parts, learned at the end, the fully shared one with this share: (paths, seed, step, part, mode)."""
    share = np.broadcast_to(np.asarray(share)[:, None], (3, SEEDS, 4)) * HAIR[:, None]
    share = np.where(share > 0.5, 1 - factor * (1 - share / HAIR[:, None]) * HAIR[:, None], share)
    share = np.where(share < 0.5, factor * share, share)
    both = np.stack([1 - share, share], -2) * OPTIMUM
    return np.linspace(0, 1, STEP.size)[:, None, None] * both[:, :, None]


def build(**changes) -> Grid:
    """Races as predicted; `changes` are what is measured in units of that, by name."""
    put = {"half": 1.0, "own": 1.0, "ratio": 1.0, "shared_ratio": 1.0, "decoupled": {}, **changes}
    loss = np.linspace(1, 1e-3, STEP.size) * HAIR[:, None]
    elapsed = np.linspace(0, 500, STEP.size)

    def network(strength, ratio=1.0, shared=False, seeds=SEEDS):
        own = [dataclasses.replace(p, shared_encoders=shared) for p in CELLS]
        limit = np.array([study.part_factors(p)[0].ratio ** 0.5 for p in own])
        parts = strength.shape[-2]
        names, near = (
            ["modules", "full sharing"][:parts],
            1 + 1e-5 * np.arange(seeds)[:, None, None],
        )
        variables = {
            "loss": loss[:seeds],
            "elapsed": elapsed + 0 * loss[:seeds],
            "part_strength": strength,
            "weight_ratio": ratio * limit[:, None, None, None] * near * np.ones((parts, 4)),
        }
        return runs({"paths": PATHS}, seeds, variables, step=STEP, labels={"part": ("part", names)})

    alone = strengths(np.zeros((3, 4)))[..., :1, :]
    mixed, handicapped = (
        put.get(name, foretold(name)) for name in ("full_sharing_share", "handicapped_share")
    )
    networks = {
        "": network(alone, put["ratio"]),
        "decoupled": network(decoupled_runs(**put["decoupled"]), seeds=1),
        "shared-encoders": network(alone, put["shared_ratio"], True),
        "mixed": network(strengths(mixed, put.get("loser_mixed", 1.0))),
        "handicapped": network(strengths(handicapped, put.get("loser_handicapped", 1.0))),
    }
    times = foretold("half_learning_time")[:, None] * np.asarray(put["half"]).reshape(-1, 1, 1)
    networks["theory"] = runs(
        {"paths": PATHS}, 0, {name: foretold(name) for name in THEORY[0]}, outcome=None
    )
    networks["fits"] = {
        "measured_half_time": times * HAIR[:, None] ** 0.1,
        "foretold_half_time": put["own"] * foretold("half_learning_time")[:, None] + 0 * times,
        "foretold_share": np.stack(
            [1 - foretold("full_sharing_share"), foretold("handicapped_share")], 1
        )[:, None],
    }
    return grid(P, {"paths": PATHS}, SEEDS, networks, labels={"duel": ("duel", list(study.DUELS))})


def test_every_sentence_can_hold_and_fail():
    equal = foretold("equal_start_half_time")[:, 0] / foretold("half_learning_time")[:, 0]
    spoilt = {
        "sharing-faster": {"half": (1, 3, 10)},
        "speed-up": {},
        "speed-up.corrected": {"half": equal},
        "half-time": [{"half": off} for off in (1 / 1.1, 0.9, 1.1)],
        "half-time-of-start": [{"own": 1 / off} for off in (1.04, 0.9, 1.1)],
        "decoupled": [
            {"decoupled": off} for off in ({"scale": 1 + 1e-9}, {"loser": 1.5}, {"start": 1.1})
        ],
        "ratio": [{"ratio": 1.1}, {"shared_ratio": 0.95}],
        "full-sharing-wins": {"full_sharing_share": np.full((3, 4), 0.8)},
        "head-start": {"handicapped_share": np.full((3, 4), 0.3)},
        "loser": [
            *({"loser_mixed": off} for off in (1.2, 1 / 1.5)),
            *({"loser_handicapped": off} for off in (1.5, 1 / 1.5)),
        ],
    }
    check("pathway-race", build, spoilt, {"speed-up": {"half": equal}})


@pytest.mark.slow
def test_a_cell_is_followed_from_its_own_starts():
    """Times by a start of its own lie around those of the closed form, those of a start a tenth larger below them."""
    small = dataclasses.replace(P, domains=2, paths=4, hidden_width=16)
    closed = theory.predict(small, STEP)
    ran = runs({}, 2, {"elapsed": STEP, "part_strength": np.ones((STEP.size, 1, 4))}, step=STEP)
    alone = Grid(small, {}, 2, 0, ran, theory=runs({}, 0, closed, outcome=None))
    fits = theory.fit(alone)
    half = closed["half_learning_time"]
    assert fits["foretold_half_time"] == pytest.approx(np.array([half, half]), rel=0.3)
    assert np.isnan(fits["foretold_share"]).all()  # no duel was trained
    larger = dataclasses.replace(small, init_scale=1.1 * small.init_scale)
    sooner = theory.fit(dataclasses.replace(alone, parameters=larger))
    ratio = sooner["foretold_half_time"][:, 0] / fits["foretold_half_time"][:, 0]
    assert ratio == pytest.approx([1 / 1.1] * 2, rel=0.02)
    shared = dataclasses.replace(small, shared_encoders=True)
    nothing = theory.fit(dataclasses.replace(alone, parameters=shared))
    assert np.isnan(nothing["foretold_half_time"]).all()


def test_the_range_of_a_loser_follows_from_the_step_and_the_closed_form():
    p = dataclasses.replace(P, paths=4, init_scale=1e-3)
    low, high = theory.loser_within(p, 1.0)
    exact = theory.loser_within(dataclasses.replace(p, step_fraction=1e-6), 1.0)
    assert exact == pytest.approx((1, 1), abs=1e-4)
    assert theory.loser_within(p, 0.5)[1] == np.inf  # a tie: both poles at once
    # The winner's pole late by a step is at the upper end of the range.
    s, d, late = DATA.singular_values[0], DATA.variances[0], 1 + p.step_fraction
    own = random_scheme(p.init_scale, race_factors(4, 4))
    shares = [
        final_gains([own, random_scheme(p.init_scale / k, race_factors(4, 16))], s, d)[0]
        for k in (1, late)
    ]
    assert low < 1 < high == pytest.approx(shares[1] / shares[0], rel=1e-3)


def followed(p, steps):
    """Give the observations of one run after every step."""
    import jax

    program, options = training.program(p), {**traced(p), **training.inputs(p, Seed(0, 0))}
    fed = {name: jax.numpy.asarray(value) for name, value in options.items()}
    state, step, observe = program.init(fed), jax.jit(program.step), jax.jit(program.observe)
    for _ in range(steps):
        state = step(fed, state)
        yield observe(fed, state)


@pytest.mark.slow
@pytest.mark.parametrize("swapped", [False, True])
def test_modules_with_the_gates_of_others_leave_the_reduction(monkeypatch, x64, swapped):
    """Descent of a real network from the decoupled start, with its routes as they are and with outputs permuted."""
    import jax
    import jax.numpy as jnp

    from foretrain.networks import modular_routing

    true = modular_routing.outputs

    def permuted(modules, inputs):
        # The last output domain of every group goes to the next group: routes leave their module half way.
        mixed = jax.tree.map(jnp.asarray, modules)
        rolled = mixed.decoders.at[:, :, -1].set(jnp.roll(mixed.decoders[:, :, -1], 1, axis=0))
        return true(mixed._replace(decoders=rolled), inputs)

    if swapped:
        monkeypatch.setattr(modular_routing, "outputs", permuted)
    overrides = {k: v for k, v in study.variants(P)["decoupled"].items() if k != "seeds"}
    p = dataclasses.replace(P, **overrides, paths=4, hidden_width=8, observe_every=1)
    *_, last = followed(p, 20)
    gap = np.abs(last["part_strength"] - theory.decoupled_run(p)[20]).max() / OPTIMUM.max()
    assert (gap > 1e-6) if swapped else (gap < 1e-12)


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
    size = {"domains": 2, "paths": 4, "hidden_width": 8, "precision": "float64"}
    seen = list(followed(study.Parameters(**size, init_law="decoupled", step_fraction=0.01), 600))
    strengths = [0.2**3, *(float(item["part_strength"][0, 0]) for item in seen)]
    s, d = DATA.singular_values[0], DATA.variances[0]
    measured = np.interp(s / d / 2, strengths, [0.0, *(float(item["elapsed"]) for item in seen)])
    expected = half_time([decoupled_scheme((0.2, 0.2), race_factors(2, 4))], s, d)
    # Euler's delay is half of the growth in a step, here a hundredth at most.
    assert measured == pytest.approx(expected, rel=0.01)
