"""Random streams named by what they are for.

A stream is fixed by (root seed, seed number, stream name), never by a position in a grid. Two runs with the same seed
therefore start from the same draw whatever else differs between them, which is what makes paired designs exact: the same
weights rescaled, masks that are nested, the same digits under another permutation. The usual names are ``weights``,
``mask``, ``data`` and ``batch``.
"""

import itertools
import math
import zlib
from typing import NamedTuple

import numpy as np


class Seed(NamedTuple):
    """The seed of one run: the root of all streams of a plan, and its number, from 0."""

    root: int
    number: int


def generator(seed: Seed, stream: str) -> np.random.Generator:
    """NumPy generator of one stream, for what is drawn on the host (masks, data sets, permutations)."""
    return np.random.default_rng([seed.root, seed.number, zlib.crc32(stream.encode())])


def normals(key, shapes, dtype) -> list:
    """Independent standard normal arrays of several shapes from one JAX key.

    Drawn flat and cut: XLA compiles one flat draw five to ten times faster than shaped ones.
    """
    import jax

    sizes = [math.prod(shape) for shape in shapes]
    flat = jax.random.normal(key, (sum(sizes),), dtype)
    ends = list(itertools.accumulate(sizes))
    return [
        flat[end - size : end].reshape(shape)
        for size, end, shape in zip(sizes, ends, shapes, strict=True)
    ]


def key(root_seed, seed, stream: str):
    """JAX key of one stream, for what is drawn inside a jitted program. `root_seed` and `seed` may be traced."""
    import jax

    base = jax.random.fold_in(jax.random.key(root_seed), seed)
    return jax.random.fold_in(base, zlib.crc32(stream.encode()))
