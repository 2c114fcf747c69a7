"""The transformer of two tokens against a transcription that takes one pair after the other."""

import jax
import numpy as np
import pytest
from scipy.special import softmax

from foretrain.networks import transformer
from foretrain.networks.transformer import Transformer

SYMBOLS, DIM, HIDDEN, LAYERS, OUTPUTS = 5, 6, 7, 2, 4


@pytest.fixture
def weights():
    """Weights of which none is as it starts."""
    random = np.random.default_rng(0)
    drawn = transformer.draw(random, DIM, HIDDEN, LAYERS, OUTPUTS)
    return Transformer(*(leaf + 0.3 * random.standard_normal(leaf.shape) for leaf in drawn))


@pytest.fixture
def embedding():
    return np.random.default_rng(7).standard_normal((SYMBOLS, DIM))


def normal(x, scale, shift):
    return (x - x.mean(-1, keepdims=True)) / np.sqrt(
        x.var(-1, keepdims=True) + 1e-5
    ) * scale + shift


def pair(weights, embedding, a, b):
    """Answer to one pair, as its definition says: a sequence of two tokens goes through every layer."""
    tokens = embedding[[a, b]]
    for layer in range(LAYERS):
        w = Transformer(*(np.asarray(leaf)[layer] for leaf in weights[:-3]), *weights[-3:])
        inward = normal(tokens, w.scale_1, w.shift_1) @ w.inward + w.inward_bias
        query, key, value = np.split(inward, 3, axis=1)
        attention = softmax(query @ key.T / np.sqrt(DIM), axis=-1)
        tokens = tokens + (attention @ value) @ w.outward + w.outward_bias
        hidden = np.maximum(normal(tokens, w.scale_2, w.shift_2) @ w.widen + w.widen_bias, 0)
        tokens = tokens + hidden @ w.narrow + w.narrow_bias
    return tokens.ravel() @ np.concatenate([weights.first, weights.second]) + weights.bias


def test_every_pair_is_answered_as_a_sequence_of_two_tokens(weights, embedding, x64):
    answers = transformer.logits(weights, embedding)
    expected = [[pair(weights, embedding, a, b) for b in range(SYMBOLS)] for a in range(SYMBOLS)]
    np.testing.assert_allclose(answers, expected, rtol=1e-11, atol=1e-11)


def test_the_start_has_the_law_of_pytorch():
    drawn = transformer.draw(np.random.default_rng(0), 64, 100, 3, 50)
    bounds = {"inward": (6 / 256) ** 0.5, "outward": 1 / 8, "widen": 1 / 8, "widen_bias": 1 / 8}
    bounds |= {"narrow": 0.1, "narrow_bias": 0.1, "first": 128**-0.5, "second": 128**-0.5}
    for name, bound in bounds.items():
        values = np.abs(getattr(drawn, name))
        assert 0.9 * bound < values.max() <= bound, name
        assert values.mean() == pytest.approx(bound / 2, rel=0.1), name
    for name in ("inward_bias", "outward_bias", "shift_1", "shift_2"):
        assert (getattr(drawn, name) == 0).all(), name
    assert (drawn.scale_1 == 1).all()
    assert (drawn.scale_2 == 1).all()
    assert tuple(leaf.shape for leaf in drawn) == tuple(transformer.shapes(64, 100, 3, 50))


def test_without_a_share_or_a_key_nothing_is_dropped(weights, embedding, x64):
    plain = np.asarray(transformer.logits(weights, embedding))
    key = jax.random.key(0)
    np.testing.assert_array_equal(transformer.logits(weights, embedding, 0.0, key), plain)
    np.testing.assert_array_equal(transformer.logits(weights, embedding, 0.5), plain)
    assert np.abs(np.asarray(transformer.logits(weights, embedding, 0.5, key)) - plain).max() > 0.1


@pytest.mark.slow
@pytest.mark.parametrize("silent", ["outward", "narrow"])
def test_drops_keep_the_mean_of_a_layer(silent, weights, embedding, x64):
    """If attention or perceptron gives a bias only, the answers of one layer are linear in what is kept of the other."""
    layer = Transformer(*(part[:1] for part in weights[:-3]), *weights[-3:])
    layer = layer._replace(**{silent: 0 * getattr(layer, silent)})
    if silent == "narrow":
        layer = layer._replace(narrow_bias=0 * layer.narrow_bias)
    else:
        layer = layer._replace(outward_bias=0 * layer.outward_bias)
    plain = np.asarray(transformer.logits(layer, embedding))
    keys = jax.random.split(jax.random.key(1), 2000)
    noisy = jax.jit(jax.vmap(lambda key: transformer.logits(layer, embedding, 0.3, key)))(keys)
    error = np.asarray(noisy).std(0) / len(keys) ** 0.5
    assert (error > 0).all()
    assert (np.abs(np.asarray(noisy).mean(0) - plain) < 5 * error).all()
