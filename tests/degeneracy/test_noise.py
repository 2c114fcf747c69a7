import jax
import numpy as np
import pytest
from scipy import stats

from foretrain.degeneracy.sampled import noise

COUNT = 200_000


def normals(key):
    return np.asarray(jax.random.normal(key, (COUNT,)), float)


def test_numbers_are_normal_and_streams_independent():
    first, second = noise.keys(noise.words(0, 2))
    following = jax.random.fold_in(first, 1)
    left, right = jax.random.split(first)
    drawn = [normals(key) for key in (first, second, following, left, right)]
    with jax.enable_x64(True):  # of two words each
        drawn.append(normals(noise.keys(noise.words(1, 1))[0]))
    for z in drawn:
        assert stats.kstest(z, "norm").pvalue > 1e-3
        moments = [z.mean(), (z**2).mean() - 1, (z**3).mean(), (z**4).mean() - 3]
        np.testing.assert_array_less(
            np.abs(moments), 4.5 * np.sqrt(np.array([1, 2, 15, 96]) / COUNT)
        )
        lags = [(z[lag:] * z[:-lag]).mean() for lag in (1, 2, 3, 64, 1024)]
        squares = [((z[lag:] ** 2 - 1) * (z[:-lag] ** 2 - 1)).mean() / 2 for lag in (1, 2, 64)]
        assert np.abs(lags + squares).max() < 4.5 / np.sqrt(COUNT)
    assert np.abs(np.corrcoef(drawn) - np.eye(len(drawn))).max() < 4.5 / np.sqrt(COUNT)


def test_bits_are_even_and_all_kinds_of_numbers_come():
    key = noise.keys(noise.words(1, 1))[0]
    bits = np.asarray(jax.random.bits(key, (COUNT,), "uint32"))
    share = np.unpackbits(bits.view(np.uint8)).reshape(COUNT, 32).mean(0)
    assert np.abs(share - 0.5).max() < 4.5 * 0.5 / np.sqrt(COUNT)
    assert stats.chisquare(np.bincount(bits % 10, minlength=10)).pvalue > 1e-3
    assert np.asarray(jax.random.bits(key, (100,), "uint8")).std() > 50


@pytest.mark.parametrize("number", [0, 7])
def test_words_differ_by_seed_stream_and_number(number):
    words = np.concatenate([noise.words(seed, 3, number) for seed in (0, 1, 2**40)])
    assert len({tuple(word) for word in words}) == 9
    assert not (noise.words(0, 3, number) == noise.words(0, 3, number + 1)).all()
    np.testing.assert_array_equal(noise.words(0, 2, number), noise.words(0, 3, number)[:2])
