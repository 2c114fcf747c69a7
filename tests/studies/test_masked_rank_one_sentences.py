"""Every sentence of masked-rank-one holds on a made-up grid and fails on one spoilt for it; mutations are noticed."""

from functools import cache

import made_up
import numpy as np
import pytest

import foretrain
from foretrain.claims.claim import FAILS, HOLDS, INCONCLUSIVE
from foretrain.figures.drawings import drawings as drawn_figures
from foretrain.laboratory.labelled import theory_of
from foretrain.plans import catalogue
from foretrain.plans.grid import Grid
from foretrain.streams import Seed
from foretrain.studies.masked_rank_one import study
from foretrain.studies.masked_rank_one.study import sample
from foretrain.studies.masked_rank_one.theory import told_pairs
from foretrain.training.masked_rank_one import STAGES
from foretrain.vocabulary import CONVERGED, DIVERGED, FAILED, MISSING, OUT_OF_STEPS, STALLED

SEEDS, SIZE = 400, 6
SPARSE = 75
SCALES = (1e-8, 1e-6, 1e-4, 1e-2, 0.1)
PARAMETERS = study.Parameters(domains=SIZE)


@cache
def theory():
    """The real theory of every scale, as arrays of shape (init_scale, seed)."""
    unit = theory_of(
        catalogue.load("masked-rank-one"),
        Grid(study.Parameters(domains=SIZE, init_scale=1.0), {}, SEEDS),
    )
    names = ("turns", "largest_singular_value", "alignment_exponent")
    values = {name: np.tile(unit[name].values, (len(SCALES), 1)) for name in names}
    times = unit["blow_up_time"].values / np.array(SCALES)[:, None]
    return values | {"blow_up_time": times}


@cache
def singular_values():
    masks = [sample(SIZE, 0.4, Seed(0, seed)).trained_pairs for seed in range(SEEDS)]
    return np.linalg.svd(np.array(masks), compute_uv=False)


@cache
def stuck():
    """Which runs are stuck, by the law of their exponents."""
    chance = np.random.default_rng(1).permutation(SEEDS) / SEEDS
    return chance < 0.5 * (np.array(SCALES)[:, None] / SCALES[-1]) ** theory()["alignment_exponent"]


def sparse(scales, size=lambda told: told.size, sign=lambda told: told.sign, **changed):
    """Runs on sparse masks that end where they are told to; `size` and `sign` of their products can be spoilt."""
    shape = len(scales), SPARSE
    left, right = np.ones((*shape, SIZE)), np.ones((*shape, 3 * SIZE // 2))
    for place, sigma in enumerate(scales):
        for seed in range(SPARSE):
            told = told_pairs(SIZE, sigma, Seed(0, seed))
            # Of rank one: the first trained input's row, and every input next to it.
            product = size(told) * np.where(sign(told) == 0, 1, sign(told))
            row, column = np.argwhere(told.trained)[0]
            left[place, seed] = product[:, column] / product[row, column]
            right[place, seed] = product[row]
    axes = {"init_scale": SCALES}
    values = {
        "loss": 4 * np.exp(-np.arange(30))
        + 1e-6 * np.random.default_rng(0).random((1, SPARSE, 30)),
        "final_left": left,
        "final_right": right,
        "final_scale": np.ones((1, 1)),
        "final_loss": np.full((1, 1), 1e-13),
    }
    outcome = changed.pop("outcome", CONVERGED)
    return made_up.runs(axes, SPARSE, {**values, **changed}, outcome=outcome)


@cache
def beside():
    return {"sparse": sparse(SCALES), "limit": sparse((study.LIMIT,))}


def good(predicted=None, fitted=None, outcome=None, variants=None, **changed):
    """A grid that is as the linearised flow says; `changed` replaces variables of the runs."""
    outcome = np.where(stuck(), OUT_OF_STEPS, CONVERGED) if outcome is None else outcome
    known, scales = theory(), np.array(SCALES)[:, None]
    starts = np.array([sample(SIZE, 0.4, Seed(0, seed)).scale for seed in range(SEEDS)])
    way = np.where((starts > 0) ^ known["turns"], 1.0, -1.0)
    progress = way * (np.log(1 / scales) + 0.3) / known["largest_singular_value"]
    left = 0.5 * scales ** known["alignment_exponent"]
    at_stages = lambda values: np.stack([values] * 3, axis=-1)  # noqa: E731
    random = np.random.default_rng(0)
    curve = 4 * np.exp(-np.arange(30)) + 1e-6 * random.random((len(SCALES), SEEDS, 30))
    values = {
        "loss": curve,
        **{name: np.linspace(1, 30, 30)[None, None] for name in ("solver_time", "progress")},
        "shared_scale": scales[..., None] * np.geomspace(1, 100, 30),
        "mode_amplitude": np.ones((1, 1, 30, SIZE)),
        "stage_time": at_stages(known["blow_up_time"]),
        "stage_progress": at_stages(progress),
        "stage_scale": at_stages(np.broadcast_to(way, progress.shape)),
        "stage_misalignment": at_stages(np.minimum(left, 0.05)),
        "stage_left": np.zeros((1, 1, 3, SIZE)),
        "stage_agrees": at_stages(~stuck()),
        "start_scale": starts,
        "connected": np.ones((1, 1), bool),
        "invariant_drift": np.full((1, 1), 1e-9),
        "final_loss": np.where(stuck(), 3.0, 1e-13),
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
    axes = {"init_scale": SCALES}
    return Grid(
        PARAMETERS,
        axes,
        SEEDS,
        simulation=made_up.runs(
            axes,
            SEEDS,
            {**values, **changed},
            outcome=outcome,
            labels={"stage": ("stage", list(STAGES))},
        ),
        variants={**beside(), **(variants or {})},
        theory=made_up.runs(axes, SEEDS, {**known, **(predicted or {})}, outcome=None),
        fits=made_up.runs(axes, SEEDS, {**fits, **(fitted or {})}, outcome=None),
    )


unchanged = cache(good)


def some(values, share=0.3):
    """The first `share` of the seeds multiplied by -1."""
    flips = np.where(np.arange(SEEDS) < share * SEEDS, -1.0, 1.0)
    return values * flips.reshape(1, SEEDS, *[1] * (values.ndim - 2))


def times(power):
    """Escape times that grow with another power of 1/sigma."""
    return np.stack([(theory()["blow_up_time"]) ** power] * 3, axis=-1)


STUCK = {"outcome": OUT_OF_STEPS, "final_loss": np.full((1, 1), 0.3)}


def logarithmic():
    return good(stage_time=np.stack([np.log(1 / np.array(SCALES))[:, None]] * 3, axis=-1))


LIMIT = (study.LIMIT,)


def alike(told):
    """Signs as if all components agreed, or sizes as if all pairs were right."""
    return np.ones(told.sign.shape)


def linear(told):
    """Sizes that are as near to their limit as the first power of the scale."""
    gap = told.size / np.where(told.idle, 1, told.limit) - 1
    near = told.limit * (1 + np.sqrt(np.abs(gap)) * np.sign(gap))
    return np.where(told.idle, told.size, near)


def test_every_sentence_can_hold_and_fail():
    base = unchanged().simulation
    progress, scale = base["stage_progress"].values, base["stage_scale"].values
    started = np.broadcast_to(base["start_scale"].values[..., None], scale.shape)
    spoilt = {
        "sign-change": lambda: good(stage_scale=started),
        "closed-forms": lambda: good(fitted={"stage_deviation": np.full((1, 1, 3), 2e-3)}),
        "escape-constant": lambda: good(stage_time=1.001 * times(1)),
        "S-to-infinity": unchanged,
        "S-to-infinity.corrected": lambda: good(stage_progress=some(progress)),
        "best-rank-one": lambda: good(stage_misalignment=np.full((1, 1, 3), 0.2)),
        "escape-time": unchanged,
        "escape-time.corrected": lambda: good(stage_time=times(1.05)),
        "escape-progress": lambda: good(stage_progress=1.1 * progress),
        "alignment-exponent": lambda: good(
            fitted={"stage_second_mode": base["stage_misalignment"].values * 0 + 0.1}
        ),
        "every-connected-mask": lambda: good(outcome=OUT_OF_STEPS),
        "invariants": lambda: good(invariant_drift=np.full((1, 1), 1e-4)),
        "zero-loss-generalises": lambda: good(final_untrained_error=np.full((1, 1), 1e-3)),
        "stuck-training": lambda: good(**STUCK),
        "agreeing-signs": lambda: good(outcome=OUT_OF_STEPS),
        "stuck-rate": lambda: good(outcome=np.where(stuck()[-1], OUT_OF_STEPS, CONVERGED)[None]),
        "ends": lambda: good(variants={"sparse": sparse(SCALES, size=lambda told: told.limit)}),
        "across-components": lambda: good(variants={"sparse": sparse(SCALES, size=linear)}),
        "sign-by-chance": lambda: good(variants={"limit": sparse(LIMIT, sign=alike)}),
        "any-mask-trains": lambda: good(variants={"limit": sparse(LIMIT, outcome=OUT_OF_STEPS)}),
        "connectivity-law": lambda: good(variants={"limit": sparse(LIMIT, size=alike, sign=alike)}),
    }
    held = dict.fromkeys(spoilt, unchanged)
    held["S-to-infinity"] = lambda: good(stage_progress=np.abs(progress))
    held["escape-time"] = logarithmic
    made_up.check("masked-rank-one", held, spoilt)


@pytest.mark.parametrize("factor", ["third", 1.08, 0.92])
def test_another_exponent_is_noticed(factor):
    values = singular_values()
    right = theory()["alignment_exponent"]
    wrong = 1 - values[:, 2] / values[:, 0] if factor == "third" else right * factor
    (claim,) = made_up.verdicts("masked-rank-one", good({"alignment_exponent": wrong}))[
        "alignment-exponent"
    ]
    assert claim.verdict == FAILS, claim


def transposed(told):
    """Ratios of inputs to outputs the wrong way round."""
    with np.errstate(divide="ignore"):
        return np.where(told.idle, told.size, 1 / told.size)


def test_a_ratio_of_components_upside_down_is_noticed():
    spoilt = good(variants={"limit": sparse(LIMIT, size=transposed)})
    assert made_up.verdicts("masked-rank-one", spoilt, "ends")["ends"][0].verdict == FAILS


def test_where_both_domains_occur_is_told_worse_than_by_components():
    (claim,) = made_up.verdicts("masked-rank-one", unchanged(), "connectivity-law")[
        "connectivity-law"
    ]
    assert claim.measured == 1
    told = float(claim.note.split("occur in training' tells ")[1].split(" ")[0])
    assert told < 0.95


def test_a_time_ten_percent_off_and_another_first_value_are_noticed():
    known = theory()
    mutated = good({"blow_up_time": 1.1 * known["blow_up_time"]})
    assert made_up.verdicts("masked-rank-one", mutated)["escape-constant"][0].verdict == FAILS
    mutated = good({"largest_singular_value": 1.08 * known["largest_singular_value"]})
    assert made_up.verdicts("masked-rank-one", mutated)["escape-progress"][0].verdict == FAILS
    mutated = good({"turns": ~known["turns"].astype(bool)})
    assert (
        made_up.verdicts("masked-rank-one", mutated)["S-to-infinity.corrected"][0].verdict == FAILS
    )


def test_equal_seeds_carry_no_verdict_on_what_varies():
    one = unchanged()
    same = one.simulation["loss"].values[:, :1]
    claims = made_up.verdicts("masked-rank-one", good(loss=same))
    assert claims["escape-time.corrected"][0].verdict == INCONCLUSIVE


def test_runs_on_masks_that_are_not_connected_are_left_out():
    alone = {"connected": np.zeros((1, 1), bool), "final_untrained_error": np.ones((1, 1))}
    claims = made_up.verdicts("masked-rank-one", good(**alone))
    for id in ("zero-loss-generalises", "stuck-training", "every-connected-mask"):
        assert claims[id][0].verdict == INCONCLUSIVE, id


def unknown(runs, code, share):
    """Runs of which a share ended otherwise, with nothing known of them."""
    gone = runs["seed"] < share * runs.sizes["seed"]
    blank = {name: runs[name].where(~gone) for name in runs if name != "outcome"}
    return runs.assign(blank).assign(outcome=runs["outcome"].where(~gone, code).astype(np.int8))


def lost(code, share):
    """A grid in which a share of the runs ended otherwise, with nothing known of them."""
    grid = unchanged()
    gone = np.broadcast_to(np.arange(SEEDS) < share * SEEDS, (len(SCALES), SEEDS))
    data = grid.simulation
    outcome = data["outcome"].where(~gone, code).astype(np.int8)
    blank = {
        n: data[n].astype(float).where(data["outcome"].copy(data=~gone))
        for n in data
        if n != "outcome"
    }
    fits = {n: grid.fits[n].where(data["outcome"].copy(data=~gone)) for n in grid.fits}
    return Grid(
        grid.parameters,
        grid.axes,
        SEEDS,
        simulation=data.assign(blank).assign(outcome=outcome),
        variants={name: unknown(runs, code, share) for name, runs in grid.variants.items()},
        theory=grid.theory,
        fits=grid.fits.assign(fits),
    )


@pytest.mark.filterwarnings("ignore:All-NaN", "ignore:Mean of empty", "ignore:invalid value")
@pytest.mark.parametrize("code", [DIVERGED, STALLED, OUT_OF_STEPS, FAILED, MISSING])
@pytest.mark.parametrize("share", [0.5, 1])
def test_nothing_raises_and_nothing_holds_that_was_not_measured(code, share):
    grid = lost(code, share)
    claims = made_up.verdicts("masked-rank-one", grid)
    if share == 1:
        holding = {id for id, found in claims.items() if found[0].verdict == HOLDS}
        assert not holding, holding
    if code in (MISSING, OUT_OF_STEPS):
        drawings = drawn_figures(catalogue.load("masked-rank-one"), grid)
        assert set(drawings) >= {"escape-time", "alignment", "outcomes", "components"}


@pytest.mark.slow
def test_a_network_on_the_transposed_mask_is_noticed(tmp_path, monkeypatch):
    real = study.inputs

    def transposed(p, seed):
        found = real(p, seed)
        left, _, right = np.linalg.svd(found["trained_pairs"].T)
        turned = found["trained_pairs"].T
        return {**found, "trained_pairs": turned, "left_modes": left, "right_modes": right.T}

    small = {"domains": 5, "init_scale": (1e-6, 1e-3), "seeds": 6, "workers": 0, "quiet": True}
    monkeypatch.setattr(study, "inputs", transposed)
    result = foretrain.run("masked-rank-one", **small, out=tmp_path / "a")
    claims = {claim.id: claim for claim in result.claims}
    assert claims["closed-forms"].verdict == FAILS
    assert claims["escape-constant"].verdict == FAILS
