import jax
import numpy as np
import pytest

from foretrain.errors import ArgumentError
from foretrain.networks.routing import outputs
from foretrain.networks.routing_start import Weights, random_start
from foretrain.tasks.masks import circulant
from foretrain.theory.gated.tangent_kernel import tangent_kernel

RANDOM = np.random.default_rng(3)
START = random_start(RANDOM, 3, 12, 2, 3)
INPUTS, TARGETS = RANDOM.standard_normal((2, 2)), RANDOM.standard_normal((3, 2))
PAIRS = circulant(3, 2)


def _outputs(parameters):
    return outputs(Weights(*parameters), INPUTS[None])


def test_errors_are_those_of_descent_on_the_linearised_network(x64):
    scale, rate, steps = 1.3, 0.05, 40
    weights = [scale * w for w in START]
    start = np.asarray(_outputs(weights)).ravel()
    parts = jax.jacobian(_outputs)(tuple(weights))
    jacobian = np.concatenate([np.asarray(p).reshape(start.size, -1) for p in parts], axis=1)
    target = np.broadcast_to(TARGETS, (3, 3, 3, 2)).ravel()
    trained = np.broadcast_to((PAIRS == 1)[:, :, None, None], (3, 3, 3, 2)).ravel()
    moved = np.zeros(jacobian.shape[1])
    for _ in range(steps):
        error = target - start - jacobian @ moved
        moved += rate / PAIRS.sum() * jacobian.T @ (error * trained)
    error = target - start - jacobian @ moved
    expected = [0.5 * (error[pick] ** 2).sum() / n for pick, n in ((trained, 6), (~trained, 3))]
    kernel = tangent_kernel(*START, INPUTS, TARGETS, PAIRS)
    loss, untrained = kernel.errors(np.array([0, steps]), rate, scale)
    assert loss[1] == pytest.approx(expected[0], rel=1e-10)
    assert untrained[1] == pytest.approx(expected[1], rel=1e-10)


def test_ends_at_zero_loss_and_begins_at_the_networks_own(x64):
    kernel = tangent_kernel(*START, INPUTS, TARGETS, PAIRS)
    loss, untrained = kernel.errors(np.array([0, np.inf]), 0.05, 0.7)
    own = 0.5 * ((TARGETS - np.asarray(_outputs([0.7 * w for w in START]))) ** 2).sum((2, 3))
    assert loss[0] == pytest.approx(own[PAIRS == 1].mean(), rel=1e-12)
    assert untrained[0] == pytest.approx(own[PAIRS == 0].mean(), rel=1e-12)
    # The kernel of these wide layers has full rank: every trained target is reached.
    assert kernel.eigenvalues[0] > 1e-3
    assert loss[1] == 0
    late = kernel.errors(np.array([10**7]), 0.05, 0.7)
    assert untrained[1] == pytest.approx(late[1][0], rel=1e-9)


def test_refuses_bad_arguments():
    with pytest.raises(ArgumentError, match="`trained_pairs` must train at least one pair"):
        tangent_kernel(*START, INPUTS, TARGETS, np.zeros((3, 3)))
