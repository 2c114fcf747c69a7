import jax
import numpy as np

from foretrain import streams


def test_streams_differ_by_name_seed_and_root_and_repeat():
    draws = {
        (root, number, stream): tuple(draw(root, number, stream))
        for root, number, stream in [(0, 0, "mask"), (0, 0, "data"), (0, 1, "mask"), (1, 0, "mask")]
    }
    assert len(set(draws.values())) == 4
    assert draws[0, 0, "mask"] == tuple(draw(0, 0, "mask"))


def draw(root, number, stream):
    return streams.generator(streams.Seed(root, number), stream).integers(0, 2**31, 4)


def test_traced_keys_are_the_keys():
    plain = jax.random.key_data(streams.key(3, 5, "weights"))
    traced = jax.jit(lambda r, s: jax.random.key_data(streams.key(r, s, "weights")))(3, 5)
    np.testing.assert_array_equal(plain, traced)
    assert (plain != jax.random.key_data(streams.key(3, 6, "weights"))).any()
