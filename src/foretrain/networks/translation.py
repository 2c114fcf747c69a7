"""The translation network: routing between L languages of D one-hot words, written for one-hot inputs.

Language i reaches language j through C_j B A_i. A one-hot word picks a column of A_i, so that no product with inputs is
left: with trained pairs T the loss is

    L = 1/(2 D |T|) sum_ij T_ij |(C_j B A_i - I) o mask|_F^2,

the mean over words and trained pairs of 1/2 |error|^2, where the loss mask keeps all entries of a block (``full``) or the
diagonal ones only (``diagonal_only``, as in the note's figure). Permutations of the words are left out: independent normal
weights absorb them. With more than `FEW` words errors of single pairs are never made: summed over i they are the difference
of sum_i T_ij G_i^T and C_j sum_i T_ij G_i G_i^T with G_i = B A_i, and so for the other side.

All functions see one network; vectorise with `jax.vmap`. Arrays are float32 or float64, as the weights are.
Source: note on shared representations, eq. (1), with T^T kron J_D for its T kron J_L.
"""

import jax
import jax.numpy as jnp
import numpy as np

from foretrain.networks.routing import Weights

FEW = 12  # words up to which one large product is faster than several small ones, measured on a CPU


def random_weights(
    key, languages: int, words: int, hidden_width: int, init_scale, dtype
) -> Weights:
    """Weights with independent normal entries of standard deviation `init_scale`, which only multiplies one draw.

    One draw in single precision serves both. Encoders A are (input_domain, hidden, word), decoders C (output_domain, word,
    hidden).
    """
    encoders = languages * hidden_width * words
    sizes = (encoders, hidden_width**2, encoders)
    draw = jax.random.normal(key, (sum(sizes),), jnp.float32).astype(dtype)
    first, second, third = jnp.split(jnp.asarray(init_scale, dtype) * draw, np.cumsum(sizes)[:-1])
    return Weights(
        first.reshape(languages, hidden_width, words),
        second.reshape(hidden_width, hidden_width),
        third.reshape(languages, words, hidden_width),
    )


def negative_gradient(weights: Weights, trained_pairs, loss_mask: str = "full") -> Weights:
    """-dL/dW: the right side of the gradient flow; `loss_mask` is "full" or "diagonal_only".

    Cost: 3 (L D)^2 h + 3 L D h^2 multiply-adds for hidden width h; with more than `FEW` words 7 L D h^2 + 2 L^2 h^2
    + 2 L^2 D h; with the diagonal alone 3 L^2 D h + 3 L D h^2.
    """
    encoders, hidden, decoders = weights
    languages, width, words = encoders.shape
    share = trained_pairs / (trained_pairs.sum() * words)
    stacked = encoders.transpose(1, 0, 2).reshape(width, languages * words)
    second = hidden @ stacked
    if loss_mask == "diagonal_only":
        by_word = second.reshape(width, languages, words)
        decoded = jnp.einsum("jdg,gid->ijd", decoders, by_word)
        error = share[:, :, None] * (1 - decoded)
        pull = jnp.einsum("ijd,jdg->gid", error, decoders).reshape(width, languages * words)
        decoder_slope = jnp.einsum("ijd,gid->jdg", error, by_word)
    elif words > FEW:
        pull, decoder_slope = _summed_pulls(second, decoders, share)
    else:
        readout = decoders.reshape(languages * words, width)
        decoded = (readout @ second).reshape(languages, words, languages, words)
        target = jnp.eye(words, dtype=hidden.dtype)[None, :, None, :]
        error = share.T[:, None, :, None] * (target - decoded)
        error = error.reshape(languages * words, languages * words)
        pull = readout.T @ error
        decoder_slope = (error @ second.T).reshape(languages, words, width)
    encoder_slope = (hidden.T @ pull).reshape(width, languages, words).transpose(1, 0, 2)
    return Weights(encoder_slope, pull @ stacked.T, decoder_slope)


def _summed_pulls(second, decoders, share):
    """Slopes of B A_i, stacked (hidden, input_domain word), and at C_j, from Gram matrices summed over trained pairs."""
    languages, words, width = decoders.shape
    inward = second.reshape(width, languages, words).transpose(1, 0, 2)
    of_inputs = jnp.einsum("ihd,igd->ihg", inward, inward)
    of_outputs = jnp.einsum("jdh,jdg->jhg", decoders, decoders)
    over = lambda pairs, each: jnp.tensordot(pairs, each, 1)  # noqa: E731
    pull = over(share, decoders).transpose(0, 2, 1) - over(share, of_outputs) @ inward
    decoder_slope = over(share.T, inward).transpose(0, 2, 1) - decoders @ over(share.T, of_inputs)
    return pull.transpose(1, 0, 2).reshape(width, languages * words), decoder_slope


def maps(weights: Weights) -> jax.Array:
    """The map of every pair, C_j B A_i, shape (input_domain, output_domain, output word, input word)."""
    second = jnp.einsum("gh,ihd->igd", weights.hidden, weights.encoders)
    return jnp.einsum("jeg,igd->ijed", weights.decoders, second)


def pair_errors(every_map) -> jax.Array:
    """Mean over words of 1/2 |error|^2 for every pair, all entries counted; `every_map` as of `maps`."""
    words = every_map.shape[-1]
    return ((every_map - jnp.eye(words, dtype=every_map.dtype)) ** 2).sum((2, 3)) / (2 * words)


def pair_diagonal_errors(every_map) -> jax.Array:
    """The same with the diagonal entries of every block alone: what the loss mask ``diagonal_only`` sees."""
    words = every_map.shape[-1]
    return ((jnp.einsum("ijdd->ijd", every_map) - 1) ** 2).sum(-1) / (2 * words)


def orientations(every_map) -> jax.Array:
    """Sign of the determinant of every pair's map: +1, -1, or 0 where it is singular, shape (input_domain, output_domain).

    With square factors it is the product of the signs of C_j, B and A_i. The identity has sign +1 and its distance from
    any map of sign -1 is more than 1, so that such a pair has an error above 1/(2 D), whatever else it does.
    """
    sign, _ = jnp.linalg.slogdet(every_map)
    return sign
