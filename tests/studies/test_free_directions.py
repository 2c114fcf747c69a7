"""The study's networks are what it says, and its program hands on what was measured."""

import dataclasses

import numpy as np
import pytest

from foretrain.degeneracy.synchronization import disagreement
from foretrain.streams import Seed
from foretrain.studies.free_directions import scales, study, training
from foretrain.vocabulary import lookup

P = study.Parameters(networks=2, samples=300, updates=60)


@pytest.fixture(autouse=True)
def few_paths(monkeypatch):
    monkeypatch.setattr(scales, "PATHS", 8)


@pytest.mark.parametrize("kind", ["synchronized", "deep", "approximate", "decay", "sampled"])
def test_what_is_measured_is_declared_and_handed_on(kind):
    p = dataclasses.replace(P, kind=kind)
    found = training.inputs(p, Seed(0, 0))
    program = training.program(p)
    handed = program.finish(found, program.init(found))
    labels = study.labels(p)
    for name, values in handed.items():
        dims = lookup(name).dims
        assert values.ndim == len(dims), name
        for dim, length in zip(dims, values.shape, strict=True):
            assert length == (p.networks if dim == "network" else len(labels[dim])), name
        assert np.isfinite(values).all(), name
    other = training.inputs(p, Seed(0, 1))
    assert any(not np.array_equal(found[name], other[name]) for name in handed)


def test_planted_gates_disagree_by_the_share_that_was_flipped():
    network, x = training.planted(np.random.default_rng(0), (1, 2), (2, 2), 2000)
    assert disagreement(network, x, 1)[2:, 2:].max() == 0
    network, x = training.planted(np.random.default_rng(0), (1, 2), (2, 2), 2000, 0.1)
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

    curves = training._descent(p, x, y, x, np.eye(3)[:1], start, 0.1)
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
    assert curves[-1][0] - curves[0][0] == pytest.approx(null[1] - null[0], rel=1e-3)

    def fit(first, second):
        return ((np.maximum(x @ first.T, 0) @ second.T - y) ** 2).sum(1).mean()

    assert curves[0][2] == pytest.approx(fit(*start))
    assert curves[-1][2] - curves[0][2] == pytest.approx(fit(*end) - fit(*start), rel=1e-3)


def test_paths_give_the_number_of_a_quadratic_and_of_a_quartic_loss(monkeypatch):
    """Of w^2 the sum of h/(h + 1/beta); of w^4, with no slope at all at the start, half a parameter."""
    monkeypatch.setattr(scales, "PATHS", 400)
    random, eps = np.random.default_rng(0), np.full((40, 1), 1e-4)
    h = np.array([1.0, 1e-3])
    share = h / (h + eps)
    spread = np.sqrt(1 - share)

    def quadratic(z):
        w = spread * z
        loss = (h * w**2).sum(1, keepdims=True)
        energy = loss / (2 * eps) + (w**2).sum(1, keepdims=True) / 2
        return energy, spread * (h * w / eps + w), loss

    np.testing.assert_allclose(
        scales._paths(random, quadratic, share, eps), share.sum(1), rtol=1e-9
    )
    assert np.ptp(scales._paths(random, quadratic, 0 * share, eps)) > 0.01  # not by standing still

    def quartic(z):
        loss = (z**4).sum(1, keepdims=True)
        return loss / (2 * eps) + (z**2).sum(1, keepdims=True) / 2, 2 * z**3 / eps + z, loss

    found = scales._paths(random, quartic, np.zeros((40, 1)), eps).mean()
    assert found == pytest.approx(0.5, abs=0.03)


def test_fewest_edges_keep_the_loss_below_the_scale():
    random = np.random.default_rng(0)
    network, x = training.drawn(random, (3, 4, 5), "relu", True), random.normal(size=(200, 3))
    for basis in scales._bases(network, x).values():
        kept = scales._edges(network, x, basis, np.array([1e-12, 1.0, 1e9]))
        sizes = [a.size * b.size for a, b in zip(basis.layers, basis.layers[1:], strict=False)]
        assert kept[0] <= sum(sizes)
        assert kept[0] > kept[1] > kept[2] == 0
