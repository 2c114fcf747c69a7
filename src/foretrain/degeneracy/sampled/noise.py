"""A random number generator for chains: keys like JAX's own, bits at a quarter of their cost on a processor.

What a step of a sampler costs in small networks is its noise: JAX's default generator, made so that no key can be guessed,
takes longer than the gradient. Here word i of a key (k0, k1) is mix(mix(i + k0) ^ k1), mix being Wellons' bijection of 32
bits (two products and three shifts), which passes what chains need: moments and independence of words, keys and streams. All
of `jax.random` works with such keys.
"""

import math
from functools import cache
from typing import Any

import numpy as np

from foretrain.lazy import jax, jnp

_FIRST, _SECOND = np.uint32(0x7FEB352D), np.uint32(0x846CA68B)
_GOLDEN = np.uint32(0x9E3779B9)
_SALT = np.uint32(0xA511E9B3)  # bits of keys are not those of numbers


def _mix(x):
    x = (x ^ (x >> 16)) * _FIRST
    x = (x ^ (x >> 15)) * _SECOND
    return x ^ (x >> 16)


def _words(key, count: int):
    """So many words of a key."""
    numbers = jax.lax.iota("uint32", count)
    return _mix(_mix(numbers + key[0]) ^ key[1])


def _seed(seed):
    low = _mix(jnp.asarray(seed).astype("uint32") + _GOLDEN)
    return jnp.stack([low, _mix(low ^ _GOLDEN)])


def _split(key, shape):
    salted = jnp.stack([key[0], key[1] ^ _SALT])
    return _words(salted, 2 * math.prod(shape)).reshape(*shape, 2)


def _fold_in(key, data):
    data = jnp.asarray(data).astype("uint32")
    return jnp.stack([_mix(key[0] ^ _mix(data + _SALT)), _mix(key[1] + data)])


def _random_bits(key, bit_width, shape):
    count = math.prod(shape)
    if bit_width == 64:
        words = _words(key, 2 * count).astype("uint64")
        return ((words[:count] << 32) | words[count:]).reshape(shape)
    return _words(key, count).astype(f"uint{bit_width}").reshape(shape)


@cache
def _implementation() -> Any:
    from jax.extend.random import define_prng_impl

    return define_prng_impl(
        key_shape=(2,),
        seed=_seed,
        split=_split,
        random_bits=_random_bits,
        fold_in=_fold_in,
        name="foretrain_mix",
        tag="fmix",
    )


def keys(words: Any):
    """Keys for `jax.random`, shape (...), of words, uint32, shape (..., 2)."""
    return jax.random.wrap_key_data(words, impl=_implementation())


def words(seed: int, streams: int, number: int = 0):
    """Words of keys, uint32, (streams, 2), by NumPy, so that nothing is compiled: of each seed, stream and number others."""
    entropy = [seed & 0xFFFFFFFF, seed >> 32 & 0xFFFFFFFF, number & 0xFFFFFFFF]
    return np.random.SeedSequence(entropy).generate_state(2 * streams).reshape(streams, 2)
