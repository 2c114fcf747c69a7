"""Weights over time beside the network linearised at the first, where all is known in closed form."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from safetensors.numpy import save_file

from foretrain.errors import ArgumentError
from foretrain.explain.own_network import described
from foretrain.explain.weights_over_time import moments, read_weights, rows

X, Y = np.array([[2.0]]), np.array([[3.0]])
STORED = {0: 0.5, 10: 0.9, 100: 1.2}


def training(apply):
    init = lambda key: {"layer": [jax.random.normal(key, (1, 1))]}  # noqa: E731
    return described(apply, init, X, Y, rate=0.1, steps=100)


def square(w, x):
    return x @ w["layer"][0] ** 2


@pytest.fixture
def folder(tmp_path):
    for step, w in STORED.items():
        save_file({"layer.0": np.full((1, 1), w)}, tmp_path / f"run2-step-{step}.safetensors")
    return tmp_path


def test_a_squared_weight_has_its_closed_forms(folder):
    """f = w^2 x: K = 4 w^2 x^2, the Hessian of its loss 6 w^2 x^2 - 2 x y, and (w - u)/(w + u) off its tangent."""
    own = training(square)
    for one, (step, w) in zip(moments(own, read_weights(own, folder)), STORED.items(), strict=True):
        assert one.step == step
        assert one.loss == pytest.approx((2 * w**2 - 3) ** 2 / 2)
        assert one.movement == pytest.approx(w**2 / 0.25 - 1)
        assert one.edge == pytest.approx(0.1 * (24 * w**2 - 12) / 2)
        assert one.off is None if w == 0.5 else one.off == pytest.approx((w - 0.5) / (w + 0.5))


def test_a_network_linear_in_its_weights_stays_on_its_tangent(folder):
    own = training(lambda w, x: x @ w["layer"][0])
    last = moments(own, read_weights(own, folder))[-1]
    assert last.movement == 0
    assert last.off == pytest.approx(0, abs=1e-12)
    assert len(rows((last,))) == 2


def test_outputs_that_have_not_moved_are_off_nothing(tmp_path):
    """Of a network whose outputs round: at equal weights both distances are rounding, and their ratio says nothing."""
    random = np.random.default_rng(0)
    drawn = {"first": random.normal(size=(3, 6)), "last": random.normal(size=(6, 1))}
    for step in (0, 10):
        save_file(drawn, tmp_path / f"step-{step}.safetensors")
    own = described(
        lambda w, x: jnp.tanh(x @ w["first"]) @ w["last"], lambda key: drawn,
        random.normal(size=(12, 3)), np.ones((12, 1)), rate=0.1, steps=10,
    )  # fmt: skip
    assert [one.off for one in moments(own, read_weights(own, tmp_path))] == [None, None]


def test_weights_of_another_network_are_refused(folder, tmp_path):
    wide = described(
        lambda w, x: jnp.tanh(x @ w["layer"]), lambda key: {"layer": jax.random.normal(key, (1, 1))},
        X, Y, rate=0.1, steps=1,
    )  # fmt: skip
    with pytest.raises(ArgumentError, match="`weights` must hold the array `layer`"):
        read_weights(wide, folder)
    save_file({"layer.0": np.ones((2, 1))}, folder / "step-7.safetensors")
    with pytest.raises(ArgumentError, match=r"shape \(1, 1\) in `layer.0`"):
        read_weights(training(square), folder)
    more = {"layer.0": np.ones((1, 1)), "scale": np.ones(1)}
    save_file(more, folder / "step-7.safetensors")
    with pytest.raises(
        ArgumentError, match=r"hold only arrays of the network, .* has `scale`, too"
    ):
        read_weights(training(square), folder)
    (tmp_path / "few").mkdir()
    with pytest.raises(ArgumentError, match="at least two"):
        read_weights(training(square), tmp_path / "few")
