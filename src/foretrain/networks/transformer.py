"""A transformer that reads two tokens without positions or mask, for all pairs of symbols at once.

Each of its layers treats both tokens alike, so that one array `token[a, b]`, the token of symbol a as it stands beside b,
holds both tokens of every pair: those of (a, b) are `token[a, b]` and `token[b, a]`. Their order matters in the last layer
only, which reads the two side by side. What a token is before it has met the other depends on its symbol alone.
"""

from typing import Any, NamedTuple

import numpy as np

_EPSILON = 1e-5  # of normalisation
_LAST = ("first", "second", "bias")  # of the last layer


class Transformer(NamedTuple):
    """Everything but the embedding. Weights are (in, out); all but the last layer have a dim `layer` in front.

    Queries, keys and values stand side by side in `inward`; `first` and `second` are the last layer's parts for the two
    tokens.
    """

    scale_1: Any
    shift_1: Any
    inward: Any
    inward_bias: Any
    outward: Any
    outward_bias: Any
    scale_2: Any
    shift_2: Any
    widen: Any
    widen_bias: Any
    narrow: Any
    narrow_bias: Any
    first: Any
    second: Any
    bias: Any


def shapes(dim: int, hidden: int, layers: int, outputs: int) -> Transformer:
    """Shape of every array."""
    norm = (layers, dim), (layers, dim)
    attention = (layers, dim, 3 * dim), (layers, 3 * dim), (layers, dim, dim), (layers, dim)
    perceptron = (layers, dim, hidden), (layers, hidden), (layers, hidden, dim), (layers, dim)
    last = (dim, outputs), (dim, outputs), (outputs,)
    every = *norm, *attention, *norm, *perceptron, *last
    return Transformer(*every)  # pyright: ignore[reportArgumentType]


def draw(
    random: np.random.Generator, dim: int, hidden: int, layers: int, outputs: int
) -> Transformer:
    """PyTorch's law: linear layers uniform within 1 / sqrt(fan in), Xavier's for `inward`, no biases around attention."""
    sizes = shapes(dim, hidden, layers, outputs)
    fans = Transformer(*15 * [dim])._replace(
        **{"inward": 2 * dim / 3, "narrow": hidden, "narrow_bias": hidden},
        **dict.fromkeys(_LAST, 2 * dim),
    )
    bounded = (
        random.uniform(-1, 1, size) / fan**0.5 for size, fan in zip(sizes, fans, strict=True)
    )
    ones, zeros = np.ones(sizes.scale_1), np.zeros(sizes.shift_1)
    return Transformer(*bounded)._replace(
        scale_1=ones, shift_1=zeros, scale_2=ones, shift_2=zeros,
        inward_bias=np.zeros(sizes.inward_bias), outward_bias=zeros,
    )  # fmt: skip


def logits(weights: Transformer, embedding, dropout: float = 0.0, key=None):
    """The answers to every ordered pair of symbols, (symbol, symbol, output).

    By `key` the share `dropout` is dropped of attention, of its result, of hidden units, and of their result; without a key
    nothing. `token[a, b]` is dropped alike in the pairs (a, b) and (b, a): each pair by itself has the law of independent
    drops, but for pairs of equal symbols, whose two tokens are one.
    """
    import jax

    layers = len(weights.scale_1)
    keys = iter(())
    if dropout > 0 and key is not None:
        keys = iter(jax.random.split(key, 5 * layers))

    def dropped(values):
        key = next(keys, None)
        return values if key is None else _dropped(values, dropout, key)

    token = embedding[:, None]
    for layer in range(layers):
        here = {n: weight[layer] for n, weight in weights._asdict().items() if n not in _LAST}
        of = weights._replace(**here)
        token = token + dropped(_attended(of, token, dropped))
        hidden = normalised(token, of.scale_2, of.shift_2) @ of.widen + of.widen_bias
        hidden = dropped(jax.nn.relu(hidden))
        token = token + dropped(hidden @ of.narrow + of.narrow_bias)
    return token @ weights.first + (token @ weights.second).swapaxes(0, 1) + weights.bias


def _dropped(values, share, key):
    import jax
    import jax.numpy as jnp

    kept = jax.random.bernoulli(key, 1 - share, values.shape)
    return jnp.where(kept, values / (1 - share), 0)


def _attended(of, token, dropped):
    """The change of each token by attention; (symbol, 1, coordinate) is a token that has not met the other yet."""
    import jax
    import jax.numpy as jnp

    normal = normalised(token, of.scale_1, of.shift_1)
    query, key, value = jnp.split(normal @ of.inward + of.inward_bias, 3, axis=-1)
    if token.shape[1] == 1:
        across = query[:, 0] @ key[:, 0].T
    else:
        across = (query * key.swapaxes(0, 1)).sum(-1)
    gap = (across - (query * key).sum(-1)) / token.shape[-1] ** 0.5
    other = dropped(jax.nn.sigmoid(gap))[:, :, None]  # a softmax of two
    own = dropped(jax.nn.sigmoid(-gap))[:, :, None]
    outputs = value @ of.outward  # of symbols, where it can be, before pairs are made
    return own * outputs + other * outputs.swapaxes(0, 1) + of.outward_bias


def normalised(token, scale, shift):
    """Each token with mean 0 and biased variance 1 over its coordinates, then scaled and shifted."""
    import jax

    centred = token - token.mean(-1, keepdims=True)
    variance = (centred**2).mean(-1, keepdims=True)
    return centred * jax.lax.rsqrt(variance + _EPSILON) * scale + shift
