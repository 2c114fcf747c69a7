"""Gram matrices, the Jacobian and the Hessian: against JAX, against each other, and in cases known by hand."""

from dataclasses import replace

import numpy as np
import planted
import pytest

from foretrain.degeneracy import derivatives, network
from foretrain.degeneracy.counts import grams
from foretrain.degeneracy.derivatives import passed


@pytest.fixture(scope="module")
def nets():
    net = planted.drawn((3, 4, 3, 2), activation="gelu", bias=True)
    mixed = network.perceptron(
        [p["weight"] for p in net.params], [net.params[0]["bias"], None, net.params[2]["bias"]],
        ("leaky_relu", "gelu", "tanh"),
    )  # fmt: skip
    # The same network, its nonlinearities not named: differentiated by JAX.
    opaque = replace(mixed, sections=tuple(replace(s, activation=None) for s in mixed.sections))
    return mixed, opaque, planted.data(24, 3)


def test_derivatives_by_hand_are_those_of_jax(nets):
    net, other, x = nets
    # Where a section has no bias, nothing moves an input of zero.
    x = np.concatenate([x, np.zeros((1, 3))])
    first, second = passed(net, x), passed(other, x)
    for name in ("activations", "preactivations", "by_activations", "by_preactivations"):
        for a, b in zip(getattr(first, name), getattr(second, name), strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-11)


def test_grams_do_not_depend_on_the_batch_and_m_is_wkw(nets, monkeypatch):
    net, _, x = nets
    whole = grams.grams(net, x)
    monkeypatch.setattr(derivatives, "_ROOM", 16 * 2 * 12 * 7)  # of seven examples
    parts = grams.grams(net, x)
    for name in ("means", "activations", "jacobians", "sensitivities"):
        for a, b in zip(getattr(whole, name), getattr(parts, name), strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-14)
    for at, leaves in enumerate(net.params):
        w = leaves["weight"]
        np.testing.assert_allclose(whole.sensitivities[at], w.T @ whole.jacobians[at] @ w)
    f = np.concatenate([passed(net, x).activations[1], np.ones((len(x), 1))], 1)
    np.testing.assert_allclose(whole.augmented(1), f.T @ f / len(x))
    np.testing.assert_array_equal(whole.sensitivities[-1], np.eye(2))


def test_the_jacobian_by_hand_is_that_of_jax(nets):
    net, other, x = nets
    by_hand = grams.jacobian(net, x)
    np.testing.assert_allclose(by_hand, grams.jacobian(other, x), rtol=1e-9, atol=1e-12)


def test_rank_counts_above_a_relative_threshold_and_a_scale():
    gram = np.diag([4.0, 1e-3, 1e-14, 0.0])
    assert grams.rank(gram) == 2
    assert grams.rank(gram * 1e-30) == 2
    assert grams.rank(gram, scale=0.01) == 1
    assert grams.rank(np.zeros((3, 3))) == 0
