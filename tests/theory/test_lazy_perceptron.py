"""The tangent kernel of a perceptron against its definition by automatic derivatives, and what must follow from it."""

import jax
import numpy as np
import pytest

from foretrain.networks import perceptron
from foretrain.networks.embedding import Decoder, draw_decoder
from foretrain.theory.grokking import lazy_perceptron as lazy

RANDOM = np.random.default_rng(0)
START = draw_decoder(RANDOM, 6, 9, 3)
IMAGES, OTHERS = RANDOM.random((5, 6)), RANDOM.random((4, 6))
RATES = {"hidden_learning_rate": 0.01, "last_learning_rate": 0.01, "threshold": 1.0}


def outputs(weights, images):
    return perceptron.layers(Decoder(*weights), images)[-1]


def slopes(weights, images):
    """Derivatives of outputs, (image, output, weight), in double precision."""
    with jax.enable_x64(True):
        parts = jax.jacobian(outputs)(tuple(weights), images)
        return np.concatenate([np.asarray(item).reshape(len(images), 3, -1) for item in parts], 2)


@pytest.mark.slow
def test_the_kernel_is_that_of_automatic_derivatives():
    wanted = np.einsum("xkw,ykw->xy", slopes(START, OTHERS), slopes(START, IMAGES)) / 3
    np.testing.assert_allclose(lazy.kernel(START, OTHERS, IMAGES), wanted, rtol=1e-12)


def test_a_fit_of_least_change_shortens_a_start_along_itself_by_at_most_a_third():
    start = Decoder(*(0 * part if part.ndim == 1 else part for part in START))  # no biases
    weights = np.concatenate([part.ravel() for part in start])
    answers = outputs(start, IMAGES).ravel()
    change = np.linalg.lstsq(slopes(start, IMAGES).reshape(15, -1), -answers)[0]
    assert weights @ change == pytest.approx(-3 * change @ change, rel=1e-9)
    assert 0.01 < -weights @ change / (weights @ weights) < 1 / 3


def test_what_is_trained_is_answered_as_wanted_and_noise_of_the_start_goes_with_its_scale():
    targets = np.eye(3)[[0, 1, 2, 0, 1]]
    np.testing.assert_allclose(
        lazy.lazy_answers(START, IMAGES, targets, IMAGES), targets, atol=1e-8
    )
    # A last layer of zeros is no function at all: then the answer is that of the last layer's kernel alone.
    bare = lazy.shrunk(START, 1.0, 0.0)
    features = [
        np.column_stack([perceptron.layers(START, x)[1], np.ones(len(x))]) for x in (IMAGES, OTHERS)
    ]
    wanted = features[1] @ np.linalg.lstsq(features[0], targets, rcond=None)[0]
    np.testing.assert_allclose(lazy.lazy_answers(bare, IMAGES, targets, OTHERS), wanted, atol=1e-8)


def test_steps_go_as_the_inverse_decay_and_do_not_depend_on_decay_where_the_start_generalises():
    # Two heaps of images, which every kernel tells apart; a start of a hundred is noise.
    images = np.repeat(np.eye(6)[:2], 10, axis=0) + 0.05 * RANDOM.random((20, 6))
    labels = np.repeat([0, 1], 10)
    kept = np.arange(20) % 10 < 2
    data = images[kept], labels[kept], images[~kept], labels[~kept]
    assert lazy.lazy_step(START, *data, weight_decay=0.0, **RATES) == 0
    large = lazy.shrunk(START, 100.0, 100.0)
    slow, fast = (lazy.lazy_step(large, *data, weight_decay=decay, **RATES) for decay in (0.1, 1.0))
    assert 0 < fast < np.inf
    assert slow == pytest.approx(fast * np.log1p(-0.01) / np.log1p(-0.001), rel=1e-9)
    assert np.isinf(lazy.lazy_step(large, *data, weight_decay=0.0, **RATES))
    assert np.isnan(lazy.lazy_step(large, *data, weight_decay=100.0, **RATES))


def test_layers_of_two_rates_shrink_together_by_their_mean():
    assert 3 * lazy.shrinking(0.1, 0.4, 0.5) == pytest.approx(-2 * np.log(0.95) - np.log(0.8))
    # Not minus zero, over which a step would be minus infinity.
    assert not np.signbit(lazy.shrinking(0.1, 0.4, 0.0))
