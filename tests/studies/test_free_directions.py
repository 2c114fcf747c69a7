"""The study's networks are what it says; every sentence holds on a made-up grid and fails on another."""

import dataclasses

import numpy as np
import pytest
from made_up import check, runs

from foretrain.degeneracy.ablation import all_bases
from foretrain.degeneracy.synchronization import disagreement
from foretrain.plans.grid import Grid
from foretrain.streams import Seed
from foretrain.studies.free_directions import measurement, scales, study
from foretrain.vocabulary import lookup

KINDS = ("drawn", "dependent", "synchronized", "deep", "deeper")
SEEDS, NETWORKS = 10, 20
FULL = study.Parameters()
P = study.Parameters(networks=2, samples=300, updates=60)


@pytest.fixture(autouse=True)
def few_draws(monkeypatch):
    monkeypatch.setattr(scales, "DRAWS", 20)


@pytest.mark.parametrize("kind", ["synchronized", "deep", "approximate", "decay", "sampled"])
def test_what_is_measured_is_declared_and_handed_on(kind):
    p = dataclasses.replace(P, kind=kind)
    found = measurement.measure(p, Seed(0, 0))
    labels = study.labels(p)
    for name, values in found.items():
        dims = lookup(name).dims
        assert values.ndim == len(dims), name
        for dim, length in zip(dims, values.shape, strict=True):
            assert length == (p.networks if dim == "network" else len(labels[dim])), name
        assert np.isfinite(values).all(), name
    other = measurement.measure(p, Seed(0, 1))
    assert any(not np.array_equal(found[name], other[name]) for name in found)


def test_planted_gates_disagree_by_the_share_that_was_flipped():
    network, x = measurement.planted(np.random.default_rng(0), (1, 2), (2, 2), 2000)
    assert disagreement(network, x, 1)[2:, 2:].max() == 0
    network, x = measurement.planted(np.random.default_rng(0), (1, 2), (2, 2), 2000, 0.1)
    apart = disagreement(network, x, 1)
    assert apart[:2, :2].max() == 0  # one input alone has but one sign
    assert 0 < apart[2, 3] < 0.1


def test_decay_alone_moves_weights_along_directions_of_zero_variance():
    p = dataclasses.replace(P, kind="decay", samples=100)
    null = measurement.measure(p, Seed(0, 0))["null_weight"]
    decayed = (1 - p.learning_rate * p.weight_decay) ** study.shown(p)
    np.testing.assert_allclose(null, [np.ones(len(decayed)), decayed], rtol=1e-12)


def test_fewest_edges_keep_the_loss_below_the_scale():
    random = np.random.default_rng(0)
    network, x = measurement.drawn(random, (3, 4, 5), "relu", True), random.normal(size=(200, 3))
    for basis in all_bases(network, x, few=True, names=("global", "neurons")).values():
        kept = scales.fewest_edges(network, x, basis, np.array([1e-12, 1.0, 1e9]))
        sizes = [a.size * b.size for a, b in zip(basis.layers, basis.layers[1:], strict=False)]
        assert kept[0] <= sum(sizes)
        assert kept[0] > kept[1] > kept[2] == 0


def grid(
    beyond=0,
    sources=(5, 2, 4, 0),
    squares=0,
    left=0,
    power=1.0,
    law=1.0,
    counted_by=0,
    roots=0,
    least=-1,
    edges=-2,
    decades=0.1,
):
    """Networks that are as the theory says, but for what is counted, left, lost and forgotten."""
    shape = (len(KINDS), SEEDS, NETWORKS)
    counted = np.broadcast_to(np.array(sources, float)[:, None], (*shape[:2], 4, NETWORKS)).copy()
    counted[..., 0, : NETWORKS // 2] += beyond
    ones = np.ones(shape)
    axes = {"kind": KINDS}
    # Effective parameters of networks that differ, fewer at larger scales.
    curve = (29 - 4 * np.arange(len(study.SCALES)))[:, None] - np.arange(NETWORKS) % 3
    shifts = {
        "effective": 0,
        "counted_at_scale": counted_by,
        "counted_by_roots": roots,
        "left_at_scale": least,
        "edges_at_scale": edges,
    }
    scales = {name: curve + by for name, by in shifts.items()}
    names = {name: (name, values) for name, values in study.labels(FULL).items()}
    simulation = runs(
        axes,
        SEEDS,
        {
            "parameter_count": 40 * ones,
            "counted": counted,
            "counted_by_squares": 11 * ones - squares,
            "deficit": 11 * ones,
            "parameters_left": (29 + left) * ones,
        }
        | scales,
        labels={"free_source": ("free_source", list(study.SOURCES))},
    )
    share = np.array(study.SHARES)[:, None] * np.ones((SEEDS, 1, NETWORKS))
    near = runs(
        {},
        SEEDS,
        {
            "disagreement": share,
            "mixing_loss": share**power,
        },
        labels={"flipped_share": names["flipped_share"]},
    )
    update = study.shown(FULL)
    forgotten = (1 - FULL.learning_rate * FULL.weight_decay) ** (law * update)
    null = np.stack([np.ones(len(update)), forgotten]) * np.ones((SEEDS, 1, 1))
    trained = runs(
        {},
        SEEDS,
        {"null_weight": null},
        labels={"decayed": names["decayed"], "update": names["update"]},
    )
    smooth = 18.0 - 2 * np.arange(len(study.SCALES))[:, None] * np.ones((SEEDS, 1, 4))
    sampled = 18.0 - 2 * (np.log10(study.SAMPLED / study.SCALES[0]) + decades)[:, None] * np.ones(
        (SEEDS, 1, 4)
    )
    chains = runs(
        {},
        SEEDS,
        {"smooth": smooth, "sampled": sampled},
        labels={name: names[name] for name in ("noise_scale", "sampled_scale")},
    )
    variants = {"approximate": near, "decay": trained, "sampled": chains}
    return Grid(FULL, axes, SEEDS, simulation=simulation, variants=variants)


def test_every_sentence_can_hold_and_fail():
    spoilt = {
        "accounted": lambda: grid(beyond=-1),
        "accounted.corrected": lambda: grid(sources=(5, 2, 3, 0)),
        "squares": lambda: grid(squares=1),
        "squares.corrected": lambda: grid(beyond=-1),
        "enough": lambda: grid(left=-1),
        "enough.corrected": lambda: grid(left=3),
        "by-roots": lambda: grid(roots=-5),
        "by-roots.corrected": lambda: grid(counted_by=5),
        "enough-at-scale": lambda: grid(least=1),
        "enough-at-scale.corrected": lambda: grid(edges=1),
        "by-volume": lambda: grid(decades=1.5),
        "rise-power": lambda: grid(power=0.7),
        "forgotten": lambda: grid(law=1.001),
    }
    good = dict.fromkeys(spoilt, grid)
    good["accounted.corrected"] = lambda: grid(sources=(5, 2, 3, 1))
    check("free-directions", good, spoilt)
