"""Every sentence on connectivity holds on a made-up grid and fails on another, and none raises whatever became of the runs."""

from functools import cache

import numpy as np
import pytest
from made_up import ENDS, check, ended, runs, verdicts

from foretrain.claims.claim import FAILS, HOLDS, INCONCLUSIVE
from foretrain.claims.sentence import judge
from foretrain.figures import save
from foretrain.plans import catalogue
from foretrain.plans.grid import Grid
from foretrain.streams import Seed
from foretrain.studies.connectivity import study
from foretrain.tasks.masks import components
from foretrain.vocabulary import (
    CONVERGED,
    OUT_OF_STEPS,
)

AXES = {"hidden_width": (4, 8), "init_scale": (0.3, 0.003), "trained_count": (10, 14, 18, 26)}
SEEDS, L, D = 60, 6, 4
SHAPE = (2, 2, 4, SEEDS)
STEP = np.arange(0, 601, 40)


@cache
def drawn():
    """Masks and what they predict, shape (1, 1, count, seed, ...)."""
    seeds = [Seed(0, number) for number in range(SEEDS)]
    cells = [study.Parameters(trained_count=count) for count in AXES["trained_count"]]
    masks = np.array([[study.mask(p, seed) for seed in seeds] for p in cells])
    found = [[study.predict(p, STEP, seed) for seed in seeds] for p in cells]
    theory = {name: np.array([[one[name] for one in row] for row in found]) for name in found[0][0]}
    return masks[None, None], {name: values[None, None] for name, values in theory.items()}


@cache
def labelled():
    """Component of every input and of every output, shape (count, seed, domain)."""
    found = [[components(mask) for mask in row] for row in drawn()[0][0, 0]]
    return tuple(np.array([[pair[side] for pair in row] for row in found]) for side in (0, 1))


def made(*, outcome=None, curves=None, theory=None, spread=1.0, **changes):
    """A grid that follows the graph; at H = D a tenth of the runs at the largest scale are stuck.

    Args:
        outcome: Outcomes of all runs, where given.
        curves: Losses of all runs, where given.
        theory: Functions of predicted variables, by name.
        spread: Standard deviation of tr O/D, in units of 1/D.
        **changes: Functions of variables, by name.
    """
    masks, predicted = drawn()
    random = np.random.default_rng(0)
    masks = np.broadcast_to(masks, (*SHAPE, L, L))
    expected = np.broadcast_to(predicted["predicted_pair_error"], masks.shape)
    # One rotation for any two components of a run, of trace `trace`, scaled by rho.
    rho = predicted["across_scale"]
    trace = random.normal(0, spread / D, (*SHAPE, 2 * L, 2 * L))
    trace = np.triu(trace) + np.swapaxes(np.triu(trace, 1), -1, -2)
    place = np.indices(SHAPE).reshape(4, *SHAPE, 1, 1)
    ends = [labels[None, None] for labels in labelled()]
    across = (1 + rho**2) / 2 - rho * trace[(*place, ends[0][..., None], ends[1][..., None, :])]
    error = np.where(expected == 1, across, np.where(expected == 0, 1e-6, 0.5))
    stuck = np.zeros(SHAPE, bool)
    stuck[0, 0] = random.random(SHAPE[2:]) < 0.1
    curve = np.exp(-STEP / 20) * random.uniform(0.9, 1, (*SHAPE, 1)) + 1e-6
    simulation = {
        "loss": curve if curves is None else np.broadcast_to(curves, curve.shape),
        "pair_error": error * random.normal(1, 1e-4, error.shape),
        "trained_pairs": masks,
        "gradient_gap": np.full(SHAPE, 1e-7),
    }
    for name, change in changes.items():
        simulation[name] = change(simulation[name])
    outcomes = np.where(stuck, OUT_OF_STEPS, CONVERGED) if outcome is None else outcome
    foretold = {name: (theory or {}).get(name, lambda v: v)(v) for name, v in predicted.items()}
    return Grid(
        study.Parameters(hidden_width=4),
        AXES,
        SEEDS,
        0,
        runs(AXES, SEEDS, simulation, step=STEP, outcome=outcomes),
        {},
        runs(AXES, SEEDS, foretold, outcome=None),
    )


def expected():
    return np.broadcast_to(drawn()[1]["predicted_pair_error"], (*SHAPE, L, L))


def where(value, error):
    """Errors of the pairs of which `value` is predicted set to `error`."""
    return lambda values: np.where(expected() == value, error, values)


STUCK_SMALL = np.where(np.arange(2)[:, None, None] == 1, OUT_OF_STEPS, CONVERGED)
SPOILT = {
    "trained-pairs-alone": lambda: made(gradient_gap=lambda v: v + 0.03),
    "precision": lambda: made(pair_error=where(0, 0.6)),
    "recall": lambda: made(pair_error=lambda v: v * 0),
    "across-never": lambda: made(pair_error=where(1, 1e-6)),
    "better-than-occurrence": lambda: made(pair_error=where(1, 1e-6)),
    "threshold": lambda: made(pair_error=where(0, 0.6)),
    "connected-iff-all": lambda: made(pair_error=lambda v: v * 0),
    "few-stuck": lambda: made(outcome=STUCK_SMALL),
    "stuck-falls": lambda: made(outcome=STUCK_SMALL),
    "across": lambda: made(pair_error=where(1, 0.75)),
    "across-spread": lambda: made(pair_error=where(1, 1.0)),
    "across-reverse": lambda: made(theory={"across_scale": np.ones_like}),
    "silent": lambda: made(pair_error=where(0.5, 0.6)),
    "square-exact": lambda: made(pair_error=where(0, 0.01)),
}


def test_every_sentence_can_hold_and_fail():
    ids = {said.id for said in catalogue.load("connectivity").sentences}
    good = dict.fromkeys(ids, lambda: made(spread=0.2))
    good["across-spread"] = lambda: made(pair_error=where(1, 1 + (-1.0) ** np.arange(L) / D))
    check("connectivity", good, SPOILT)


def worst(id, grid):
    said = next(said for said in catalogue.load("connectivity").sentences if said.id == id)
    claims = [judge(said, cell.along(*said.over)) for cell in grid.cells(keep=said.over)]
    found = {claim.verdict for claim in claims if claim is not None}
    return next(one for one in (FAILS, INCONCLUSIVE, HOLDS) if one in found)


def transposed(values):
    return np.swapaxes(values, -1, -2)


# What of the theory or the network is off, and which sentence notices.
MUTATIONS = {
    "theory of the transposed mask": (
        "precision",
        lambda: made(spread=0.2, theory={"predicted_pair_error": transposed}),
    ),
    "every pair is predicted to be joined": (
        "precision",
        lambda: made(spread=0.2, theory={"predicted_pair_error": lambda v: v * 0}),
    ),
    "no pair is predicted to be joined": (
        "recall",
        lambda: made(spread=0.2, theory={"predicted_pair_error": lambda v: v * 0 + 1}),
    ),
    "pairs generalise where both languages occur": (
        "better-than-occurrence",
        lambda: made(spread=0.2, pair_error=where(1, 1e-6)),
    ),
    "the probability of a connected graph is 10% off": (
        "threshold",
        lambda: made(spread=0.2, theory={"connection_probability": lambda v: 1.1 * v}),
    ),
    "errors across components are 15% off": (
        "across",
        lambda: made(spread=0.2, pair_error=lambda v: np.where(expected() == 1, 1.15 * v, v)),
    ),
    "the scale across components is the root of what it is": (
        "across-reverse",
        lambda: made(spread=0.2, theory={"across_scale": np.sqrt}),
    ),
    "the scale across components is 10% off": (
        "across-reverse",
        lambda: made(spread=0.2, theory={"across_scale": lambda v: np.where(v == 1, 1, 1.1 * v)}),
    ),
    "the transposed mask is stored": (
        "trained-pairs-alone",
        lambda: made(spread=0.2, trained_pairs=transposed),
    ),
    # Of training on the transposed mask the loss of the stored pairs says that it is never learned.
    "hardly a run reaches the loss": (
        "few-stuck",
        lambda: made(
            spread=0.2, outcome=np.where(np.arange(SEEDS) % 5 == 0, CONVERGED, OUT_OF_STEPS)
        ),
    ),
}


@pytest.mark.parametrize("what", MUTATIONS)
def test_a_mutation_is_noticed(what):
    id, spoilt = MUTATIONS[what]
    assert worst(id, made(spread=0.2)) == HOLDS
    assert worst(id, spoilt()) != HOLDS


def test_runs_cut_off_while_they_learn_refute_nothing():
    """A limit of 200 steps in place of 2000: the loss still falls when the steps are used up."""
    found = verdicts("connectivity", made(outcome=OUT_OF_STEPS, curves=np.exp(-STEP / 600)))
    assert {
        claim.verdict for id in found for claim in found[id] if id != "trained-pairs-alone"
    } == {INCONCLUSIVE}


@pytest.mark.parametrize("how", ENDS)
def test_nothing_raises_whatever_became_of_the_runs(how, tmp_path):
    ends, gone, lost = ended(how, SHAPE)
    names = ("loss", "pair_error", "trained_pairs", "gradient_gap")
    grid = made(outcome=ends, **dict.fromkeys(names, lost))
    found = verdicts("connectivity", grid)
    if gone.all():
        assert {claim.verdict for claims in found.values() for claim in claims} == {INCONCLUSIVE}
    drawings = catalogue.load("connectivity").draw(grid)
    assert set(drawings) == {"threshold", "pair-errors", "precision-recall"}
    if how == "some of everything":
        assert set(save(drawings, tmp_path)) == set(drawings)
