"""The race from a network's own start, beside the network itself."""

from functools import cache

import numpy as np
import pytest

from foretrain.errors import ArgumentError
from foretrain.networks.routing_start import orthogonal_stack
from foretrain.tasks.masks import circulant, random_rows
from foretrain.theory.pathways.race_parts import from_random
from foretrain.theory.pathways.race_planes import Planes, part_flow, part_planes

S, D, SCALE, WIDTH = np.array([3.4, 1.6, 0.75]), np.full(3, 0.25), 0.2, 48
TIMES = np.arange(0, 60.0, 0.6)
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
        driven = np.einsum("jha,ijab->ihb", c, error)
        inner = np.einsum("ihb,ikb->hk", driven, b)
        return (
            np.einsum("jha,ijab->ihb", back, error),
            inner,
            np.einsum("ihb,ijab->jha", ahead, error),
        )

    weights, found, step = start(), [], 0.15
    for number in range(len(TIMES) * 4):
        if number % 4 == 0:
            b, n, c = (np.linalg.svd(one, compute_uv=False) for one in weights)
            found.append([b.mean(0), n[:3], c.mean(0)])
        half = [w + step / 2 * v for w, v in zip(weights, velocity(*weights), strict=True)]
        weights = [w + step * v for w, v in zip(weights, velocity(*half), strict=True)]
    return np.array(found)


def left(found, outputs):
    """Share of what parts each layer from the race of wide weights that is left, largest over layers."""
    race = from_random(SCALE, TIMES, circulant(6, outputs), S, D)
    wide = np.stack([race.outer, race.hidden, race.outer], 1)
    gaps = (((network(outputs) - one) ** 2).sum((0, 2)) for one in (found, wide))
    return float(np.divide(*gaps).max())


@pytest.mark.slow
@pytest.mark.parametrize("outputs", LAYERS)
def test_layers_grow_as_their_own_start_says(outputs):
    own = part_planes(*start(), circulant(6, outputs))
    found = part_flow(own, TIMES, S, D)
    assert left(found.singular_values, outputs) < 1 - LAYERS[outputs]
    np.testing.assert_allclose(found.singular_values[0], SCALE)
    np.testing.assert_allclose(found.gain[-1], S / D, rtol=1e-3)
    np.testing.assert_allclose(
        found.imbalances, found.imbalances[:1].repeat(len(TIMES), 0), atol=1e-3
    )
    # Another start, every part at the pace of the mean, or the hidden matrix turned around.
    others = part_planes(*start(1), circulant(6, outputs))
    turned = part_planes(start()[0], start()[1].T, start()[2], circulant(6, outputs))
    for wrong in (others, Planes(own.encoders, own.hidden, own.decoders, np.ones(6)), turned):
        assert left(part_flow(wrong, TIMES, S, D).singular_values, outputs) > 0.2


def test_refuses_what_has_no_such_race():
    with pytest.raises(ArgumentError, match="`trained_pairs` must be biregular"):
        part_planes(*start(), random_rows(6, 3, np.random.default_rng(1)))
    with pytest.raises(ArgumentError, match="`hidden` must be multiples of orthogonal matrices"):
        part_planes(start()[0], np.diag(np.arange(1.0, 1 + WIDTH)), start()[2], circulant(6, 4))
