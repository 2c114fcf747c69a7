"""Every sentence of masked-rank-one holds on a made-up grid and fails on one spoilt for it; mutations are noticed."""

from functools import cache

import made_up
import numpy as np

from foretrain.claims.claim import INCONCLUSIVE
from foretrain.laboratory.labelled import theory_of
from foretrain.plans import catalogue
from foretrain.plans.grid import Grid
from foretrain.streams import Seed
from foretrain.studies.masked_rank_one import study
from foretrain.studies.masked_rank_one.study import pair_ends
from foretrain.tasks import masks as routing
from foretrain.training.masked_rank_one import STAGES
from foretrain.vocabulary import CONVERGED, OUT_OF_STEPS

SEEDS, SIZE = 400, 6
SPARSE = 75
SCALES = (1e-8, 1e-6, 1e-4, 1e-2, 0.1)
PARAMETERS = study.Parameters(domains=SIZE)


@cache
def theory():
    """The real theory of every scale, as arrays of shape (init_scale, seed)."""
    whole = Grid(study.Parameters(domains=SIZE, init_scale=1.0), {}, SEEDS)
    unit = theory_of(catalogue.load("masked-rank-one"), whole)
    names = ("turns", "alignment_exponent")
    values = {name: np.tile(unit[name].values, (len(SCALES), 1)) for name in names}
    return values | {"blow_up_time": unit["blow_up_time"].values / np.array(SCALES)[:, None]}


@cache
def stuck():
    """Which runs are stuck, by the law of their exponents."""
    chance = np.random.default_rng(1).permutation(SEEDS) / SEEDS
    return chance < 0.5 * (np.array(SCALES)[:, None] / SCALES[-1]) ** theory()["alignment_exponent"]


def sparse(scales, size=lambda ends: ends["size"], sign=lambda ends: ends["sign"], **changed):
    """Runs on sparse masks that end where they are told to; `size` and `sign` of their products can be spoilt."""
    shape = len(scales), SPARSE
    left, right = np.ones((*shape, SIZE)), np.ones((*shape, 3 * SIZE // 2))
    for place, sigma in enumerate(scales):
        for seed in range(SPARSE):
            ends = pair_ends(SIZE, sigma, Seed(0, seed))
            # Of rank one: the first trained input's row, and every input next to it.
            product = size(ends) * np.where(sign(ends) == 0, 1, sign(ends))
            row, column = np.argwhere(ends["trained"])[0]
            left[place, seed] = product[:, column] / product[row, column]
            right[place, seed] = product[row]
    values = {
        "loss": 1e-13
        + (4 + 1e-6 * np.random.default_rng(0).random((1, SPARSE, 1))) * np.exp(-np.arange(30.0)),
        "final_left": left,
        "final_right": right,
        "final_scale": np.ones((1, 1)),
        "final_loss": np.full((1, 1), 1e-13),
    }
    outcome = changed.pop("outcome", CONVERGED)
    return made_up.runs({"init_scale": SCALES}, SPARSE, {**values, **changed}, outcome=outcome)


@cache
def reference_networks():
    return {"sparse": sparse(SCALES), "limit": sparse((study.LIMIT,))}


@cache
def starts():
    return np.array([study.draw(PARAMETERS, Seed(0, seed)).scale for seed in range(SEEDS)])


def good(predicted=None, fitted=None, outcome=None, variants=None, **changed):
    """A grid that is as the linearised flow says; `changed` replaces variables of the runs."""
    outcome = np.where(stuck(), OUT_OF_STEPS, CONVERGED) if outcome is None else outcome
    known, scales = theory(), np.array(SCALES)[:, None]
    progress = np.where((starts() > 0) ^ known["turns"], 1.0, -1.0) * (np.log(1 / scales) + 0.3)
    left = 0.5 * scales ** known["alignment_exponent"]
    at_stages = lambda values: np.stack([values] * 3, axis=-1)  # noqa: E731
    random = np.random.default_rng(0)
    final = np.where(stuck(), 3.0, 1e-13)
    fall = (4 + 1e-6 * random.random((len(SCALES), SEEDS, 1))) * np.exp(-np.arange(30.0))
    values = {
        "loss": final[..., None] + fall,
        **{name: np.linspace(1, 30, 30)[None, None] for name in ("solver_time", "progress")},
        "shared_scale": scales[..., None] * np.geomspace(1, 100, 30),
        "mode_amplitude": np.ones((1, 1, 30, SIZE)),
        "stage_time": at_stages(known["blow_up_time"]),
        "stage_progress": at_stages(progress),
        "stage_misalignment": at_stages(np.minimum(left, 0.05)),
        "final_left": np.zeros((1, 1, SIZE)),
        "start_scale": starts(),
        "connected": np.ones((1, 1), bool),
        "invariant_drift": np.full((1, 1), 1e-9),
        "final_loss": final,
        "final_untrained_error": np.where(stuck(), 50.0, 1e-14),
    }
    fits = {
        "stage_deviation": np.full((1, 1, 3), 1e-3 / 3),
        "stage_time_deviation": np.full((1, 1, 3), 1e-4),
        "stage_neglected": np.full((1, 1, 3), 1e-3),
        "stage_second_mode": at_stages(left),
        "early_scale": scales[..., None] * np.geomspace(1, 100, 30),
        "early_mode_amplitude": np.ones((1, 1, 30, SIZE)),
    }
    networks = {
        "": values | changed,
        **reference_networks(),
        **(variants or {}),
        "theory": known | (predicted or {}),
        "fits": fits | (fitted or {}),
    }
    labels = {"stage": ("stage", list(STAGES))}
    axes = {"init_scale": SCALES}
    return made_up.grid(PARAMETERS, axes, SEEDS, networks, outcome=outcome, labels=labels)


LIMIT = (study.LIMIT,)


def alike(ends):
    """Signs as if all components agreed, or sizes as if all pairs were right."""
    return np.ones(ends["sign"].shape)


def transposed(ends):
    """Ratios of inputs to outputs the wrong way round."""
    with np.errstate(divide="ignore"):
        return np.where(ends["idle"], ends["size"], 1 / ends["size"])


def test_every_sentence_can_hold_and_fail():
    progress, exponent = good().simulation["stage_progress"].values, theory()["alignment_exponent"]
    escape = theory()["blow_up_time"]
    logarithmic = np.stack([np.log(1 / np.array(SCALES))[:, None]] * 3, axis=-1)
    spoilt = {
        "closed-forms": [
            {"fitted": {name: np.full((1, 1, 3), 2e-3)}}
            for name in ("stage_time_deviation", "stage_deviation")
        ],
        "S-to-infinity": {},
        "S-to-infinity.corrected": {"predicted": {"turns": ~theory()["turns"].astype(bool)}},
        "best-rank-one": {"stage_misalignment": np.full((1, 1, 3), 0.2)},
        "escape-time": {},
        "escape-time.corrected": {"stage_time": escape[..., None] ** 1.05 * np.ones(3)},
        "alignment-exponent": {"predicted": {"alignment_exponent": 1.08 * exponent}},
        "every-connected-mask": {"outcome": OUT_OF_STEPS},
        "recorded": {"final_loss": np.full((1, 1), 1.0)},
        "invariants": {"invariant_drift": np.full((1, 1), 1e-4)},
        "zero-loss-generalises": [
            {"final_untrained_error": np.full((1, 1), 1e-3)},
            {"outcome": OUT_OF_STEPS, "final_loss": np.full((1, 1), 0.3)},
        ],
        "ends": [
            {"variants": {"limit": sparse(LIMIT, size=transposed)}},
            {"variants": {"sparse": sparse(SCALES, size=lambda ends: ends["limit"])}},
        ],
        "sign-by-chance": {"variants": {"limit": sparse(LIMIT, sign=alike)}},
        "connectivity-law": [
            {"variants": {"limit": sparse(LIMIT, size=alike, sign=alike)}},
            {"variants": {"limit": sparse(LIMIT, outcome=OUT_OF_STEPS)}},
        ],
    }
    exceptions = {
        "S-to-infinity": {"stage_progress": np.abs(progress)},
        "escape-time": {"stage_time": logarithmic},
    }
    made_up.check("masked-rank-one", good, spoilt, exceptions)


def test_runs_on_masks_that_are_not_connected_are_left_out():
    alone = {"connected": np.zeros((1, 1), bool), "final_untrained_error": np.ones((1, 1))}
    claims = made_up.verdicts("masked-rank-one", good(**alone))
    for id in ("zero-loss-generalises", "every-connected-mask"):
        assert claims[id][0].verdict == INCONCLUSIVE, id


def test_sparse_masks_are_rectangular_and_of_every_kind():
    parts, idle = set(), 0
    for seed in range(60):
        drawn = study.draw(study.Parameters(mask="sparse"), Seed(0, seed))
        assert drawn.trained_pairs.shape == (10, 15)
        assert (drawn.left.size, drawn.right.size) == (10, 15)
        rows, columns = routing.components(drawn.trained_pairs)
        trained = np.concatenate([drawn.trained_pairs.any(1), drawn.trained_pairs.any(0)])
        parts.add(np.unique(np.concatenate([rows, columns])[trained]).size)
        idle += not trained.all()
        message = pair_ends(10, 1e-2, Seed(0, seed))
        np.testing.assert_array_equal(
            message["within"], (rows[:, None] == columns) & ~message["idle"]
        )
    assert {1, 2, 3, 4} <= parts
    assert 10 < idle <= 60
