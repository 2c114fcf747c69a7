"""The ladder of linear attention: its laws in NumPy, sentences on made-up grids, and mutations that turn a headline."""

from dataclasses import replace
from functools import cache

import jax.numpy as jnp
import numpy as np
import pytest
from made_up import add, check, grid, predictions, times
from scipy.integrate import solve_ivp

import foretrain
from foretrain.claims.claim import FAILS, HOLDS
from foretrain.plans import catalogue
from foretrain.streams import Seed
from foretrain.studies.attention_ladder import study
from foretrain.theory import attention_ladder as theory

SPECTRUM, CONTEXT = np.array([3, 2, 1]) / 6, 20


def test_levels_are_the_least_losses_with_some_modes_and_moments_are_those_of_sequences():
    seen = theory.sampled(SPECTRUM, CONTEXT, 100_000, np.random.default_rng(0))
    # E[beta beta^T] C, where E[(beta x^T)(beta x^T)^T] is C times the covariance of x; within four standard errors.
    outcome = seen["square"].reshape(3, 3, 3, 3).trace(axis1=1, axis2=3)
    np.testing.assert_allclose(np.diag(outcome), theory.moments(SPECTRUM, CONTEXT), rtol=0.04)
    for m in range(4):
        kept = np.flatnonzero(np.eye(3)[:m].sum(0)) * 4  # of A, read row by row
        cross, square = seen["cross"][kept], seen["square"][np.ix_(kept, kept)]
        least = seen["power"] - cross @ np.linalg.solve(square, cross)
        assert least == pytest.approx(theory.levels(SPECTRUM, CONTEXT)[m], rel=0.02)


def test_a_slider_moves_the_stair_of_levels_at_the_times_that_are_told():
    case = study.Parameters(), np.arange(300_001), Seed(0, 0)
    stair, times = study.explore(*case)["loss"], study.predict(*case)["drop_time"]
    np.testing.assert_array_equal(np.flatnonzero(np.diff(stair)) + 1, np.ceil(times))


def test_statistics_stand_for_attention_over_sequences():
    random = np.random.default_rng(3)
    x = random.standard_normal((50, CONTEXT + 1, 3)) * SPECTRUM**0.5
    y = np.einsum("snd,sd->sn", x, random.standard_normal((50, 3)))
    value, keys, queries = (random.standard_normal(shape) for shape in ((2,), (2, 3), (2, 3)))
    scores = np.einsum("hd,snd->hsn", keys, x[:, :-1]) * (queries @ x[:, -1].T)[..., None]
    answer = np.einsum("h,hsn,sn->s", value, scores, y[:, :-1]) / CONTEXT
    seen = theory.sampled(SPECTRUM, CONTEXT, 50, np.random.default_rng(3))
    whole = np.einsum("h,hd,he->de", value, keys, queries).ravel()
    loss = seen["power"] - 2 * whole @ seen["cross"] + whole @ seen["square"] @ whole
    assert ((y[:, -1] - answer) ** 2).mean() == pytest.approx(loss, rel=1e-10)


def whole_flow(value, keys, queries, most):
    """Return when the flow of all heads is half-way to each level, which head has each mode then, and the first by descent."""
    heads, moments = len(value), theory.moments(SPECTRUM, CONTEXT)
    ladder = theory.levels(SPECTRUM, CONTEXT)

    def parts(flat):
        v, k, q = np.split(flat.reshape(heads, -1), [1, 4], axis=1)
        return v, k, q, np.einsum("hi,hd,he->de", v, k, q)

    def velocity(_, flat):
        v, k, q, whole = parts(flat)
        rest = np.diag(SPECTRUM**2) - moments[:, None] * whole * SPECTRUM
        slopes = (k @ rest * q).sum(1, keepdims=True), v * (q @ rest.T), v * (k @ rest)
        return np.hstack(slopes).ravel()

    def loss(flat):
        whole = parts(flat)[3]
        return 1 - 2 * np.diag(whole) @ SPECTRUM**2 + moments @ whole**2 @ SPECTRUM

    events = [lambda _, flat, m=m: loss(flat) - ladder[m : m + 2].mean() for m in range(3)]
    start = np.column_stack([value, keys, queries]).ravel()
    run = solve_ivp(velocity, (0, most), start, "LSODA", events=events, rtol=1e-8, atol=1e-12)
    v, k, q, _ = parts(run.y[:, -1])
    late, steps = start, 0
    while loss(late) > ladder[:2].mean():
        late, steps = late + velocity(0, late), steps + 1
    return [end[0] for end in run.t_events if len(end)], abs(v * k * q).argmax(0), steps


@pytest.mark.parametrize("heads", [4, 2])
def test_heads_leave_as_told_and_not_as_told_of_other_data(heads):
    random, scale = np.random.default_rng(heads), 3e-3
    weights = [
        scale * random.standard_normal(shape) for shape in ((heads,), (heads, 3), (heads, 3))
    ]
    seen, carriers, late = whole_flow(*weights, most=1e6)
    times, carrying = theory.drops(SPECTRUM, CONTEXT, 1e6, *weights, step=0)
    assert list(np.isfinite(times)) == [mode < heads for mode in range(3)]
    np.testing.assert_array_equal(carrying[:heads], carriers[: min(heads, 3)])
    # A part of the scale of the start; without `HALF_WAY` the first fall is off by twice that.
    np.testing.assert_allclose(times[:heads], seen, rtol=0.3 * scale)
    assert (
        abs(theory.drops(SPECTRUM, CONTEXT, 1e6, *weights)[0, 0] - late) < 1 < late - times[0] - 2
    )
    other = theory.drops(SPECTRUM[::-1], CONTEXT, 1e6, *weights)[0]
    assert abs(np.nanmin(other) / seen[0] - 1) > 0.1
    assert np.isnan(theory.drops(SPECTRUM, CONTEXT, seen[0] / 2, *weights)).all()


ORIGINAL = study.program
P = study.Parameters(dimension=3, heads=4)
AXES, SEEDS = {"init_scale": (0.001, 0.003, 0.01)}, 20


@cache
def laws():
    few = predictions(study, P, AXES, 4)  # which take long
    return {name: np.concatenate([law] * (SEEDS // 4), axis=1) for name, law in few.items()}


def build():
    """Runs that do as they are told, each with a little of its own."""
    law, own = laws(), 1 + 1e-4 * np.arange(SEEDS)[:, None]
    runs = {name: law[name] * own for name in ("drop_time", "level")}
    ladder = theory.levels(study.eigenvalues(P), P.context)
    runs |= {"learner": law["learner"], "loss": own * np.linspace(1, ladder[-1], 5)}
    merged = {"drop_time": 30 * own * np.arange(1, 4)}
    networks = {"": runs, "merged": merged, "sampled": {"level": runs["level"]}, "theory": law}
    return grid(P, AXES, SEEDS, networks, step=np.geomspace(1, 2**17, 5).astype(int))


def test_every_sentence_can_hold_and_fail():
    scale = np.array(AXES["init_scale"])[:, None, None]
    # Four steps: the time of the first fall itself, and less than what descent is late.
    first, later = np.array([4.0, 0, 0]), np.array([1.0, 1.0, 1.5])
    spoilt = {
        "levels": [("level", times(1.05)), ("level", lambda level: level[..., [1, 1, 2]])],
        "times": [("drop_time", add(first)), ("drop_time", times(later))],
        "heads": ("learner", add(1)),
        "ends": ("loss", times(1.03)),
        "merged-once": ("merged/drop_time", times(1 / scale)),
        "sampled": ("sampled/level", times(1.1)),
    }
    check("attention-ladder", build, spoilt)


def fixed_keys(before, after):
    return after | {name: keys for name, keys in before.items() if name == "keys"}


def signs(before, after):
    return {name: w + 1e-3 * jnp.sign(after[name] - w) for name, w in before.items()}


SMALL = {"dimension": 3, "heads": 3, "init_scale": 0.01, "horizon": 120.0, "steps": 12_000}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("law", "change", "verdict", "ids"),
    [
        (theory.strengths, lambda _, after: after, HOLDS, ("levels", "times", "heads")),
        (lambda eigenvalues, _: 1 / eigenvalues, lambda _, after: after, FAILS, ("levels",)),
        (theory.strengths, fixed_keys, FAILS, ("times", "ends")),
        (theory.strengths, signs, FAILS, ("times",)),
    ],
)
def test_another_law_network_or_optimiser_turns_a_headline(
    law, change, verdict, ids, monkeypatch, tmp_path
):
    def program(p):
        def step(inputs, state):
            weights, *others = ORIGINAL(p).step(inputs, state)
            return change(state[0], weights), *others

        return replace(ORIGINAL(p), step=step)

    monkeypatch.setattr(theory, "strengths", law)
    monkeypatch.setitem(catalogue.load("attention-ladder").part("study"), "program", program)
    out = {"out": tmp_path / "a", "workers": 0, "quiet": True}
    result = foretrain.run("attention-ladder", **SMALL, seeds=20 if verdict == HOLDS else 6, **out)
    outcome = {claim.id: claim.verdict for claim in result.claims}
    assert [outcome[id] for id in ids] == [verdict] * len(ids)
