"""Every sentence of mask-spectrum holds on real spectra and made-up training, and fails where they are spoilt."""

from functools import cache

import made_up
import numpy as np
import pytest

from foretrain.claims.claim import HOLDS
from foretrain.laboratory.labelled import theory_of
from foretrain.plans import catalogue
from foretrain.plans.grid import Grid
from foretrain.streams import Seed
from foretrain.studies.mask_spectrum import study
from foretrain.theory.factorization import random_matrix
from foretrain.training.masked_rank_one import STAGES
from foretrain.vocabulary import CONVERGED, OUT_OF_STEPS

SEEDS, SIZES, DENSITY = 80, (60, 120, 240), 0.4
AXES = {"mask_size": SIZES}
SHAPE = (len(SIZES), SEEDS)


@cache
def spectra():
    """Singular values of real masks, shape (mask_size, seed, mode), nan beyond the size."""
    result = np.full((*SHAPE, SIZES[-1]), np.nan)
    for place, size in enumerate(SIZES):
        p = study.Parameters(mask_size=size, density=DENSITY)
        masks = np.array([study.mask(p, Seed(0, seed)) for seed in range(SEEDS)])
        result[place, :, :size] = np.linalg.svd(masks, compute_uv=False)
    return result


def theory():
    """The theory along sizes, as it is now."""
    grids = [Grid(study.Parameters(mask_size=size, density=DENSITY)) for size in SIZES]
    cells = [theory_of(catalogue.load("mask-spectrum"), whole) for whole in grids]
    values = {name: np.array([cell[name].values for cell in cells]) for name in cells[0]}
    return made_up.runs(AXES, 0, values, outcome=None)


unchanged_theory = cache(theory)


def good(values=None, outcome=CONVERGED, predicted=None, **changed):
    """Real spectra, and training that is dominated by the outlier; `changed` replaces what was trained."""
    random = np.random.default_rng(0)
    trained = {
        "loss": 1e-13 + (4 + 1e-6 * random.random((*SHAPE, 1))) * np.exp(-np.arange(30.0)),
        "progress": np.ones((1, 1, 30)),
        "mode_amplitude": np.ones((1, 1, 30, 8)),
        "stage_misalignment": 0.01 + 0.001 * random.random((*SHAPE, 3)),
        "final_left": np.zeros((1, 1, 8)),
        "final_loss": np.full((1, 1), 1e-13),
        "final_untrained_error": np.full((1, 1), 1e-14),
    }
    labels = {"stage": ("stage", list(STAGES))}
    values = {"mask_singular_values": spectra() if values is None else values}
    trained = made_up.runs(AXES, SEEDS, trained | changed, outcome=outcome, labels=labels)
    networks = {"": values, "theory": predicted or unchanged_theory()}
    networks |= {"trained": trained, "smaller": trained}
    return made_up.grid(study.Parameters(density=DENSITY), AXES, SEEDS, networks)


def moved(first=0.0, rest=1.0):
    """Spectra whose first value is shifted, and whose others are multiplied."""
    values = spectra().copy()
    values[..., 0] += first
    values[..., 1:] *= rest
    return values


def test_every_sentence_can_hold_and_fail():
    spoilt = {
        "recorded": {"final_loss": np.full((1, 1), 1.0)},
        "outlier": {"values": moved(first=300.0)},
        "outlier-shift": {"values": moved(first=-0.3)},
        "dominates-by-a-lot": {"values": moved(rest=5.0)},
        "bulk-edge": {},
        "bulk-edge.corrected": {"values": moved(rest=1.05)},
        "second-value": {"values": moved(rest=1.05)},
        "quarter-circle": {"values": moved(rest=1.15)},
        "outlier-in-training": {"stage_misalignment": np.full((1, 1, 3), 0.3)},
        "outlier-generalises": {"outcome": OUT_OF_STEPS},
    }
    note = random_matrix.bernoulli_edge(1, DENSITY) / 40  # all lie inside the note's edge
    made_up.check("mask-spectrum", good, spoilt, {"bulk-edge": {"values": moved(rest=note)}})


EDGE, OF_EDGE = random_matrix.bernoulli_edge, ("bulk-edge.corrected", "quarter-circle")
WRONG = [
    ("bernoulli_edge", lambda n, p: 0.95 * EDGE(n, p), OF_EDGE),
    ("bernoulli_edge", lambda n, p: 1.05 * EDGE(n, p), OF_EDGE),
    ("bernoulli_edge", lambda n, p: 1.02 * EDGE(n, p), ("quarter-circle",)),
    ("bernoulli_outlier", lambda n, p: n * p + (1 - p) / 2, ("outlier-shift",)),
    ("_TRACY_WIDOM_MEAN", -1.7, ("second-value",)),
    ("_TRACY_WIDOM_MEAN", -0.7, ("second-value",)),
]


@pytest.mark.parametrize(("name", "wrong", "noticed"), WRONG)
def test_another_law_is_noticed(monkeypatch, name, wrong, noticed):
    monkeypatch.setattr(random_matrix, name, wrong)
    claims = made_up.verdicts("mask-spectrum", good(predicted=theory()))
    assert all(claims[id][0].verdict != HOLDS for id in noticed)


def test_masks_are_of_zeros_and_ones_at_the_density_asked_for():
    trained = study.mask(study.Parameters(mask_size=400, density=0.3), Seed(0, 1))
    assert set(np.unique(trained)) == {0.0, 1.0}
    # Four standard errors of 160000 independent entries.
    assert trained.mean() == pytest.approx(0.3, abs=4 * np.sqrt(0.21 / 160000))
    assert (trained <= study.mask(study.Parameters(mask_size=400, density=0.4), Seed(0, 1))).all()
