"""The benchmark of `foretrain explain`: its sentences can hold and fail, what it plants is there, and it runs."""

from pathlib import Path
from types import SimpleNamespace

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from made_up import check, runs

from foretrain.plans import catalogue
from foretrain.plans.author import words
from foretrain.plans.grid import Grid

FOLDER = Path(__file__).parents[2] / "benchmarks" / "own_network"
STUDY = catalogue.load(FOLDER)
study, measurement = (SimpleNamespace(**STUDY.part(role)) for role in ("study", "measurement"))
networks = SimpleNamespace(**measurement.drawn.__globals__)
planted, measure = measurement.planted, measurement.measure
AXES = {"plant": study.PLANTS}
SEEDS = 20


def grid(share=95.0, swapped=0, gap=0.001, hits=0.93, near=0.05, far=0.4):
    """Networks of which all is said as it is, but for what is spoilt."""
    shares, worth = np.zeros((2, len(study.PLANTS), SEEDS, 4))
    covered = np.full(shares.shape, np.nan)
    for at, plant in enumerate(study.PLANTS[1:], 1):
        causes = [study.CAUSES.index(item) for item in plant.split(", ")]
        for cause, part in zip(causes, (share,) if len(causes) == 1 else (60.0, 35.0), strict=True):
            shares[at, :, cause], worth[at, :, cause] = part, part / 100
            covered[at, :, cause] = hits
        if len(causes) > 1:
            worth[at, :swapped, causes[1]] = 1
    gaps = np.where(np.array(study.PLANTS)[:, None] == "nothing", gap, 0.2) * np.ones(SEEDS)
    planted = {"share": shares, "worth": worth, "covered": covered, "gap": gaps}
    text = np.repeat([0, 2], SEEDS // 2)
    miss = np.where(text == 0, near, far)
    correction = np.where(text == 0, 0.02, 0.5)
    drawn = {"said": text, "miss": miss, "correction": correction, "miss_along": 0.4 * miss}
    trained = runs(AXES, SEEDS, planted, labels={"cause": ("cause", list(study.CAUSES))})
    variants = {"drawn": runs(AXES, SEEDS, drawn)}
    return Grid(study.Parameters(), AXES, SEEDS, 0, trained, variants=variants)


def test_every_sentence_can_hold_and_fail():
    spoilt = {
        "single": lambda: grid(share=75.0),
        "larger-of-two": lambda: grid(swapped=8),
        "nothing-blamed": lambda: grid(gap=0.003),
        "intervals": lambda: grid(hits=0.8),
        "will-do": lambda: grid(near=0.12),
        "not-to-be-trusted": lambda: grid(far=0.08),
    }
    with words(STUDY):
        check(FOLDER, grid, spoilt)


def test_coverage_is_the_fraction_of_groups_that_contain_the_mean_of_the_others():
    values = np.random.default_rng(0).normal(50, 5, 4000)
    # A third of a group's variance is not there where the others are as many as here.
    assert 0.92 < measurement.coverage(values, 4) < 0.97
    groups = np.r_[np.full(4, 10.0), np.full(4, 90.0)] + np.tile([0, 1], 4)
    assert measurement.coverage(groups, 4) == 0


def test_the_planted_networks_begin_at_zero(x64):
    network = planted(("layers",), np.random.default_rng(0))
    assert jnp.abs(network.apply(network.init(jax.random.key(0)), network.x)).max() == 0


@pytest.mark.parametrize("cause", study.CAUSES)
def test_a_cause_that_is_taken_out_leaves_all_else(x64, cause):
    pair = ("batches", "layers") if cause in ("batches", "layers") else ("step", "gates")
    whole, without = (planted(pair, np.random.default_rng(0), name) for name in ("", cause))
    np.testing.assert_array_equal(whole.x, without.x)
    first, *others = whole.init(jax.random.key(0))
    moved = [first + 1e-6 * jax.random.normal(jax.random.key(1), first.shape), *others]
    outputs, other = (network.apply(moved, network.x) for network in (whole, without))
    # Up to their factor, of which the rate times the square is the same, both have one kernel.
    factor = (outputs * other).sum() / (other**2).sum()
    assert np.allclose(outputs, factor * other, rtol=1e-4)
    slower = 10 if cause == "step" else 1
    assert without.options["steps"] == slower * whole.options["steps"]
    same = whole.options["learning_rate"] * factor**2, without.options["learning_rate"] * slower
    assert np.isclose(*same, rtol=1e-6)
    size = None if cause == "batches" else whole.options["batch_size"]
    assert without.options["batch_size"] == size
