"""The cross-entropy study: its network's two parts of the gradient, and sentences on made-up grids."""

from functools import cache

import numpy as np
import pytest
import riding
from made_up import check, grid

from foretrain.networks import factorization_rows as rows
from foretrain.plans import catalogue
from foretrain.streams import Seed
from foretrain.studies.cross_entropy import study
from foretrain.theory.softmax_curve import time_of_probability
from foretrain.training import factorization
from foretrain.vocabulary import OUT_OF_STEPS

SMALL = study.Parameters(dimension=30, rank=2, steps=40, observe_every=20, precision="float64")


def train(p):
    numbers = {name: getattr(p, name) for name in ("prominence", "aligned_at", "loss_tolerance")}
    (run,) = riding.trained(study.program(p), p, [study.inputs(p, Seed(0, 0))], **numbers)
    return run.curves


@pytest.fixture(scope="module")
def trained():
    return train(SMALL)


def test_what_is_stored_is_what_the_matrices_say(trained):
    target, start = factorization.draw(SMALL, Seed(0, 0))
    wanted, own = (f.left @ f.right.T for f in (target, start))
    p, q = (np.exp(logits) / np.exp(logits).sum() for logits in (wanted, own))
    signal, decay = ((part - 1 / own.size) @ start.right for part in (p, q))
    centred = (own - own.mean()) / own.size @ start.right
    likeliest = wanted.argmax(1)[:, None]
    options, learned = (
        np.take_along_axis(item / item.sum(1, keepdims=True), likeliest, 1).mean()
        for item in (p, q)
    )
    for name, value in {
        "signal_length": np.linalg.norm(signal),
        "decay_length": np.linalg.norm(decay),
        "decay_ratio": np.linalg.norm(decay) / np.linalg.norm(centred),
        "probability_share": (learned - 1 / 30) / (options - 1 / 30),
        "row_accuracy": (own.argmax(1) == wanted.argmax(1)).mean(),
    }.items():
        assert trained[name][0] == pytest.approx(value, rel=1e-9), name
    flow = study.explore(SMALL, np.arange(0, 41, 20), Seed(0, 0))["relative_loss"]
    np.testing.assert_allclose(trained["relative_loss"], flow, atol=0.05)


@pytest.mark.slow
def test_a_network_without_its_decay_is_told_from_one_with_it_all_along_training(
    monkeypatch, trained
):
    (text,) = (
        item for item in catalogue.load("cross-entropy").sentences if item.id == "decay-absent"
    )
    assert (trained["decay_ratio"] > 0.9).all()

    def without(kind, factors, goal):
        x, y = factors
        excess = 1 / goal.product.size - goal.product
        return rows.Factors(y @ excess.T, x @ excess)

    monkeypatch.setattr(rows, "gradient", without)
    assert (train(SMALL)["decay_ratio"] < text.inside[1]).all()


SEEDS, STEP = 6, np.arange(0, 3001, 10)
AXES = {"rank": (2, 10), "target_scale": (1.0, 100.0)}
SPREAD = np.linspace(0.98, 1.02, SEEDS)[:, None]


def rise(late, steep=8.0):
    """A share that rises from zero to one after so many steps."""
    return 1 / (1 + (late / np.maximum(STEP, 1e-9)) ** steep)


SLOW = 300 / (300 + STEP)  # like 1/t
CURVES = {
    "loss": SLOW,
    "relative_loss": SLOW,
    "decay_ratio": 1 + 0.02 * np.sin(STEP / 300),
    "signal_length": 1 - np.exp(-STEP / 200),
    "decay_length": np.ones(STEP.size),
    "probability_share": rise(600),
    "row_accuracy": rise(500),
}


def build(alone=None, **changed):
    """Runs as the sentences that are right have them, some curves replaced."""
    curves = {name: SPREAD * curve for name, curve in (CURVES | changed).items()}
    for name in ("probability_share", "row_accuracy"):
        curves[name] = (CURVES | changed)[name] ** SPREAD
    networks = {"": curves, "theory": {"direct_probability": direct(**(alone or {}))}}
    p = study.Parameters(dimension=100, rank=2)
    return grid(p, AXES, SEEDS, networks, step=STEP, outcome=OUT_OF_STEPS)


@cache
def direct(faster=1.0, bent=False):
    """The closed form of softmax alone, at another pace or as an exponential, from starts that differ."""
    grown = np.geomspace(1e-4, 1 - 1e-4, 4000)
    times = np.linspace(0, study.END, STEP.size)
    result = [
        np.interp(times * faster, time_of_probability(grown, 10**4, first), grown)
        for first in 1e-4 * SPREAD[:, 0]
    ]
    return 1 - np.exp(-times / 10) * SPREAD if bent else np.array(result)


GONE = np.where(STEP > 1500, 0.05, CURVES["decay_ratio"])  # a decay that vanishes late in training
STUCK = 0.3 + 0.7 * np.exp(-STEP / 100)
BENT = np.exp(-STEP / 500)
SPOILT = {
    "decay-absent": {},
    "decay-absent.corrected": {"decay_ratio": GONE},
    "decay-of-large-logits": {"decay_ratio": GONE},
    "probability-curve": {"probability_share": 1 - BENT},
    "softmax-alone": {"alone": {"bent": True}},
    "softmax-alone-time": {"alone": {"faster": 1.05}},
    "rank-ten-stuck": {},
    "rank-ten-stuck.corrected": {"relative_loss": STUCK},
    "rank-ten-tail": [{"relative_loss": curve} for curve in (STUCK, BENT, SLOW**2, SLOW**0.3)],
}
EXCEPTIONS = {"decay-absent": {"decay_ratio": GONE}, "rank-ten-stuck": {"relative_loss": STUCK}}


def test_every_sentence_can_hold_and_fail():
    alone = "softmax-alone", "softmax-alone-time"  # of logits that theory trains
    check("cross-entropy", build, SPOILT, EXCEPTIONS, of_diverged=alone)
