"""Every sentence of circulant holds on a made-up grid and fails on one spoilt for it; mutations are noticed."""

from functools import cache

import made_up
import numpy as np
import pytest

from foretrain.claims.claim import FAILS
from foretrain.studies.circulant import study
from foretrain.theory.factorization.random_matrix import circulant_singular_values
from foretrain.training.masked_rank_one import STAGES
from foretrain.vocabulary import CONVERGED, OUT_OF_STEPS

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
    found = np.zeros(SHAPE, bool)
    sigma = np.array(AXES["init_scale"])[:, None]
    chance = np.random.default_rng(1).permutation(SEEDS) / SEEDS
    found[0, 2:] = (chance < 0.9 * sigma ** exponents()[0, 0])[2:]
    return found


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
    beside = {"drawn": others, "drawn_above": others, "shift": shifted}
    outcome = np.where(learned, CONVERGED, OUT_OF_STEPS)
    labels = {"stage": ("stage", list(STAGES))}
    networks = {
        "": made_up.runs(AXES, SEEDS, bands | changed, outcome=outcome, labels=labels),
        "theory": theory | (known or {}),
        "fits": {"predicted_misalignment": np.where(learned, left, 0.5)},
    }
    return made_up.grid(study.Parameters(), AXES, SEEDS, networks | beside)


def test_every_sentence_can_hold_and_fail():
    left = good().simulation["stage_misalignment"].values
    right_everywhere = {"final_untrained_error": np.full((1, 1, 1), 1e-14)}
    turned = np.broadcast_to(~SPLIT, SHAPE)
    same = np.broadcast_to(stuck()[:, -1:], SHAPE)
    spoilt = {
        "generalises": {},
        "generalises.corrected": {"learned": np.zeros(SHAPE, bool)},
        "components-by-chance": {"drawn": {"final_untrained_error": np.where(turned, 1e-14, 2.0)}},
        "misalignment": {"stage_misalignment": 1.03 * left},
        "stuck-rate": {"learned": ~same},
        "signs-decide": {"learned": np.zeros(SHAPE, bool)},
        "alignment-exponent": {"stage_misalignment": np.minimum(left**1.1, 0.9)},
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


@pytest.mark.parametrize("wrong", [exponents(3), 1.08 * exponents(), 0.92 * exponents()])
def test_another_exponent_is_noticed(wrong):
    claims = made_up.verdicts("circulant", good({"alignment_exponent": wrong}))
    verdicts = {claim.cell["width"]: claim.verdict for claim in claims["alignment-exponent"]}
    assert verdicts[3] == verdicts[5] == FAILS, verdicts
    if wrong[0] > 2 * exponents()[0]:
        assert claims["stuck-rate"][0].verdict == FAILS
