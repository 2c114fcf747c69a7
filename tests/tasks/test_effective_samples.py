import numpy as np
import pytest

from foretrain.tasks.effective_samples import compress, whiten


def data(samples=200, inputs=6, outputs=3):
    random = np.random.default_rng(0)
    x = random.normal(size=(samples, inputs)) * np.array([3, 1, 1, 0.5, 0.1, 0])
    return x, random.normal(size=(samples, outputs)) + x[:, :outputs]


def test_effective_samples_give_every_linear_map_the_error_of_the_data():
    x, y = data()
    packed = compress(x, y)
    assert packed.inputs.shape == (6, 5)  # one input never varies
    for seed in range(3):
        w = np.random.default_rng(seed).normal(size=(3, 6))
        direct = 0.5 * ((y - x @ w.T) ** 2).sum(1).mean()
        short = 0.5 * ((packed.targets - w @ packed.inputs) ** 2).sum() + packed.residual_power / 2
        assert short == pytest.approx(direct, rel=1e-12)


def test_whitened_inputs_have_unit_variance_in_every_direction_that_varies():
    x, _ = data()
    white = x @ whiten(x)
    np.testing.assert_allclose(white.T @ white / len(x), np.diag([1, 1, 1, 1, 1, 0]), atol=1e-10)
