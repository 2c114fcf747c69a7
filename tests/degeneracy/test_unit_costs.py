import numpy as np
import pytest

from foretrain.degeneracy.counts.jacobian_spectrum import jacobian_spectrum
from foretrain.degeneracy.counts.unit_costs import UnitCosts, of_jacobian, quadrature
from foretrain.degeneracy.network import forward, perceptron

RANDOM = np.random.default_rng(0)
# Inputs whose mean square is one in every direction, so that costs are those of the maps alone.
X = np.linalg.qr(RANDOM.standard_normal((64, 4)))[0] * 8
SCALES = np.geomspace(1e-3, 10, 9)


def linear(outer, inner):
    """A linear network of two layers with these singular values."""
    sides = len(outer), 5, len(inner)
    left, middle, right = (np.linalg.qr(RANDOM.standard_normal((n, n)))[0] for n in sides)
    second = left[:, : len(outer)] * outer @ middle[:, : len(outer)].T
    first = middle[:, : len(inner)] * inner @ right[:, : len(inner)].T
    return perceptron([first, second], None, "identity")


def test_costs_of_a_linear_network_are_sums_of_squared_singular_values():
    outer, inner = np.array([2.0, 1.0, 0.5]), np.array([1.5, 1.0, 0.7, 0.2])
    known = np.sort((outer[:, None] ** 2 + inner**2).ravel())[::-1]
    for x in (X, np.tile(X, (3, 1))):  # both sides of the Jacobian
        result = of_jacobian(jacobian_spectrum(linear(outer, inner), x))
        assert result.below is None
        assert result.costs[0, :12] == pytest.approx(known, rel=1e-10)
        assert result.costs[0, 12:] == pytest.approx(0, abs=1e-12)
        for eps in SCALES:
            assert result.effective(eps)[0] == pytest.approx((known / (known + eps)).sum())
            assert result.above(eps)[0] == (known > eps).sum()


def test_the_divergence_has_the_costs_of_fishers_matrix():
    weight = RANDOM.standard_normal((3, 4))
    result = of_jacobian(jacobian_spectrum(perceptron([weight], None, "identity"), X, loss="kl"))
    logits = X @ weight.T
    p = np.exp(logits) / np.exp(logits).sum(1, keepdims=True)
    fisher = sum(
        np.kron(np.diag(item) - np.outer(item, item), np.outer(f, f))
        for item, f in zip(p, X, strict=True)
    ) / (2 * len(X))
    assert result.costs[0] == pytest.approx(np.linalg.eigvalsh(fisher)[::-1], abs=1e-10)


@pytest.mark.parametrize("loss", ["mse", "kl"])
def test_bounds_by_lanczos_hold_the_exact_number(loss):
    weights = [RANDOM.standard_normal(shape) for shape in ((6, 4), (6, 6), (3, 6))]
    network = perceptron(weights, None, "tanh")
    apply = lambda params, x: forward(network, x, params)  # noqa: E731
    exact = of_jacobian(jacobian_spectrum(network, X, loss=loss))
    for steps in (6, 40):
        rough = quadrature(apply, network.params, X, loss=loss, probes=30, steps=steps)
        value, error = rough.effective(SCALES)
        assert (abs(value - exact.effective(SCALES)[0]) < 3 * error + 1e-9).all()
    assert rough.converged(1e-3)
    assert not quadrature(apply, network.params, X, steps=2).converged(1e-6)


def test_no_more_is_left_than_answers_can_tell():
    assert UnitCosts(np.ones((1, 9)), np.ones((1, 9)), None, 9, 4).effective(1e-9)[0] == 4
