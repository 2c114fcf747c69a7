import numpy as np
import pytest

from foretrain.errors import ArgumentError
from foretrain.tasks.logic import xor
from foretrain.theory.pathways.rectified_start import sort_rectified_units

X, Y = xor(1).inputs["x"], xor(1).targets["y"][:, 0]


def simulate(weights, v, time, step):
    """The flow of small rectified units, by Euler: dw/dt = v <y x>_open, dv/dt = <y w.x>_open."""
    for _ in range(round(time / step)):
        arriving = weights @ X.T
        is_open = arriving > 0
        drive = (is_open * Y / 4) @ X
        output = (is_open * arriving * Y / 4).sum(1)
        weights, v = weights + step * v[:, None] * drive, v + step * output
    return weights, v


def test_small_units_turn_to_the_example_and_grow_from_the_amplitude_derived():
    generator = np.random.default_rng(0)
    weights, v = generator.standard_normal((400, 2)), generator.standard_normal(400)
    example, amplitude = sort_rectified_units(weights, v)
    time, step = 20.0, 2e-3
    later, output = simulate(weights, v, time, step)
    np.testing.assert_array_equal(X[(later @ X.T).argmax(1)], example)
    assert (np.sign(output) == Y[(later @ X.T).argmax(1)]).all()
    # Growth of Euler's scheme, and what is left of the decaying part, e^(-2 s t) = 1e-6 of the growing one at unit size.
    growth = (1 + step * np.sqrt(2) / 4) ** round(time / step)
    size = np.sqrt(np.linalg.norm(later, axis=1) * np.abs(output))
    strong = amplitude > 0.05  # smaller ones are resolved no better than the finite step turns them
    np.testing.assert_allclose(size[strong] / growth, amplitude[strong], rtol=0.01)
    assert strong.mean() > 0.9


def test_units_that_do_not_fit_or_stay_closed_are_refused():
    with pytest.raises(ArgumentError, match=r"`input_weights` must have shape \(3, 2\)"):
        sort_rectified_units(np.ones((2, 2)), np.ones(3))
    with pytest.raises(ArgumentError, match="`input_weights` must not be zero"):
        sort_rectified_units(np.array([[0.0, 0.0]]), np.ones(1))
