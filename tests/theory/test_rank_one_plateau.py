import numpy as np
import pytest

from foretrain.theory.factorization import rank_one
from foretrain.theory.factorization.rank_one import RankOneState, loss, reduce
from foretrain.theory.factorization.rank_one_plateau import (
    early_solution,
    plateau,
    plateau_estimate,
)


def gaussian_start(rng, dimension, init_scale):
    x, y = rng.standard_normal((2, dimension)) * init_scale / np.sqrt(dimension)
    first = np.zeros(dimension)
    first[0] = 1
    return reduce(x, y, first, first)


def as_rows(state):
    return np.array([state.overlap_x, state.overlap_y, state.irrelevant_x, state.irrelevant_y])


@pytest.mark.parametrize("weight_decay", [0.0, 0.3])
def test_plateau_begins_and_ends_where_the_loss_says(weight_decay):
    start = gaussian_start(np.random.default_rng(1), 100, 1.0)
    found = plateau(start, level=0.1, weight_decay=weight_decay)
    assert 0 < found.start < found.end
    ends = loss(rank_one.flow(start, [found.start, found.end], weight_decay))
    np.testing.assert_allclose(ends, [1.1, 0.9], atol=1e-9)
    grid = np.linspace(0, found.end, 2000)[:-1]
    assert (loss(rank_one.flow(start, grid, weight_decay)) > 0.9).all()


@pytest.mark.parametrize("weight_decay", [0.0, 0.7])
def test_early_solution_is_exact_to_first_order_in_the_overlaps(weight_decay):
    times = np.array([0.0, 0.3, 1.0, 2.0])
    errors = []
    for size in (1e-3, 1e-4):
        # Equal irrelevant parts if there is weight decay: otherwise the Magnus series is cut off.
        q = 0.5 if weight_decay == 0 else 0.9
        start = RankOneState(size, -0.4 * size, 0.9, q)
        exact = as_rows(rank_one.flow(start, times, weight_decay))
        early = as_rows(early_solution(start, times, weight_decay))
        errors.append(np.abs(early - exact)[:2].max() / size)
        np.testing.assert_allclose(early[:, 0], exact[:, 0], rtol=1e-14)
    # The error relative to the overlaps is of second order: it falls 100-fold.
    assert errors[1] == pytest.approx(errors[0] / 100, rel=0.05)
    assert errors[0] < 1e-2


@pytest.mark.parametrize(
    ("dimension", "init_scale", "weight_decay", "allowed"),
    [
        # What is dropped is of order alpha^2 t ~ init_scale^2 t/n during the fall of p, q, and
        # level^2 at the end.
        (10_000, 0.1, 0.0, 1e-3),
        (10_000, 1.0, 0.0, 2e-2),
        (100, 0.1, 0.5, 2e-2),
        (100, 1.0, 0.0, 0.2),
        (100, 1.0, 0.5, 0.2),
    ],
)
def test_closed_form_plateau_is_close_to_the_exact_one(
    dimension, init_scale, weight_decay, allowed
):
    rng = np.random.default_rng(3)
    for _ in range(10):
        start = gaussian_start(rng, dimension, init_scale)
        exact = plateau(start, weight_decay=weight_decay)
        estimate = plateau_estimate(start, weight_decay=weight_decay)
        assert estimate.start == pytest.approx(exact.start, abs=allowed)
        assert estimate.end == pytest.approx(exact.end, abs=allowed)


def test_weight_decay_lengthens_the_plateau_until_it_never_ends():
    start = RankOneState(0.0037, 0.0037, 0.0099, 0.0099)  # typical of 100 numbers at scale .1
    decays = [0.0, 0.5, 1.0, 1.5]
    for function in (plateau, plateau_estimate):
        lengths = [function(start, weight_decay=decay).length for decay in decays]
        assert (np.diff(lengths) > 0).all()
        # The end has loss lambda^2/4 > .9 from lambda = 1.897 on.
        assert function(start, weight_decay=1.95).end == np.inf
        assert function(start, weight_decay=3.0).end == np.inf


def test_a_start_below_the_plateau_has_none():
    low = RankOneState(0.9, 0.9, 0.0, 0.0)
    assert plateau(low) == plateau_estimate(low)
    assert plateau(low).length == 0


def test_a_start_without_signal_never_leaves_the_plateau():
    opposed = RankOneState(0.1, -0.1, 0.0, 0.0)
    assert plateau(opposed, until=5.0).end == np.inf
    assert plateau_estimate(opposed).end == np.inf
