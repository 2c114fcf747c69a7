import itertools

import numpy as np
import pytest

from foretrain.theory.grokking.frustration import frame_exponent, frustration


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
        part[{"in": (number,), "out": (slice(None), number), "hidden": ()}[kind]] = True
        if (part & (trained == 1)).any():
            parts[kind, number] = part
    cost = {}
    for size in range(1, len(parts) + 1):
        for chosen in itertools.combinations(parts, size):
            cost[chosen] = (upright & np.any([parts[item] for item in chosen], 0)).sum()
    assert margin == min(cost.values()) == min(v for k, v in cost.items() if len(k) == 1)


def test_a_factor_of_negative_pairs_alone_may_turn_for_nothing():
    trained = np.ones((2, 2))
    assert frustration(trained, np.array([1, 1]), np.array([1, -1])) == (2, 0)
    # A domain that is trained nowhere has no say.
    trained = np.array([[1, 1, 0], [1, 1, 0], [0, 0, 0]])
    assert frustration(trained, np.ones(3), np.array([1, 1, -1])) == (0, 2)


def test_frames_agree_the_slower_the_thinner_the_cut():
    """Two full blocks of three joined by one pair, against one full block, and against two blocks that nothing joins."""
    two = np.kron(np.eye(2), np.ones((3, 3)))
    joined = two.copy()
    joined[0, 5] = 1
    assert frame_exponent(np.ones((6, 6))) == pytest.approx(1)
    assert frame_exponent(two) == pytest.approx(1)
    # The rank-one parts of weight 3 split by the pair, to first order, by 1/3 in all.
    assert 0.05 < frame_exponent(joined) < 0.15
    joined[1, 5] = joined[0, 4] = 1
    assert 0.15 < frame_exponent(joined) < 0.35
    assert frame_exponent(joined.T[::-1]) == pytest.approx(frame_exponent(joined))
