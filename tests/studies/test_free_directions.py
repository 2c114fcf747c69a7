"""The study's networks are what it says, and its program hands on what was measured."""

import dataclasses

import numpy as np
import pytest

from foretrain.degeneracy.synchronization import disagreement
from foretrain.streams import Seed
from foretrain.studies.free_directions import study, training
from foretrain.vocabulary import lookup

P = study.Parameters(networks=2, samples=200, updates=60)


@pytest.mark.parametrize("kind", ["synchronized", "deep", "approximate", "decay"])
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
