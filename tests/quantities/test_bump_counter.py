"""Counting bumps in one passage gives what looking at the whole record gives."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from foretrain.quantities import bump_counter
from foretrain.quantities.bumps import bumps_per_component


def passage(curves, prominence, aligned_at=0.25):
    counter = bump_counter.start(curves[0])
    for alignments in curves[1:]:
        counter = bump_counter.update(counter, alignments, prominence, aligned_at)
    return counter


def smooth_curves(seed, targets=3, components=4, times=90):
    """Random walks, smoothed, squashed into (-1, 1)."""
    rng = np.random.default_rng(seed)
    steps = np.cumsum(rng.standard_normal((times + 20, targets, components)), axis=0)
    kernel = np.ones(20) / 20
    smooth = np.apply_along_axis(lambda column: np.convolve(column, kernel, "valid"), 0, steps)
    return np.tanh(smooth / 8)


@pytest.mark.parametrize("prominence", [0.1, 0.3])
@pytest.mark.parametrize("seed", range(10))
def test_one_passage_counts_as_the_whole_record_does(seed, prominence):
    curves = smooth_curves(seed)
    counter = passage(curves, prominence)
    assert (counter.heights[-1] == -2).all(), "no curve of this test fills all slots"
    counted = bump_counter.bumps_at_end(counter, curves[-1], prominence).sum(0)
    expected = bumps_per_component(curves, prominence=prominence)
    np.testing.assert_array_equal(counted, expected)
    assert expected.sum() > 0


def test_counting_in_jax_is_counting_in_numpy():
    curves = smooth_curves(3).astype(np.float32)
    expected = passage(curves, 0.1)

    def advance(counter, alignments):
        return bump_counter.update(counter, alignments, jnp.float32(0.1), jnp.float32(0.25)), None

    first = bump_counter.start(jnp.asarray(curves[0]))
    result, _ = jax.jit(lambda: jax.lax.scan(advance, first, jnp.asarray(curves[1:])))()
    for own, other in zip(result, expected, strict=True):
        np.testing.assert_array_equal(own, other)
    assert (expected.heights > -2).any()


def test_first_target_is_the_first_reached_and_stays():
    curves = np.zeros((5, 2, 2))
    curves[1:, 1, 0] = 0.3
    curves[2:, 0, 0] = 0.9
    assert passage(curves, 0.1).first_target.tolist() == [1, -1]


def test_a_curve_counts_no_more_maxima_than_there_are_slots_and_stays_finite():
    counter = passage(np.concatenate([np.tile([0.0, 0.5], 8).reshape(-1, 1, 1), [[[0.0]]]]), 0.1)
    assert all(np.isfinite(leaf).all() for leaf in counter)
    assert (counter.heights > -2).sum() == bump_counter.SLOTS
