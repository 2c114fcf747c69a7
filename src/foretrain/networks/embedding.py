"""Embeddings of symbols, joined by the operation itself, and a decoder of two hidden layers that reads the result.

A sample (a, b) reaches the decoder as E_a + E_b, or, where the order of its symbols matters, as the entries of the product
of matrices E_a E_b.
"""

from itertools import pairwise
from typing import NamedTuple

import numpy as np

ACTIVATIONS = ("tanh", "leaky_relu")
_LEAK = 0.01  # slope of a leaky ReLU below zero


class Decoder(NamedTuple):
    """A perceptron with two hidden layers of tanh or leaky ReLU units; weights (in, out), biases (out,)."""

    weight_1: np.ndarray
    bias_1: np.ndarray
    weight_2: np.ndarray
    bias_2: np.ndarray
    weight_3: np.ndarray
    bias_3: np.ndarray


def decoder_shapes(inputs: int, hidden: int, outputs: int) -> dict[str, tuple[int, ...]]:
    """Shape of every array by name."""
    pairs = pairwise((inputs, hidden, hidden, outputs))
    shapes = (shape for fan_in, fan_out in pairs for shape in ((fan_in, fan_out), (fan_out,)))
    return dict(zip(Decoder._fields, shapes, strict=True))


def draw_decoder(random: np.random.Generator, inputs: int, hidden: int, outputs: int) -> Decoder:
    """PyTorch's law of linear layers: weights and biases uniform within 1 / sqrt(fan in)."""
    fans = (inputs, inputs, hidden, hidden, hidden, hidden)
    pairs = zip(decoder_shapes(inputs, hidden, outputs).values(), fans, strict=True)
    return Decoder(*(random.uniform(-1, 1, shape) / np.sqrt(fan) for shape, fan in pairs))


def decode(decoder: Decoder, joined):
    """The answers of a decoder of tanh units to joined embeddings (sample, entry): (sample, output)."""
    return _hidden(decoder, joined, "tanh")[1] @ decoder.weight_3 + decoder.bias_3


def _hidden(decoder, joined, activation):
    import jax.numpy as jnp

    def active(x):
        return jnp.tanh(x) if activation == "tanh" else jnp.where(x > 0, x, _LEAK * x)

    weight = decoder.weight_1
    # With one entry it is an outer product, which XLA fuses with what follows.
    arriving = joined * weight if weight.shape[0] == 1 else joined @ weight
    first = active(arriving + decoder.bias_1)
    return first, active(first @ decoder.weight_2 + decoder.bias_2)


def _slope(hidden, activation):
    """Slope of the units whose values are given."""
    import jax.numpy as jnp

    return 1 - hidden**2 if activation == "tanh" else jnp.where(hidden > 0, 1.0, _LEAK)


def turned(decoder: Decoder) -> Decoder:
    """The decoder with its last weights as (output, hidden), and back again: what `layers` and `slopes` take.

    With few outputs their products are half again as fast in this way.
    """
    return decoder._replace(weight_3=decoder.weight_3.T)


def layers(decoder: Decoder, joined, activation: str = "tanh"):
    """Both hidden layers, each (sample, unit), and what a turned decoder answers, (output, sample)."""
    first, second = _hidden(decoder, joined, activation)
    return first, second, decoder.weight_3 @ second.T + decoder.bias_3[:, None]


def slopes(decoder: Decoder, joined, first, second, back, activation: str = "tanh"):
    """Slopes of a loss by a turned decoder and by the joined embeddings (sample, entry), as the chain rule gives them.

    Written out, so that samples which are only looked at can be left out. The hidden layers are (sample, unit), `back`, the
    slope of the loss by the outputs, (output, sample).
    """
    weight = decoder.weight_1
    by_second = (back.T @ decoder.weight_3) * _slope(second, activation)
    by_first = (by_second @ decoder.weight_2.T) * _slope(first, activation)
    if weight.shape[0] == 1:  # sums, which XLA fuses with what comes before
        by_weight = (joined * by_first).sum(0, keepdims=True)
        by_joined = (by_first * weight).sum(1, keepdims=True)
    else:
        by_weight, by_joined = joined.T @ by_first, by_first @ weight.T
    inner = first.T @ by_second, by_second.sum(0)
    by_decoder = Decoder(by_weight, by_first.sum(0), *inner, back @ second, back.sum(1))
    return by_decoder, by_joined


def joined_sums(embedding, counts):
    """E_a + E_b (sample, coordinate) from how often each symbol stands in a sample; its gradient needs no scatter."""
    return counts @ embedding


def joined_products(embedding, left, right):
    """Entries of E_a E_b of every sample, (sample, side^2).

    `embedding` is (symbol, side^2), the rows of each matrix one after the other; `left` and `right` are (sample, symbol), 1
    at the first and at the second symbol of each sample.
    """
    side = round(embedding.shape[1] ** 0.5)
    first, second = ((choice @ embedding).reshape(-1, side, side) for choice in (left, right))
    # Sums and not products of tiny matrices, each of which would be a call of its own.
    return (first[:, :, :, None] * second[:, None, :, :]).sum(2).reshape(len(left), -1)


def sample_losses(outputs, targets, objective: str):
    """Loss of every sample, (sample,).

    Outputs and targets are (sample, output), one-hot for the cross-entropy of "classification"; "regression" takes the mean
    over outputs of the squared error.
    """
    import jax

    if objective == "regression":
        return ((outputs - targets) ** 2).mean(1)
    return jax.nn.logsumexp(outputs, axis=1) - (outputs * targets).sum(1)


def nearness(outputs, targets):
    """Half of -|f - Y|^2 but for a part that all labels share, (label, sample): largest at the nearest target.

    Labels come first, so that maxima over them run over whole vectors. Arguments as in `right_answers`.
    """
    return targets @ outputs.T - 0.5 * (targets**2).sum(1)[:, None]


def right_answers(outputs, targets, chosen):
    """1 where the target nearest to an output is that of its label, else 0, (sample,); a tie is no right answer.

    With one-hot targets: whether the largest output is that of the label. Outputs are (sample, output), targets (label,
    output), `chosen` (label, sample), 1 at the label of each sample.
    """
    import jax.numpy as jnp

    near = nearness(outputs, targets)
    own = (near * chosen).sum(0)
    others = jnp.where(chosen > 0, -jnp.inf, near).max(0)
    return (own > others).astype(outputs.dtype)
