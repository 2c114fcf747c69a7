import itertools

import numpy as np
import pytest

from foretrain.theory.frustration import frustration


def sign(random, size):
    return random.choice([-1.0, 1.0], size)


@pytest.mark.parametrize("seed", range(8))
def test_no_set_of_singular_factors_costs_less_than_one_alone(seed):
    """Every non-empty set of trained factors, the hidden matrix among them, against what is said of single ones."""
    random = np.random.default_rng(seed)
    trained = (random.random((3, 4)) < (0.8 if seed % 2 else 0.4)).astype(float)
    trained[0, 0] = 1
    inputs, outputs = sign(random, 3), sign(random, 4)
    negative = (inputs[:, None] * outputs[None, :] < 0) & (trained == 1)
    upright = (trained == 1) & ~negative
    modes, margin = frustration(trained, inputs, outputs)
    assert modes == negative.sum()
    factors = [("in", i) for i in range(3)] + [("out", j) for j in range(4)] + [("hidden", 0)]
    parts = {}
    for kind, number in factors:
        part = np.zeros((3, 4), bool)
        place = {"in": (number,), "out": (slice(None), number), "hidden": ()}[kind]
        part[place] = True
        if (part & (trained == 1)).any():
            parts[kind, number] = part
    cost = {}
    for size in range(1, len(parts) + 1):
        for chosen in itertools.combinations(parts, size):
            singular = np.any([parts[one] for one in chosen], 0)
            cost[chosen] = (upright & singular).sum()
    assert margin == min(cost.values()) == min(v for k, v in cost.items() if len(k) == 1)


def test_a_factor_of_negative_pairs_alone_may_turn_for_nothing():
    trained = np.ones((2, 2))
    assert frustration(trained, np.array([1, 1]), np.array([1, -1])) == (2, 0)
    # A domain that is trained nowhere has no say.
    trained = np.array([[1, 1, 0], [1, 1, 0], [0, 0, 0]])
    assert frustration(trained, np.ones(3), np.array([1, 1, -1])) == (0, 2)


def test_singular_and_reversing_maps_miss_a_mode_at_least():
    random = np.random.default_rng(0)
    maps = np.eye(4) + 0.4 * random.normal(size=(2000, 4, 4))
    distance = ((maps - np.eye(4)) ** 2).sum((1, 2))
    reversing = np.linalg.det(maps) < 0
    assert 20 < reversing.sum() < 1980
    assert distance[reversing].min() > 1 > distance[~reversing].min()
    left, values, right = np.linalg.svd(maps)
    values[:, -1] = 0
    singular = (left * values[:, None]) @ right
    assert ((singular - np.eye(4)) ** 2).sum((1, 2)).min() >= 1
