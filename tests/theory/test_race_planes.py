"""The race from given weights: the network where nothing is left out, the closed form where it is wide, masks in parts."""

from functools import cache

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from foretrain.errors import ArgumentError
from foretrain.networks.routing_start import orthogonal_stack
from foretrain.tasks.masks import circulant, random_rows
from foretrain.theory.pathways.race import race_factors
from foretrain.theory.pathways.race_parts import from_random
from foretrain.theory.pathways.race_planes import Planes, flow, part_flow, part_planes, planes
from foretrain.theory.pathways.race_schemes import gains, random_scheme

S, D, SCALE, WIDTH = np.array([3.4, 1.6, 0.75]), np.full(3, 0.25), 0.2, 48
TIMES, ALONG = np.arange(0, 60.0, 0.6), np.linspace(0, 60, 31)
UNEVEN = np.array([0.25, 0.2, 0.25])
LAYERS = {4: 0.8, 6: 0.99}  # trained outputs of six to how much is explained, at least


@cache
def start(seed=0):
    drawn = [
        SCALE * orthogonal_stack(np.random.default_rng([seed, part]), count, WIDTH, columns)
        for part, (count, columns) in enumerate([(6, 3), (1, WIDTH), (6, 3)])
    ]
    return drawn[0], drawn[1][0], drawn[2]


@cache
def network(outputs):
    """Singular values of a network's layers, shape (time, 3, mode), by steps of the midpoint rule."""
    pairs = circulant(6, outputs).astype(float)

    def velocity(b, n, c):
        ahead, back = n @ b, n.T @ c
        error = np.diag(S) - np.einsum("jha,ihb->ijab", c, ahead) * D
        error *= pairs[:, :, None, None] / pairs.sum()
        inner = np.einsum("ihb,ikb->hk", np.einsum("jha,ijab->ihb", c, error), b)
        first = np.einsum("jha,ijab->ihb", back, error)
        return first, inner, np.einsum("ihb,ijab->jha", ahead, error)

    weights, result, step = start(), [], 0.15
    for number in range(len(TIMES) * 4):
        if number % 4 == 0:
            b, n, c = (np.linalg.svd(item, compute_uv=False) for item in weights)
            result.append([b.mean(0), n[:3], c.mean(0)])
        half = [w + step / 2 * v for w, v in zip(weights, velocity(*weights), strict=True)]
        weights = [w + step * v for w, v in zip(weights, velocity(*half), strict=True)]
    return np.array(result)


def left(result, outputs):
    """Share of what parts each layer from the race of wide weights that is left, largest over layers."""
    race = from_random(SCALE, TIMES, circulant(6, outputs), S, D)
    wide = np.stack([race.outer, race.hidden, race.outer], 1)
    gaps = (((network(outputs) - item) ** 2).sum((0, 2)) for item in (result, wide))
    return float(np.divide(*gaps).max())


@pytest.mark.slow
@pytest.mark.parametrize("outputs", LAYERS)
def test_layers_grow_as_their_own_start_says(outputs):
    own = part_planes(*start(), circulant(6, outputs))
    result = part_flow(own, TIMES, S, D)
    assert left(result, outputs) < 1 - LAYERS[outputs]
    np.testing.assert_allclose(result[0], SCALE)
    # Where all is learned, it rests.
    np.testing.assert_allclose(*part_flow(own, [60, 1e9], S, D), rtol=0.01)
    # Another start, every part at the pace of the mean, or the hidden matrix turned around.
    others = part_planes(*start(1), circulant(6, outputs))
    turned = part_planes(start()[0], start()[1].T, start()[2], circulant(6, outputs))
    for wrong in (others, Planes(own.encoders, own.hidden, own.decoders, np.ones(6)), turned):
        assert left(part_flow(wrong, TIMES, S, D), outputs) > 0.2


def test_refuses_what_has_no_such_race():
    with pytest.raises(ArgumentError, match="`trained_pairs` must be biregular"):
        part_planes(*start(), random_rows(6, 3, np.random.default_rng(1)))
    with pytest.raises(ArgumentError, match="`hidden` must be multiples of orthogonal matrices"):
        part_planes(start()[0], np.diag(np.arange(1.0, 1 + WIDTH)), start()[2], circulant(6, 4))


def orthogonal(random, *shape):
    return np.linalg.qr(random.standard_normal(shape))[0]


def test_one_domain_alone_is_the_whole_network():
    """With a module for every route and as many outputs as modes nothing is left out: the three matrices of a deep network."""
    random, scale, width = np.random.default_rng(0), 0.3, 11
    first, last = (scale * orthogonal(random, width, 3) for _ in range(2))
    hidden = scale * orthogonal(random, width, width)
    factors = race_factors(1, 1)
    result = flow([planes(first[None], hidden[None], last[None])], ALONG, S, UNEVEN, [factors])

    def velocity(_, state):
        w1, w2, w3 = np.split(state, [3 * width, 3 * width + width**2])
        w1, w2, w3 = w1.reshape(width, 3), w2.reshape(width, width), w3.reshape(3, width)
        error = np.diag(S) - w3 @ w2 @ w1 * UNEVEN
        parts = w2.T @ w3.T @ error, w3.T @ error @ w1.T, error @ (w2 @ w1).T
        return np.concatenate([part.ravel() for part in parts])

    start = np.concatenate([first.ravel(), hidden.ravel(), last.T.ravel()])
    whole = solve_ivp(velocity, (0, 60), start, t_eval=ALONG, rtol=1e-9, atol=1e-11)
    w1, w2, w3 = np.split(whole.y.T, [3 * width, 3 * width + width**2], axis=1)
    shapes = (-1, 3, width), (-1, width, width), (-1, width, 3)
    w3, w2, w1 = (w.reshape(shape) for w, shape in zip((w3, w2, w1), shapes, strict=True))
    gain = np.einsum("tmh,thk,tkm->tm", w3, w2, w1)
    assert result.gain[:, 0] == pytest.approx(gain, abs=2e-5 * gain.max())
    power = np.linalg.norm(w1, axis=1) * np.linalg.norm(w3, axis=2)
    assert result.outer_power[:, 0] == pytest.approx(power, rel=1e-4)


@pytest.mark.slow
def test_vectors_that_overlap_with_nothing_follow_the_closed_form_alone_and_in_a_duel():
    scale, s, d = 0.2, S[:1], D[:1]
    shift = np.roll(np.eye(4), 1, axis=0)  # takes each vector to one that is orthogonal to all
    schemes, closed, shares = [], [], []
    for paths, size in ((4, 1.0), (16, 0.4)):
        factors = race_factors(4, paths)
        start = size * scale * factors.ratio**-0.5 * np.eye(4)
        schemes.append(planes(start[None, :, :1], size * scale * shift[None], start[None, :, 2:3]))
        closed.append(random_scheme(size * scale, factors))
        shares.append(factors)
    for some in (slice(0, 1), slice(None)):
        assert flow(schemes[some], 10 * ALONG, s, d, shares[some]).gain[..., 0] == pytest.approx(
            gains(closed[some], 10 * ALONG, *s, *d), rel=1e-3, abs=1e-5
        )


def test_refuses_what_does_not_stay_on_planes_and_times_that_go_back():
    random = np.random.default_rng(2)
    first, last, hidden = (random.standard_normal((1, 30, n)) for n in (2, 2, 30))
    with pytest.raises(ArgumentError, match="`hidden` must be multiples of orthogonal matrices"):
        planes(first, hidden, last)
    many = planes(*(np.repeat(a, 2, 0) for a in (first, orthogonal(random, 30, 30)[None], last)))
    with pytest.raises(ArgumentError, match="`start` must have at most one of several modules"):
        flow([many, many], [0.0, 1.0], S[:2], D[:2], [race_factors(1, 1)] * 2)
