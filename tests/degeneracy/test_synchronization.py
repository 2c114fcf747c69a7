"""Gates, blocks, and what the loss rises by where synchronisation is only approximate."""

import numpy as np
import planted
import pytest

from foretrain.degeneracy import network
from foretrain.degeneracy.counts import synchronization as sync


def test_gates_are_quotients_where_there_are_any():
    p = np.array([[-2.0, 0.0, 3.0]])
    for name, low in (("relu", 0.0), ("leaky_relu:0.2", 0.2), ("identity", 1.0)):
        np.testing.assert_allclose(sync.gates(network.dense(name), p), [[low, 1, 1]])
    np.testing.assert_array_equal(sync.gates(network.dense("gelu"), p), [[0, 0, 1]])
    for name, strictly, has in (
        ("tanh", False, False), ("sigmoid", False, False), ("gelu", False, True),
        ("silu", False, True), ("relu", True, True), ("leaky_relu:0.2", True, True),
    ):  # fmt: skip
        assert sync.has_gates(network.dense(name)) is strictly
        assert sync.has_gates(network.dense(name), strict=False) is has
    assert not sync.has_gates(network.Section(lambda w, f: f))


def test_disagreement_is_what_its_formula_says_and_exactly_zero_in_blocks():
    item, x = planted.blocks((2, 1), (3, 2), 4)
    distance = sync.disagreement(item, x, 1)
    assert (distance[:3, :3] == 0).all()
    assert (distance[3:, 3:] == 0).all()
    p = x @ item.params[0]["weight"].T
    differ = (p[:, 0] > 0) != (p[:, 4] > 0)
    assert distance[0, 4] == pytest.approx((differ * p[:, 0] ** 2).mean())
    assert distance[4, 0] == pytest.approx((differ * p[:, 4] ** 2).mean())
    assert sync.grouped(distance) == [(0, 1, 2), (3, 4)]
    assert sync.grouped(distance, 100) == [(0, 1, 2, 3, 4)]


def test_blocks_grow_only_while_every_pair_agrees():
    chain = np.abs(np.subtract.outer(np.arange(3.0), np.arange(3.0)))
    assert sync.grouped(chain, 1) == [(0, 1), (2,)]
    assert sync.grouped(np.zeros((1, 1))) == [(0,)]


def test_the_loss_rises_with_disagreement_and_not_without():
    """Neurons that share a sign but for a share of the data, mixed within the block: the loss follows the measure."""
    random = np.random.default_rng(0)
    sign = random.choice([-1.0, 1.0], size=(4000, 1))
    size = np.abs(random.normal(size=(4000, 2)))
    item = network.perceptron([np.eye(2), random.normal(size=(3, 2))])
    move = np.array([[0, 0.1], [0.2, 0]])
    result = []
    for share in (0.0, 0.01, 0.1):
        flip = np.where(random.random((4000, 1)) < share, -1.0, 1.0)
        x = np.concatenate([sign * size[:, :1], sign * flip * size[:, 1:]], 1)
        result.append(sync.rise(item, x, 1, move))
    assert result[0][0] < 1e-25
    assert result[0][1] == 0
    ratios = [loss / measure for loss, measure in result[1:]]
    assert 0.1 < ratios[0] < 10
    assert ratios[1] == pytest.approx(ratios[0], rel=0.3)
