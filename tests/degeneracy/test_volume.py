import dataclasses

import numpy as np
import pytest

from foretrain.degeneracy.volume import in_box, nested
from foretrain.errors import ArgumentError
from foretrain.theory import landscapes

SCALES = np.array([1e-4, 1e-3, 1e-2, 1e-1])


@pytest.mark.parametrize(
    "landscape",
    [
        landscapes.product(),
        landscapes.product(1, 2),
        landscapes.power(2),
        landscapes.crossover(0.3),
    ],
    ids=lambda one: one.name,
)
def test_draws_from_the_box_find_the_curve_within_their_error(landscape):
    found = in_box(
        landscape.loss, landscape.dimension, SCALES, np.random.default_rng(0), draws=300_000
    )
    # The window bends the curve by h^2/6 of its second derivative in ln eps: below .002 here.
    gap = np.abs(found.value - landscape.by_volume(SCALES))
    assert (gap < 4 * found.error + 0.002).all()
    assert (found.error < 0.02).all()


def test_errors_of_draws_are_as_large_as_their_spread():
    one = landscapes.product()
    runs = [
        in_box(one.loss, 2, [1e-2], np.random.default_rng(seed), draws=4000) for seed in range(200)
    ]
    spread = np.std([run.value[0] for run in runs])
    assert 0.85 < spread / np.mean([run.error[0] for run in runs]) < 1.15


def test_scales_that_too_few_draws_reach_have_no_value():
    one = landscapes.quadratic(np.ones(12))
    found = in_box(one.loss, 12, [1e-6, 1.0], np.random.default_rng(0), draws=2000)
    assert np.isnan(found.value[0])
    assert np.isnan(found.error[0])


def test_levels_reach_where_draws_cannot():
    """Twelve parameters of which two are flat: lambda = 5 for eps < h_min/2, V the volume of an ellipsoid."""
    h = np.geomspace(1, 30, 10)
    one = landscapes.quadratic(h, flat=2)
    found = nested(one.loss, 12, 3e-2, np.random.default_rng(0), walkers=400, moves=40)
    low = found.scale < one.below
    assert low.sum() > 15
    mean, error = found.value[low].mean(), found.error[low].mean() / np.sqrt(low.sum())
    assert abs(mean - 5) < 4 * error + 0.05
    # ln of the ellipsoid's share of the box: pi^(k/2)/Gamma(k/2 + 1) prod (2 eps/h)^(1/2) / 2^k.
    from scipy.special import gammaln

    exact = 5 * np.log(np.pi) - gammaln(6) + 0.5 * np.log(2 * found.scale[-1] / h).sum()
    exact -= 10 * np.log(2)
    assert abs(found.log_volume[-1] - exact) < 5 * np.sqrt(len(found.scale) / 400)
    # Halves that forget differ by their error: a root mean square of so many levels is 1 within three of its deviations.
    assert abs(found.spread - 1) < 3 / np.sqrt(2 * len(found.scale))
    assert not found.doubts()


def test_walkers_that_do_not_forget_are_found_out_by_their_halves():
    """One move a level in twelve dimensions leaves walkers copies of each other."""
    one = landscapes.quadratic(np.geomspace(1, 30, 10), flat=2)
    found = nested(one.loss, 12, 3e-2, np.random.default_rng(0), walkers=400, moves=1)
    independent = found.value / np.log(2) / np.sqrt(400)
    assert found.error == pytest.approx(independent * found.spread)
    assert found.spread > 1.5
    assert "halves of the walkers differ" in found.doubts()[0]
    apart = dataclasses.replace(found, spread=1.0, drift=-4.0)
    assert apart.doubts() == [
        "halves disagree on the volume by 4.0 standard errors: take more walkers and moves"
    ]


def test_levels_of_a_cross_bend_as_its_curve_does():
    one = landscapes.product()
    found = nested(one.loss, 2, 1e-6, np.random.default_rng(1), walkers=2000)
    gap = (found.value - one.by_volume(found.scale)) / found.error
    assert np.abs(gap).max() < 4.5
    assert abs(gap.mean()) < 4 / np.sqrt(len(gap))


def test_a_loss_without_levels_and_too_few_walkers_are_refused():
    random = np.random.default_rng(0)
    with pytest.raises(ArgumentError, match="`loss` must fall below every level, but stays at 1"):
        nested(lambda w: np.ones(len(w)), 2, 1e-3, random, walkers=50, moves=2)
    with pytest.raises(ArgumentError, match="`walkers` must be at least 40"):
        nested(lambda w: w[:, 0] ** 2, 2, 1e-3, random, walkers=5)
