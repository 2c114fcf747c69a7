"""The study's networks are what it says, and what it measures is declared."""

import dataclasses

import numpy as np
import pytest

from foretrain.degeneracy.synchronization import disagreement
from foretrain.streams import Seed
from foretrain.studies.free_directions import measurement, scales, study
from foretrain.vocabulary import lookup

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


def test_descent_follows_the_slope_of_its_loss():
    random = np.random.default_rng(0)
    x, y = random.normal(size=(20, 3)), random.normal(size=(20, 2))
    start = random.normal(size=(4, 3)), random.normal(size=(2, 4))
    p = dataclasses.replace(P, learning_rate=1e-6)

    def loss(first, second):
        gap = np.maximum(x @ first.T, 0) @ second.T - y
        return 0.5 * (gap**2).sum(1).mean() + 0.05 * sum((w**2).sum() for w in (first, second))

    curves = measurement.descended(p, x, y, x, np.eye(3)[:1], start, 0.1)
    slopes = []
    for at in range(2):
        slope = np.zeros_like(start[at])
        for place in np.ndindex(slope.shape):
            for sign in (1, -1):
                moved = [w.copy() for w in start]
                moved[at][place] += sign * 1e-5
                slope[place] += sign * loss(*moved) / 2e-5
        slopes.append(slope)
    end = [w - 60 * p.learning_rate * s for w, s in zip(start, slopes, strict=True)]
    null = [np.linalg.norm(w[:, 0]) for w in (start[0], end[0])]
    assert curves[0, -1] - curves[0, 0] == pytest.approx(null[1] - null[0], rel=1e-3)

    def fit(first, second):
        return ((np.maximum(x @ first.T, 0) @ second.T - y) ** 2).sum(1).mean()

    assert curves[2, 0] == pytest.approx(fit(*start))
    assert curves[2, -1] - curves[2, 0] == pytest.approx(fit(*end) - fit(*start), rel=1e-3)


def test_fewest_edges_keep_the_loss_below_the_scale():
    random = np.random.default_rng(0)
    network, x = measurement.drawn(random, (3, 4, 5), "relu", True), random.normal(size=(200, 3))
    for basis in scales._bases(network, x).values():
        kept = scales._edges(network, x, basis, np.array([1e-12, 1.0, 1e9]))
        sizes = [a.size * b.size for a, b in zip(basis.layers, basis.layers[1:], strict=False)]
        assert kept[0] <= sum(sizes)
        assert kept[0] > kept[1] > kept[2] == 0
