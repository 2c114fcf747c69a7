"""The race from given initial weights: the whole network where nothing is left out, the closed form where it is wide."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from foretrain.errors import ArgumentError
from foretrain.theory.pathways.race import race_factors
from foretrain.theory.pathways.race_planes import flow, planes
from foretrain.theory.pathways.race_schemes import gains, random_scheme

S, D = np.array([3.4, 1.6, 0.75]), np.array([0.25, 0.2, 0.25])
TIMES = np.linspace(0, 60, 31)


def orthogonal(random, *shape):
    return np.linalg.qr(random.standard_normal(shape))[0]


def test_one_domain_alone_is_the_whole_network():
    """With a module for every route and as many outputs as modes nothing is left out: the three matrices of a deep network."""
    random, scale, width = np.random.default_rng(0), 0.3, 11
    first, last = (scale * orthogonal(random, width, 3) for _ in range(2))
    hidden = scale * orthogonal(random, width, width)
    factors = race_factors(1, 1)
    found = flow([planes(first[None], hidden[None], last[None])], TIMES, S, D, [factors])

    def velocity(_, state):
        w1, w2, w3 = np.split(state, [3 * width, 3 * width + width**2])
        w1, w2, w3 = w1.reshape(width, 3), w2.reshape(width, width), w3.reshape(3, width)
        error = np.diag(S) - w3 @ w2 @ w1 * D
        parts = w2.T @ w3.T @ error, w3.T @ error @ w1.T, error @ (w2 @ w1).T
        return np.concatenate([part.ravel() for part in parts])

    start = np.concatenate([first.ravel(), hidden.ravel(), last.T.ravel()])
    whole = solve_ivp(velocity, (0, 60), start, t_eval=TIMES, rtol=1e-9, atol=1e-11)
    w1, w2, w3 = np.split(whole.y.T, [3 * width, 3 * width + width**2], axis=1)
    shapes = (-1, 3, width), (-1, width, width), (-1, width, 3)
    w3, w2, w1 = (w.reshape(shape) for w, shape in zip((w3, w2, w1), shapes, strict=True))
    gain = np.einsum("tmh,thk,tkm->tm", w3, w2, w1)
    assert found.gain[:, 0] == pytest.approx(gain, abs=2e-5 * gain.max())
    power = np.linalg.norm(w1, axis=1) * np.linalg.norm(w3, axis=2)
    assert found.outer_power[:, 0] == pytest.approx(power, rel=1e-4)


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
        found = flow(schemes[some], 10 * TIMES, s, d, shares[some])
        assert found.gain[..., 0] == pytest.approx(
            gains(closed[some], 10 * TIMES, *s, *d), rel=1e-3, abs=1e-5
        )


def test_refuses_what_does_not_stay_on_planes_and_times_that_go_back():
    random = np.random.default_rng(2)
    first, last, hidden = (random.standard_normal((1, 30, n)) for n in (2, 2, 30))
    with pytest.raises(ArgumentError, match="`hidden` must be multiples of orthogonal matrices"):
        planes(first, hidden, last)
    many = planes(*(np.repeat(a, 2, 0) for a in (first, orthogonal(random, 30, 30)[None], last)))
    with pytest.raises(ArgumentError, match="`start` must have at most one of several modules"):
        flow([many, many], [0.0, 1.0], S[:2], D[:2], [race_factors(1, 1)] * 2)
