import numpy as np
import pytest
from made_up import check, runs

from foretrain.explain.shares import taken_apart
from foretrain.plans.grid import Grid
from foretrain.streams import Seed
from foretrain.studies.own_network import networks, study
from foretrain.studies.own_network.measurement import coverage, measure

AXES = {"plant": study.PLANTS}
SEEDS = 20


def grid(share=95.0, swapped=0, gap=0.001, hits=0.93, near=0.05, far=0.4, ratio=0.4):
    """Networks of which all is said as it is, but for what is spoilt."""
    shares, worth = np.zeros((2, len(study.PLANTS), SEEDS, 4))
    covered = np.full(shares.shape, np.nan)
    for at, plant in enumerate(study.PLANTS[1:], 1):
        causes = [study.CAUSES.index(one) for one in plant.split(", ")]
        parts = (share,) if len(causes) == 1 else (60.0, 35.0)
        for cause, part in zip(causes, parts, strict=True):
            shares[at, :, cause], worth[at, :, cause] = part, part / 100
            covered[at, :, cause] = hits
        if len(causes) > 1:
            worth[at, :swapped, causes[1]] = 1
    gaps = np.where(np.array(study.PLANTS)[:, None] == "nothing", gap, 0.2) * np.ones(SEEDS)
    planted = {"share": shares, "worth": worth, "covered": covered, "gap": gaps}
    said = np.repeat([0, 2], SEEDS // 2)
    miss = np.where(said == 0, near, far)
    correction = np.where(said == 0, 0.02, 0.5)
    drawn = {"said": said, "miss": miss, "correction": correction, "miss_along": ratio * miss}
    made = runs(AXES, SEEDS, planted, labels={"cause": ("cause", list(study.CAUSES))})
    return Grid(
        study.Parameters(), AXES, SEEDS, 0, made, variants={"drawn": runs(AXES, SEEDS, drawn)}
    )


def test_every_sentence_can_hold_and_fail():
    check(
        "own-network",
        grid,
        {
            "single": lambda: grid(share=75.0),
            "larger-of-two": lambda: grid(swapped=8),
            "nothing-blamed": lambda: grid(gap=0.003),
            "intervals": lambda: grid(hits=0.8),
            "will-do": lambda: grid(near=0.12),
            "not-to-be-trusted": lambda: grid(far=0.08),
            "along-its-way": lambda: grid(ratio=0.8),
        },
    )


def test_coverage_is_the_fraction_of_groups_that_contain_the_mean_of_the_others():
    values = np.random.default_rng(0).normal(50, 5, 4000)
    # A third of a group's variance is not there where the others are as many as here.
    assert 0.92 < coverage(values, 4) < 0.97
    assert coverage(np.r_[np.full(4, 10.0), np.full(4, 90.0)] + np.tile([0, 1], 4), 4) == 0


def test_causes_have_a_share_for_every_start():
    random = np.random.default_rng(0)
    game = {
        frozenset(one): random.uniform(0, 1, (5, 7)) for one in ((), ("a",), ("b",), ("a", "b"))
    }
    found = taken_apart(game, ("a", "b"), np.ones(5))
    assert all(np.isclose(one.each.mean(), one.share.measured) for one in found.causes)


def test_seeds_draw_every_kind_of_network_and_activation():
    words = [networks._network(np.random.default_rng(seed), 6)[2] for seed in range(60)]
    for kind in ("x", *networks.KINDS[1:], *networks.ACTIVATIONS):
        assert sum(kind in one.split() for one in words) > 2


@pytest.mark.slow
def test_a_planted_cause_is_blamed_and_intervals_are_counted():
    found = measure(study.Parameters(plant="step", starts=8), Seed(0, 0))
    assert found["share"][study.CAUSES.index("step")] > 80
    assert 0 <= found["covered"][study.CAUSES.index("step")] <= 1
    assert np.isnan(found["covered"][study.CAUSES.index("batches")])


@pytest.mark.slow
def test_what_is_said_of_a_drawn_network_comes_with_its_miss():
    found = measure(study.Parameters(kind="drawn", starts=2), Seed(0, 1))
    assert np.isfinite(found["miss"])
    assert found["said"] in (0, 1, 2, 3)
