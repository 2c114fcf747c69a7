from dataclasses import replace
from functools import cache
from types import SimpleNamespace

import numpy as np
import pytest
from made_up import add, check, grid, runs, times, verdicts
from scipy.linalg import polar
from scipy.stats import ortho_group

from foretrain.claims.claim import FAILS, HOLDS, INCONCLUSIVE, NOT_CLAIMED
from foretrain.quantities.cell import Cell
from foretrain.streams import Seed
from foretrain.studies.connectivity import claims, study
from foretrain.tasks.masks import components
from foretrain.training.translation_claims import within_components
from foretrain.vocabulary import CONVERGED, OUT_OF_STEPS


def test_masks_are_drawn_anew_for_every_number_of_pairs():
    few, more = (study.mask(study.Parameters(trained_count=n), Seed(0, 0)) for n in (12, 14))
    assert (few.sum(), more.sum()) == (12, 14)
    assert (few > more).any()
    wide = study.Parameters(trained_count=12, hidden_width=4, init_scale=1.0)
    np.testing.assert_array_equal(few, study.mask(wide, Seed(0, 0)))


def test_masks_too_large_for_the_exact_count_are_estimated():
    p = study.Parameters(languages=20, trained_count=70)
    assert 0 < study.predict(p, np.zeros(1), Seed(0, 0))["connection_probability"] < 1


def test_masks_of_other_shapes():
    p = study.Parameters(hidden_width=8, init_scale=0.01, trained_count=10)
    for name, outputs in (("sparse", 24), ("rectangular", 4)):
        changes = dict(study.variants(p)[name])
        assert changes.pop("seeds") == 5
        cell = replace(p, **changes)
        trained = study.mask(cell, Seed(0, 1))
        assert trained.sum() == cell.trained_count
        assert (trained.any(0) <= (np.arange(cell.languages) < outputs)).all()
        assert cell.init_scale == pytest.approx(1e-3)
    assert study.variants(replace(p, hidden_width=4)) == {}
    predicted = study.predict(replace(p, output_languages=4), np.zeros(1), Seed(0, 0))
    assert np.isnan(predicted["connection_probability"])


AXES = {"hidden_width": (4, 8), "init_scale": (0.03, 0.003), "trained_count": (10, 14, 18, 26)}
SEEDS, L, D = 75, 6, 4  # a fraction of one shows .95 by 72 runs
SHAPE = (2, 2, 4, SEEDS)
STEP = np.arange(0, 601, 40)


@cache
def drawn():
    """Masks and what they predict, shape (1, 1, count, seed, ...)."""
    seeds = [Seed(0, number) for number in range(SEEDS)]
    cells = [study.Parameters(trained_count=count) for count in AXES["trained_count"]]
    masks = np.array([[study.mask(p, seed) for seed in seeds] for p in cells])
    rows = [[study.predict(p, STEP, seed) for seed in seeds] for p in cells]
    theory = {name: np.array([[case[name] for case in row] for row in rows]) for name in rows[0][0]}
    return masks[None, None], {name: values[None, None] for name, values in theory.items()}


@cache
def labelled():
    """Component of every input and of every output, shape (count, seed, domain)."""
    rows = [[components(mask) for mask in row] for row in drawn()[0][0, 0]]
    return tuple(np.array([[pair[side] for pair in row] for row in rows]) for side in (0, 1))


def by_exponent(share, scales):
    """True for so many runs of each scale, those of the smallest exponents first; shape (scale, count, seed)."""
    exponent = drawn()[1]["frame_exponent"][0, 0]
    law = np.array([(scale**exponent).mean() for scale in scales])
    return ((exponent.argsort(1).argsort(1) + 0.5) / SEEDS)[None] < share * law[:, None, None]


def build(*, cut=False, spread=1.0, scales=None, share=0.15, shapes=None, **changes):
    """A grid that follows the graph; at H = D a tenth of the runs at the largest scale are stuck.

    `cut`: Runs are cut off while their losses still fall; `spread`: Standard deviation of tr O/D, in units of 1/D;
    `scales`: Scales that stand in the law of stuck runs and of missed pairs, where these follow it; `share`: What the
    law of stuck runs is multiplied by; `shapes`: Function of the errors of networks beside, where these are there;
    `**changes`: Functions of variables, by name, those of the theory as in ``theory/across_scale``.
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
    if scales is not None:
        stuck[0] = by_exponent(share, scales)
        # A joined pair of H = 2D is missed whenever the sum of the law passes a whole number.
        law = np.power(np.array(scales)[:, None, None], predicted["frame_exponent"][0])
        untrained = (expected[1] == 0) & (masks[1] == 0)
        part = np.cumsum((0.3 * law[..., None, None] * untrained).reshape(2, -1), 1)
        missed = np.diff(np.floor(part), axis=1, prepend=0).reshape(untrained.shape) > 0
        error[1] = np.where(missed, 0.6, error[1])
    curve = np.exp(-STEP / (600 if cut else 20)) * random.uniform(0.9, 1, (*SHAPE, 1)) + 1e-6
    error = error * random.normal(1, 1e-4, error.shape)
    untrained = np.nanmean(np.where(masks == 0, error, np.nan), (-2, -1))
    simulation = {
        "untrained_error": untrained[..., None] + np.zeros(STEP.size),
        "loss": curve,
        "pair_error": error,
        "trained_pairs": masks,
        "gradient_gap": np.full(SHAPE, 1e-7),
    }
    outcomes = np.where(stuck | cut, OUT_OF_STEPS, CONVERGED)
    networks = {"": simulation, "theory": predicted}
    if shapes is not None:
        networks |= dict.fromkeys(("sparse", "rectangular"), made_beside(shapes))
    p = study.Parameters(hidden_width=4)
    return grid(p, AXES, SEEDS, networks, changes, step=STEP, outcome=outcomes)


def made_beside(change):
    """Networks beside: four runs of the grid's own masks, whose errors are what the graph predicts but for a change."""
    masks, errors = (
        values[:, :, :, :4] for values in (drawn()[0], drawn()[1]["predicted_pair_error"])
    )
    curves = np.exp(-STEP / 20) * np.linspace(0.9, 1, 4)[:, None]
    simulation = {"loss": curves, "pair_error": change(errors), "trained_pairs": masks}
    return runs(AXES, 4, simulation, step=STEP)


def expected():
    return np.broadcast_to(drawn()[1]["predicted_pair_error"], (*SHAPE, L, L))


def where(value, error):
    """Errors of the pairs of which `value` is predicted set to `error`."""
    return lambda values: np.where(expected() == value, error, values)


LAW, STAYS = AXES["init_scale"], (0.03, 0.03)
FAST = (0.012, 0.0003)  # falls faster than the law of the scales that stand in the grid
SPOILT = {
    # The transposed mask is stored.
    "trained-pairs-alone": {"trained_pairs": lambda values: np.swapaxes(values, -1, -2)},
    "precision": {"pair_error": where(0, 0.6)},
    "recall": {"pair_error": times(0)},
    "threshold": {"pair_error": where(0, 0.6)},
    "connected-iff-all": {"pair_error": times(0)},
    "components": {"theory/component_count": add(1)},
    "recorded": {"untrained_error": add(0.01)},
    "connection-chance": {"theory/connection_probability": lambda v: v**0.2},
    "pair-errors": {"pair_error": where(1, 0.5)},
    "across": {"pair_error": where(1, 0.75)},
    # The scale across components is the root of what it is.
    "across-reverse": {"theory/across_scale": np.sqrt},
    "silent": {"pair_error": where(0.5, 0.6)},
    "square-exact": {"pair_error": where(0, 0.01)},
    "rate": {"scales": STAYS},
    "limit": {"scales": STAYS},
    # Exponents in the reverse order.
    "stuck-told": {"scales": LAW, "theory/frame_exponent": np.negative},
    "other-shapes": {"shapes": add(0.2)},
}


def test_every_sentence_can_hold_and_fail():
    exceptions = {
        "rate": {"scales": LAW, "share": 0.9},
        "stuck-told": {"scales": LAW, "share": 0.9},
        "limit": {"scales": FAST, "share": 0.02},
        "other-shapes": {"shapes": lambda v: v},
    }

    def usual(**changes):  # rotations whose traces scatter less
        return build(**(changes or {"spread": 0.2}))

    check("connectivity", usual, SPOILT, exceptions)


def verdict_at(width, id, **changes):
    """Verdict at H = D or H = 2D, on a grid that follows the law but for some changes."""
    rows = verdicts("connectivity", build(**{"scales": LAW, "share": 0.9} | changes), id)[id]
    return next(claim.verdict for claim in rows if claim.cell["hidden_width"] == width)


# A law of other exponents, and where it must be noticed.
@pytest.mark.parametrize(
    ("width", "id", "change"),
    [
        (4, "rate", times(2)),
        (8, "rate", add(0.4)),
        (8, "rate", times(0.05)),
        (4, "stuck-told", lambda v: np.roll(v, 7, -1)),
    ],
)
def test_another_law_is_noticed(width, id, change):
    assert verdict_at(width, id) == HOLDS
    assert verdict_at(width, id, **{"theory/frame_exponent": change}) != HOLDS


def test_a_limit_is_told_between_two_lines():
    """Nothing is missed in the limit, though one line ends below zero; a share that stays, under what falls, is told."""
    assert verdict_at(8, "limit", scales=FAST) == HOLDS
    bounds = claims.limit(wide(build(scales=FAST)))
    assert abs(bounds.values.mean()) < 1e-12 < bounds.upto.mean() < 0.02

    stays = np.where((np.arange(L * L).reshape(L, L) % 10 == 0) & (expected() == 0), 0.6, 0)
    assert verdict_at(8, "limit", pair_error=lambda v: np.maximum(v, stays)) == FAILS


def wide(whole):
    cells = (Cell(cell.along(*claims.LIMIT)) for cell in whole.cells(keep=claims.LIMIT))
    return next(cell for cell in cells if cell.p.hidden_width == 2 * D)


def test_a_missing_mode_is_missed_whatever_generalises():
    """Of eight words one mode costs 1/16, less than the error of a pair that is said to generalise."""
    for error, share in ((1.01, 1), (0.98, 0)):
        cell = wide(build(pair_error=where(0, error / (4 * D))))
        assert claims.missed_pairs(cell).sum() == share * within_components(cell).sum()


def test_the_law_is_not_claimed_where_turned_frames_alone_are_missed(monkeypatch):
    """Frames of O_1 + r O_2 and O_1 - r O_2 err by r^2 (1 - 1/D): of four words by half a mode, 1/16, at r = .289."""
    both = ortho_group.rvs(D, 600, random_state=0).reshape(2, 300, D, D)
    plus, minus = ([polar(a + r * b)[0] for a, b in zip(*both, strict=True)] for r in (0.1, -0.1))
    error = 1 - np.einsum("nij,nij->n", plus, minus).mean() / D
    assert error == pytest.approx(0.1**2 * (1 - 1 / D), rel=0.1)  # each draw has a spread of a half
    for far, claimed in ((0.28, True), (0.3, False)):
        monkeypatch.setattr(claims, "law", lambda c, far=far: [0.1, far])
        assert (claims.diffuse(SimpleNamespace(p=study.Parameters())) == "") == claimed


def test_runs_cut_off_while_they_learn_refute_nothing():
    """A limit of 200 steps in place of 2000: the loss still falls when the steps are used up."""
    rows = verdicts("connectivity", build(cut=True))
    of_masks = {"trained-pairs-alone", "components", "connection-chance", "recorded"}
    learned = [claim.verdict for id in set(rows) - of_masks for claim in rows[id]]
    assert set(learned) == {INCONCLUSIVE, NOT_CLAIMED}
