"""Every sentence of the trained-fraction study holds on networks that obey the graph, and fails where it should."""

import dataclasses
from functools import cache

import numpy as np
import pytest
from made_up import check, runs, verdicts

from foretrain.claims.claim import FAILS, HOLDS, INCONCLUSIVE
from foretrain.figures.drawings import drawings
from foretrain.plans import catalogue
from foretrain.plans.grid import Grid
from foretrain.quantities.cell import Cell
from foretrain.streams import Seed
from foretrain.studies.trained_fraction import claims, theory
from foretrain.studies.trained_fraction.study import SMALLER, Parameters
from foretrain.tasks.hierarchy import LEVEL_WEIGHTS, hierarchical_items
from foretrain.tasks.masks import circulant, without_common_output
from foretrain.training.routing import items_task, mask
from foretrain.training.routing_to_loss import zero_error
from foretrain.vocabulary import CONVERGED, DIVERGED, MISSING, STALLED

P = Parameters(domains=5, trained_outputs=1, hidden_width=8)
AXES = {"mask": ("circulant", "random_rows"), "trained_outputs": (1, 2, 3, 5)}
SHAPE, SEEDS, STEP = (2, 4), 5, np.arange(0, 200, 40)
ZERO = zero_error(P)


@cache
def _drawn():
    """Masks and predictions of every cell and seed."""
    found = []
    for kind in AXES["mask"]:
        for outputs in AXES["trained_outputs"]:
            p = dataclasses.replace(P, mask=kind, trained_outputs=outputs)
            seeds = [Seed(0, number) for number in range(SEEDS)]
            found.append(
                [{**theory.predict(p, STEP, s), "trained_pairs": mask(p, s)} for s in seeds]
            )
    names = found[0][0]
    stack = lambda name: np.array([[one[name] for one in cell] for cell in found])  # noqa: E731
    return {name: _cells(stack(name)) for name in names}


def _cells(values):
    return values.reshape(*SHAPE, *values.shape[1:])


def made(predicted=None, outcome=CONVERGED, **changes) -> Grid:
    """Networks with the errors that their graphs predict; `changes` are functions of an array by variable, those of the
    smaller start by ``small_<variable>``."""
    drawn = _drawn()
    pairs, hair = drawn["trained_pairs"], 1e-6 * (1 + np.arange(SEEDS))
    errors = np.where(pairs == 1, 1e-4, drawn["pair_error"]) * (1 + hair[:, None, None])
    count = np.maximum((pairs == 0).sum((-2, -1)), 1)
    untrained = (errors * (pairs == 0)).sum((-2, -1)) / count
    loss = np.geomspace(ZERO, 1e-4, STEP.size) * (1 + hair[:, None]) + np.zeros((*SHAPE, 1, 1))
    v = items_task("authors").input_modes[0]
    # One's own part of every domain: it vanishes as the scale with the power of the closed form.
    own_part = np.array(
        [_left(outputs, kind) for kind in ("own", "small") for outputs in AXES["trained_outputs"]]
    )
    alike = [_similar(part, v) * (1 + hair[:, None, None]) for part in own_part]
    alike = np.reshape(alike, (2, 1, SHAPE[1], SEEDS, 20, 20))
    # As many answers with the right sign as with the wrong one.
    signs = np.where((np.arange(5) - np.arange(5)[:, None]) % 5 > 2, -1.0, 1.0)
    answers = signs[..., None, None] * _asked()
    variables = {
        "loss": loss,
        "untrained_error": loss * 0 + untrained[..., None],
        "converged_loss": loss[..., -1],
        "converged_untrained_error": np.where((pairs == 0).any((-2, -1)), untrained, np.nan),
        "trained_pairs": pairs,
        "pair_error": np.where(pairs == 1, loss[..., -1, None, None], errors),
        "gradient_gap": hair,
        "outputs": answers
        * np.broadcast_to(1 + hair, (*SHAPE, SEEDS))[..., None, None, None, None],
    }
    own, small = ({**variables, "similarity": part} for part in alike)
    for name, change in changes.items():
        network = small if name.startswith("small_") else own
        variable = name.removeprefix("small_")
        network[variable] = change(network[variable])
    foretold = {name: drawn[name] for name in drawn if name != "trained_pairs"}
    for name, change in (predicted or {}).items():
        foretold[name] = change(foretold[name])
    own, small = (runs(AXES, SEEDS, one, step=STEP, outcome=outcome) for one in (own, small))
    beside = runs(AXES, SEEDS, foretold, outcome=None)
    return Grid(P, AXES, SEEDS, 0, own, {"small-init": small}, beside)


@cache
def _asked():
    """Features of every item, shape (feature, item)."""
    return hierarchical_items(LEVEL_WEIGHTS["authors"])[1]


@cache
def _left(outputs, kind):
    """What is left of a domain's own part at either scale: nothing with the power 0, as much as the closed form says."""
    cell = Cell(Grid(dataclasses.replace(P, trained_outputs=outputs)))
    if not without_common_output(circulant(5, outputs)).any() or outputs == 1:
        return 0.0
    return 0.04 if kind == "own" else 0.04 / SMALLER ** claims.power_of_scale(cell)


def _similar(part, v):
    return np.kron((1 - part) * np.ones((5, 5)) + part * np.eye(5), v @ v.T)


def set_to(value):
    return lambda values: np.where(np.isnan(values), np.nan, value + 1e-6 * values)


def apart(similarity):
    """Every domain with representations of its own."""
    return similarity * np.kron(np.eye(5), np.ones((4, 4)))


def at(outputs, value):
    """The values at one K replaced."""

    def change(values):
        values = values.copy()
        values[:, AXES["trained_outputs"].index(outputs)] = value + 1e-3 * np.arange(SEEDS)
        return values

    return change


def opposite(errors):
    return np.where(errors < 3, 60.0, 0.0)


SPOILT = {
    "trained-routes-alone": lambda: made(gradient_gap=lambda gap: gap + 0.05),
    "trained": lambda: made(converged_loss=set_to(2.0)),
    "threshold": lambda: made(converged_untrained_error=set_to(20.0)),
    "threshold.corrected": lambda: made(small_converged_untrained_error=set_to(20.0)),
    "connectivity": lambda: made(pair_error=opposite),
    "connectivity-small-init": lambda: made(small_pair_error=opposite),
    "few-outputs": lambda: made(converged_untrained_error=at(1, 0.5 * ZERO)),
    "few-outputs.corrected": lambda: made(small_outputs=lambda answers: answers / 2),
    "unrelated": lambda: made(small_outputs=np.abs),
    "never-trained": lambda: made(small_pair_error=lambda errors: 1.1 * errors),
    "shared-apart": lambda: made(similarity=apart),
    "shared-apart.corrected": lambda: made(small_similarity=lambda v: v + 0.04 * apart(v)),
}


def test_every_sentence_can_hold_and_fail():
    check("trained-fraction", made, SPOILT)


@pytest.mark.parametrize("factor", [0.9, 1.1])
def test_another_error_of_unrelated_signs_is_noticed(factor):
    wrong = made(predicted={"converged_untrained_error": lambda error: factor * error})
    (claim,) = verdicts("trained-fraction", wrong, "few-outputs.corrected")["few-outputs.corrected"]
    assert claim.verdict == "fails"
    assert claim.predicted == pytest.approx(2 * factor)


@pytest.mark.parametrize("factor", [0.9, 1.1])
def test_another_error_of_routes_that_are_never_trained_is_noticed(factor):
    wrong = made(
        predicted={"pair_error": lambda error: np.where(error < 40, factor * error, error)}
    )
    (claim,) = verdicts("trained-fraction", wrong, "never-trained")["never-trained"]
    assert claim.verdict == FAILS
    assert claim.predicted == pytest.approx(factor)


@pytest.mark.parametrize("level", [0.0, 60.0])
def test_a_theory_by_which_all_or_no_untrained_pairs_are_right_is_noticed(level):
    found = verdicts("trained-fraction", made(predicted={"pair_error": set_to(level)}))
    for id in ("connectivity", "connectivity-small-init"):
        claims = [claim for claim in found[id] if claim.cell["mask"] == "circulant"]
        assert {claim.verdict for claim in claims} == {FAILS}


def test_all_routes_trained_is_noticed():
    """Networks that were trained on every route are right everywhere: the control at K = 1 is not wrong, as it must be."""
    low = lambda values: 0 * values + 1e-4  # noqa: E731
    grid = made(converged_untrained_error=low, small_outputs=np.abs)
    found = verdicts("trained-fraction", grid)
    for id in ("few-outputs", "unrelated"):
        assert found[id][0].verdict == FAILS
    grid = made(trained_pairs=lambda pairs: pairs * 0 + 1)
    id = "trained-routes-alone"
    assert verdicts("trained-fraction", grid, id)[id][0].verdict == FAILS


@pytest.mark.parametrize("code", [STALLED, DIVERGED, MISSING])
@pytest.mark.parametrize("some", [False, True])
def test_nothing_raises_where_runs_end_early(code, some):
    hit = np.zeros((*SHAPE, SEEDS), bool)
    hit[..., : 1 if some else None] = True
    lost = code in (DIVERGED, MISSING)

    def end(values):
        own = values.ndim - hit.ndim
        return np.where(hit.reshape(*hit.shape, *[1] * own), np.nan, values)

    names = ("converged_loss", "converged_untrained_error", "pair_error", "similarity", "outputs")
    changes = (
        {f"{prefix}{name}": end for name in names for prefix in ("", "small_")} if lost else {}
    )
    changes["similarity"] = changes["small_similarity"] = lambda v: np.broadcast_to(
        v, (*hit.shape, *v.shape[-2:])
    )
    grid = made(outcome=np.where(hit, code, CONVERGED), **changes)
    found = verdicts("trained-fraction", grid)
    if lost:
        assert INCONCLUSIVE in {claim.verdict for claim in found["trained"]}
        assert HOLDS not in {claim.verdict for claim in found["trained"] + found["connectivity"]}
    if not some or code == DIVERGED:
        drawings(catalogue.load("trained-fraction"), grid)
