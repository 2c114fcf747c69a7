from functools import cache

import made_up
import numpy as np
import pytest

from foretrain.plans.grid import Grid
from foretrain.streams import Seed
from foretrain.studies.circulant import study
from foretrain.studies.circulant.study import fit, predict
from foretrain.tasks import masks
from foretrain.theory.factorization.masked_rank_one import alignment_exponent, misalignment
from foretrain.theory.factorization.masked_rank_one_escape import early_flow, weights_when
from foretrain.theory.factorization.random_matrix import circulant_singular_values
from foretrain.training.masked_rank_one import DEPARTURE, STAGES
from foretrain.vocabulary import CONVERGED, OUT_OF_STEPS


def sample(seed, width=5, offsets="band"):
    return study.sample(10, width, offsets, Seed(0, int(seed)))


def early(seed, sigma, width=5):
    drawn = sample(seed, width)
    start = sigma * drawn.left, sigma * drawn.right, sigma * drawn.scale
    return drawn.trained_pairs, early_flow(start, drawn.trained_pairs)


@pytest.mark.parametrize(("seed", "turns"), [(0, False), (1, False), (4, True), (6, True)])
def test_the_linearised_flow_is_followed_to_the_level_asked_for(seed, turns):
    trained, flow = early(seed, 1e-3)
    assert np.isfinite(flow.turning_point) == turns
    for level in (1e-4, 1e-2, 0.5):
        left, right, scale = weights_when(flow, level)
        assert scale * left @ trained @ right == pytest.approx(level * trained.sum() / 2, rel=1e-9)
        # On the way out u, v and s are those of one start: |u|^2 - s^2 is what it was.
        drawn = sample(seed)
        kept = 1e-6 * (drawn.left @ drawn.left - drawn.scale**2)
        assert left @ left - scale**2 == pytest.approx(kept, abs=1e-12 * (left @ left))


@pytest.mark.parametrize("width", [2, 3])
def test_the_linearised_misalignment_falls_with_the_exponent(width):
    # Far down the third mode is gone: the exponent to three digits.
    left = []
    for sigma in (1e-40, 1e-60):
        trained, flow = early(0, sigma, width)
        u, v, _ = weights_when(flow, 1e-2)
        left.append(misalignment(u, v, trained))
    slope = np.log(left[0] / left[1]) / np.log(1e20)
    exponent = alignment_exponent(circulant_singular_values(10, width))
    assert slope == pytest.approx(exponent, rel=1e-2)


def test_a_run_on_the_linearised_flow_has_the_misalignment_that_is_foretold_at_its_place():
    sigma, place = 1e-3, {"stage_progress": np.full((3, 3), np.nan), "stage_scale": np.ones((3, 3))}
    known = []
    for seed in (0, 1):  # the third run never departs
        trained, flow = early(seed, sigma, 7)
        left, right, place["stage_scale"][seed, DEPARTURE] = weights_when(flow, STAGES[DEPARTURE])
        # S from the largest mode, whose growing half is e^(s_1 S) of what it was.
        amplitude = flow.sign * flow.left[:, 0] @ left + flow.right[:, 0] @ right
        progress = np.log(amplitude / 2 / flow.growing[0]) / flow.singular_values[0]
        place["stage_progress"][seed, DEPARTURE] = flow.sign * progress
        known.append(misalignment(left, right, trained))
    ran = made_up.runs({}, 3, place)
    message = fit(Grid(study.Parameters(width=7, init_scale=sigma), {}, 3, simulation=ran))
    np.testing.assert_allclose(message["predicted_misalignment"], [*known, np.nan], rtol=1e-9)


def test_drawn_circulants_are_circulant_and_some_fall_into_components():
    seen = set()
    for seed in range(30):
        trained = sample(seed, 2, "drawn").trained_pairs
        np.testing.assert_array_equal(np.roll(trained, (1, 1), (0, 1)), trained)
        assert (trained.sum(0) == 2).all()
        assert sample(seed, 1, "drawn").trained_pairs.trace() == 0  # a shift is not the identity
        first = np.flatnonzero(trained[0])
        expected = np.gcd.reduce([first[1] - first[0], 10])
        inputs, _ = masks.components(trained)
        assert inputs.max() + 1 == expected
        theory = predict(study.Parameters(width=2), np.arange(3), Seed(0, seed))
        assert theory["drawn_components"] == expected
        assert expected > 1 or theory["drawn_agreement"]
        seen.add(int(expected))
    assert seen == {1, 2, 5}


def test_a_start_is_shared_by_all_widths_and_scales():
    item = study.inputs(study.Parameters(width=3, init_scale=1e-2), Seed(0, 7))
    other = study.inputs(study.Parameters(width=9, init_scale=1e-64), Seed(0, 7))
    np.testing.assert_allclose(item["left_start"] * 1e-62, other["left_start"], rtol=1e-14)


SEEDS, SIZE = 80, 10
AXES = {"width": (2, 3, 5, 9), "init_scale": (1e-64, 1e-32, 1e-16, 1e-8, 1e-6, 1e-4, 1e-2, 0.3)}
SHAPE = (len(AXES["width"]), len(AXES["init_scale"]), SEEDS)
SPLIT = np.arange(SEEDS) % 3 == 0  # every third drawn circulant falls into two components
ALIKE = np.arange(SEEDS) % 6 == 0  # in half of which the signs agree


def exponents(rank=1):
    ratios = []
    for width in AXES["width"]:
        values = circulant_singular_values(SIZE, width)
        ratios.append(1 - values[rank] / values[0])
    return np.array(ratios)[:, None, None]


@cache
def stuck():
    """Which runs are stuck: at the narrowest width, by the law of its exponent, where it is not fitted yet."""
    result = np.zeros(SHAPE, bool)
    sigma = np.array(AXES["init_scale"])[:, None]
    chance = np.random.default_rng(1).permutation(SEEDS) / SEEDS
    result[0, 2:] = (chance < 0.9 * sigma ** exponents()[0, 0])[2:]
    return result


def good(known=None, drawn=None, shift=2.0, learned=None, **changed):
    """A grid that is as the linearised flow says; `changed` replaces variables of the bands' runs."""
    sigma = np.array(AXES["init_scale"])[None, :, None]
    learned = ~stuck() if learned is None else learned
    stages = lambda values: np.stack([np.broadcast_to(values, SHAPE)] * 3, axis=-1)  # noqa: E731
    random = np.random.default_rng(0)
    fall = lambda: (4 + 1e-6 * random.random((*SHAPE, 1))) * np.exp(-np.arange(30.0))  # noqa: E731
    left = np.maximum(0.3 * sigma ** exponents(), 1e-13) * (1 + 0.01 * random.random(SHAPE))

    def ended(done):
        final = np.where(done, 1e-13, 3.0)
        return {
            "loss": final[..., None] + fall(),
            "final_loss": final,
            "final_untrained_error": np.where(done, 1e-14, 50.0),
        }

    bands = {
        **ended(learned),
        "stage_misalignment": stages(np.where(learned, left, 0.5)),
        "invariant_drift": np.full((1, 1, 1), 1e-9),
    }
    theory = {
        "alignment_exponent": exponents(),
        "predicted_agreement": stages(~stuck()),
        "drawn_agreement": ~SPLIT | ALIKE,
        "drawn_components": 1 + SPLIT,
        "shift_agreement": np.zeros(SEEDS, bool),
    }
    done = np.broadcast_to(~SPLIT | ALIKE, SHAPE)
    others = {**ended(np.ones(SHAPE)), "connected": ~SPLIT}
    others["final_untrained_error"] = np.where(done, 1e-14, 2.0)
    others |= drawn or {}
    shifted = {**ended(np.ones(SHAPE)), "final_untrained_error": np.full((1, 1, 1), shift)}
    neighbour = {"drawn": others, "drawn_above": others, "shift": shifted}
    outcome = np.where(learned, CONVERGED, OUT_OF_STEPS)
    labels = {"stage": ("stage", list(STAGES))}
    networks = {
        "": made_up.runs(AXES, SEEDS, bands | changed, outcome=outcome, labels=labels),
        "theory": theory | (known or {}),
        "fits": {"predicted_misalignment": np.where(learned, left, 0.5)},
    }
    return made_up.grid(study.Parameters(), AXES, SEEDS, networks | neighbour)


def test_every_sentence_can_hold_and_fail():
    left = good().simulation["stage_misalignment"].values
    right_everywhere = {"final_untrained_error": np.full((1, 1, 1), 1e-14)}
    turned = np.broadcast_to(~SPLIT, SHAPE)
    others = exponents(3), 1.08 * exponents(), 0.92 * exponents()
    same = np.broadcast_to(stuck()[:, -1:], SHAPE)
    spoilt = {
        "generalises": {},
        "generalises.corrected": {"learned": np.zeros(SHAPE, bool)},
        "components-by-chance": {"drawn": {"final_untrained_error": np.where(turned, 1e-14, 2.0)}},
        "misalignment": {"stage_misalignment": 1.03 * left},
        "stuck-rate": [{"learned": ~same}, {"known": {"alignment_exponent": exponents(3)}}],
        "signs-decide": {"learned": np.zeros(SHAPE, bool)},
        "alignment-exponent": [
            {"stage_misalignment": np.minimum(left**1.1, 0.9)},
            *({"known": {"alignment_exponent": wrong}} for wrong in others),
        ],
        "gap-grows": {"stage_misalignment": left[::-1]},
        "not-always": {"learned": np.ones(SHAPE, bool)},
        "only-wide": {},
        "only-wide.corrected": {"learned": ~same},
        "recorded": {"final_loss": np.full((1, 1, 1), 1.0)},
        "invariants": {"invariant_drift": np.full((1, 1, 1), 1e-4)},
    }
    exceptions = {
        "generalises": {"drawn": right_everywhere, "shift": 1e-14},
        "only-wide": {"learned": ~(stuck() | (np.arange(4) == 0)[:, None, None])},
    }
    made_up.check("circulant", good, spoilt, exceptions)
