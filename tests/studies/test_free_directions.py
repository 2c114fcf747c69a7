"""The study's networks are what it says; every sentence holds on a made-up grid and fails on another."""

import dataclasses

import numpy as np
import pytest
from made_up import add, check, grid, runs

from foretrain.degeneracy.counts.synchronization import disagreement
from foretrain.streams import Seed
from foretrain.studies.free_directions import measurement, study
from foretrain.training.ablation import all_bases
from foretrain.vocabulary import lookup

KINDS = ("drawn", "dependent", "synchronized", "deep", "deeper")
SEEDS, NETWORKS = 10, 20
FULL = study.Parameters()
P = study.Parameters(networks=2, samples=300, updates=60)


@pytest.fixture(autouse=True)
def few_draws(monkeypatch):
    monkeypatch.setattr(measurement, "GRADIENTS", 10_000)


@pytest.mark.parametrize(
    "kind", ["synchronized", "deep", "approximate", "heads", "decay", "sampled"]
)
def test_what_is_measured_is_declared_and_handed_on(kind):
    p = dataclasses.replace(P, kind=kind)
    result = measurement.measure(p, Seed(0, 0))
    for name, values in result.items():
        dims = lookup(name).dims
        assert values.ndim == len(dims), name
        for dim, length in zip(dims, values.shape, strict=True):
            assert length == (p.networks if dim == "network" else len(study.labels(p)[dim])), name
        assert np.isfinite(values).all(), name
    other = measurement.measure(p, Seed(0, 1))
    assert any(not np.array_equal(result[name], other[name]) for name in result)


def test_planted_gates_disagree_by_the_share_that_was_flipped():
    network, x = measurement.planted(np.random.default_rng(0), (1, 2), (2, 2), 2000)
    assert disagreement(network, x, 1)[2:, 2:].max() == 0
    network, x = measurement.planted(np.random.default_rng(0), (1, 2), (2, 2), 2000, 0.1)
    distance = disagreement(network, x, 1)
    assert distance[:2, :2].max() == 0  # one input alone has but one sign
    assert 0 < distance[2, 3] < 0.1


def test_decay_alone_moves_weights_along_directions_of_zero_variance():
    p = dataclasses.replace(P, kind="decay", samples=100)
    null = measurement.measure(p, Seed(0, 0))["null_weight"]
    decayed = (1 - p.learning_rate * p.weight_decay) ** study.shown(p)
    np.testing.assert_allclose(null, [np.ones(len(decayed)), decayed], rtol=1e-12)


def test_fewest_edges_keep_the_loss_below_the_scale():
    random = np.random.default_rng(0)
    network, x = measurement.drawn(random, (3, 4, 5), "relu", True), random.normal(size=(200, 3))
    for basis in all_bases(network, x, names=("global", "neurons")).values():
        kept = measurement.fewest_edges(network, x, basis, np.array([1e-12, 1.0, 1e9]))
        sizes = [a.size * b.size for a, b in zip(basis.layers, basis.layers[1:], strict=False)]
        assert kept[0] <= sum(sizes)
        assert kept[0] > kept[1] > kept[2] == 0


def build():
    """Networks that are as the theory says."""
    ones = np.ones((len(KINDS), SEEDS, NETWORKS))
    # Effective parameters of networks that differ, fewer at larger scales.
    curve = (29 - 4 * np.arange(len(study.SCALES)))[:, None] - np.arange(NETWORKS) % 3
    labels = {name: (name, values) for name, values in study.labels(FULL).items()}

    def laid(axes, *names, **variables):
        return runs(axes, SEEDS, variables, labels={name: labels[name] for name in names})

    axes = {"kind": KINDS}
    own = laid(
        axes,
        "free_source",
        parameter_count=40 * ones,
        counted=np.array([5.0, 2, 4, 0])[:, None] * ones[:, :, None],
        counted_by_squares=11 * ones,
        deficit=11 * ones,
        parameters_left=29 * ones,
        effective=curve,
        counted_at_scale=curve,
        counted_by_roots=curve,
        left_at_scale=curve - 1,
        edges_at_scale=curve - 2,
    )
    share = np.array(study.SHARES)[:, None] * np.ones((SEEDS, 1, NETWORKS))
    fallen = (1 - FULL.learning_rate * FULL.weight_decay) ** study.shown(FULL)
    decades = np.log10(study.SAMPLED / study.SCALES[0]) + 0.1
    counts = {
        "smooth": 18.0 - 2 * np.arange(len(study.SCALES))[:, None] * np.ones(4),
        "sampled": 18.0 - 2 * decades[:, None] * np.ones(4),
    }
    alike = np.ones((SEEDS, 1)) * (np.arange(NETWORKS) % 3)
    heads = {"free_of_heads": 2 * alike, "heads_alike": alike, "pairs_alike": alike}
    variants = {
        "heads": laid({}, **heads),
        "approximate": laid({}, "flipped_share", disagreement=share, mixing_loss=share),
        "decay": laid({}, "decayed", "update", null_weight=[np.ones(len(fallen)), fallen]),
        "sampled": laid({}, "noise_scale", "sampled_scale", **counts),
    }
    return grid(FULL, axes, SEEDS, {"": own} | variants)


def test_every_sentence_can_hold_and_fail():
    spoilt = {
        "accounted": ("counted", add(-1)),
        "accounted.corrected": ("counted", add(-1)),
        "squares": ("counted_by_squares", add(-1)),
        "squares.corrected": ("counted", add(-1)),
        "enough": ("parameters_left", add(-1)),
        "enough.corrected": ("parameters_left", add(3)),
        "by-roots": ("counted_by_roots", add(-5)),
        "by-roots.corrected": ("counted_at_scale", add(5)),
        "enough-at-scale": ("left_at_scale", add(2)),
        "enough-at-scale.corrected": ("edges_at_scale", add(3)),
        "heads": ("heads/heads_alike", add(-1)),
        "heads.corrected": ("heads/pairs_alike", add(1)),
        "by-volume": ("sampled/sampled", add(-2.8)),
        "rise-power": ("approximate/mixing_loss", lambda v: v**0.7),
        "forgotten": ("decay/null_weight", lambda v: v**1.001),
    }
    check("free-directions", build, spoilt)
