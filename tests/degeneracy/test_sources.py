"""Free directions of any network by source and place, against counts that are known and the rank of the Jacobian."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from foretrain.degeneracy.counts.jacobian_spectrum import jacobian_spectrum
from foretrain.degeneracy.counts.sources import SOURCES, sources
from foretrain.degeneracy.function import Function, as_function
from foretrain.degeneracy.transformer import of_arrays, pairs
from foretrain.networks import transformer

RANDOM = np.random.default_rng(0)
DIM = 6


def counted(apply, params, x):
    """The counts, of which the whole is exact and sources have no more."""
    function = Function(apply, params)
    freedom = sources(function, x, jacobian_spectrum(function.apply, x, function.params))
    assert freedom.exact
    assert freedom.counted <= freedom.free
    return freedom, [freedom.by_source()[source] for source in SOURCES]


def attention(w, x, heads=2):
    """The last position's outputs (n, DIM) of attention on tokens (n, T, DIM)."""
    query, key, value = (
        (x @ w[name] + w[f"{name}_bias"]).reshape(*x.shape[:2], heads, -1) for name in "qkv"
    )
    scores = jnp.einsum("nthe,nshe->nhts", query, key) / (DIM / heads) ** 0.5
    mixed = jnp.einsum("nhts,nshe->nthe", jax.nn.softmax(scores), value)
    return (mixed.reshape(x.shape) @ w["o"] + w["o_bias"])[:, -1]


WEIGHTS = {name: RANDOM.standard_normal((DIM, DIM)) for name in "qkvo"}
WEIGHTS |= {f"{name}_bias": RANDOM.standard_normal(DIM) for name in "qkvo"}
TOKENS = RANDOM.standard_normal((200, 4, DIM))


@pytest.mark.parametrize("heads", [1, 2])
def test_a_head_is_free_through_its_products(heads):
    wide = DIM // heads
    freedom, by_source = counted(lambda w, x: attention(w, x, heads), WEIGHTS, TOKENS)
    # Constants of keys; squares of each head's width; constants of values, which outputs have, too.
    assert by_source == [DIM, heads * wide**2, heads * wide**2 + DIM, 0, 0]
    assert freedom.places[-1][0] == ("v, o" if heads == 1 else "v, o, head 2")


def test_a_head_whose_outputs_stay_has_no_product_with_them():
    outputs = {name: WEIGHTS[name] for name in ("o", "o_bias")}
    others = {name: leaf for name, leaf in WEIGHTS.items() if name not in outputs}
    _, by_source = counted(lambda w, x: attention(w | outputs, x), others, TOKENS)
    assert by_source == [DIM, 2 * 9, 0, 0, 0]


def image(w, x):
    """Means (n, 4) of two convolutions with normalisation by stored moments, of images (n, 1, 8, 8)."""
    for layer in (w["a"], w["b"]):
        x = jax.lax.conv_general_dilated(x, layer["maps"], (1, 1), "VALID")
        x = (x - 0.3) / np.sqrt(1.7)
        x = jax.nn.relu(x * layer["scale"][:, None, None] + layer["shift"][:, None, None])
    return x.mean((2, 3)) @ w["head"]


def test_normalisation_takes_up_its_convolution_and_rectifiers_their_scale():
    wide, draw = {"scale": np.full(4, 0.7), "shift": np.ones(4)}, RANDOM.standard_normal
    maps = {name: wide | {"maps": draw((4, n, 3, 3))} for name, n in (("a", 1), ("b", 4))}
    freedom, by_source = counted(image, maps | {"head": draw((4, 3))}, draw((200, 1, 8, 8)))
    assert [*by_source, freedom.unattributed] == [0, 0, 0, 2 * 4, 2 * 4, 0]


def test_of_a_transformer_only_what_turns_its_stream_is_left():
    random = np.random.default_rng(6)
    named = transformer.draw(random, 4, 6, 2, 9)._asdict()
    named = {name: w + 0.3 * random.standard_normal(np.shape(w)) for name, w in named.items()}
    function = as_function(of_arrays(named | {"embedding": random.standard_normal((7, 4))}))
    freedom, by_source = counted(function.apply, function.params, pairs(7))
    assert by_source[3] == 2 * 2 * 2 * 4
    # Rotations of three coordinates, four ways to write into their mean, which nobody reads, and its constant.
    assert freedom.unattributed == 3 + 4 + 1
