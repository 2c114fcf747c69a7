import numpy as np
import pytest

from foretrain.degeneracy.volume import in_box
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
