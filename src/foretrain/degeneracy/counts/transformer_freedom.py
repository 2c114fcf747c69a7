"""Free directions of foretrain's transformer, counted by their sources; attention heads, whole and of partial rank.

To first order, exact where the rank of the Jacobian is, with d coordinates of a token, D = d of the head, and g the rank of
normalised tokens with the constant over the data:

1. normalisation: scale and shift are taken up by what reads them: 2 d in each section;
2. activations: what no normalised token spans (their coordinates have mean zero, so that g <= d): (d + 1 - g) 3 D, and
   likewise of the perceptron's hidden units;
3. queries and keys act through their product, and the softmax does not see what is added to all keys;
4. values and outputs act through their product, and a constant value is a constant output;
5. neurons: those of the perceptron on its tokens, as `foretrain.degeneracy.counts.free_directions` counts them;
6. stream: normalisation sees neither the mean of a token's coordinates nor, but for turning with it, a rotation of the rest:
   (d - 1)(d - 2)/2 rotations, and d ways of writing a linear function of the token into its mean;
7. constants: the last perceptron's constant is the last layer's, and so is any constant in the mean of the coordinates.

A product A B, with A (a, D) of rank s and B (D, b) of rank t, leaves D (a + b) - (a t + s b - s t) directions free. Heads of
one attention pattern are one head of their widths' sum. As in perceptrons a neuron that is on for few tokens may have more.
"""

from dataclasses import dataclass

import numpy as np

from foretrain.degeneracy.counts.free_directions import free_directions
from foretrain.degeneracy.counts.grams import grams, range_basis
from foretrain.degeneracy.counts.jacobian_spectrum import Freedom, Spectrum
from foretrain.degeneracy.folded import layers, steps
from foretrain.degeneracy.network import Network, examples, perceptron, size
from foretrain.degeneracy.transformer import is_transformer
from foretrain.errors import argument_error

SOURCES = (
    "normalisation", "activations", "queries_keys", "values_outputs", "neurons", "stream", "constants",
)  # fmt: skip
_RANK = 1e-9  # of singular values against the largest


@dataclass(frozen=True, kw_only=True)
class TransformerFreedom(Freedom):
    """The counts of a transformer whose tokens span all coordinates; of others there may be more that is free.

    Args:
        sections: For each attention and perceptron in turn, source to number; others in none of them are 0.
        whole: Of the sources `stream` and `constants`, which belong to no section.
    """

    sections: tuple[dict[str, int], ...]
    whole: dict[str, int]

    def by_source(self) -> dict[str, int]:
        """Free directions by each of `SOURCES`."""
        parts = (*self.sections, self.whole)
        return {source: sum(part.get(source, 0) for part in parts) for source in SOURCES}


def product_freedom(inner: int, read: int, sent: int, left: int, right: int) -> int:
    """Free directions of a product A B: D (a + b) - (a t + s b - s t).

    D is `inner`; A reads a dimensions (`read`) that the data span and has rank s (`left`), at most D and a; B sends to b
    dimensions (`sent`) that the outputs tell apart and has rank t (`right`), at most D and b.
    """
    return inner * (read + sent) - (read * right + left * sent - left * right)


def transformer_freedom(
    network: Network, x: np.ndarray, spectrum: Spectrum | None = None
) -> TransformerFreedom:
    """Count what is free in a transformer of `foretrain.degeneracy.transformer`, by source; without its spectrum not exactly.

    Examples are (example, 2 symbols). Another network raises `ArgumentError`.

    Cost: Gram matrices of all layers, and a decomposition of all tokens by each weight.
    """
    if not is_transformer(network):
        rule = "be a transformer of foretrain.degeneracy.transformer"
        raise argument_error("network", rule, "is another one")
    x = np.asarray(examples(network, x), np.float64)
    matrices = grams(network, x)
    values = layers(steps(network, False), x, False)
    dim = network.params[0]["embedding"].shape[1]
    sections = []
    for at in range(1, len(network.sections) - 1):
        leaves = {name: np.asarray(leaf, np.float64) for name, leaf in network.params[at].items()}
        sensitive = matrices.sensitivities[at + 1]
        stream = range_basis(sensitive[:dim, :dim] + sensitive[dim:, dim:])
        token = values[at].reshape(-1, dim)
        count = _attention if "inward" in leaves else _perceptron
        sections.append(count(leaves, token, stream))
    # In the mean of the coordinates: constants of the embedding and of all sections, of which the last one's is whole.
    whole = {"stream": (dim - 1) * (dim - 2) // 2 + dim, "constants": dim + len(sections)}
    return TransformerFreedom(
        parameters=size(network), spectrum=spectrum, sections=tuple(sections), whole=whole
    )


def _rank(rows):
    values = np.linalg.svd(rows, compute_uv=False)
    return int((values > _RANK * max(values.max(initial=0.0), np.finfo(float).tiny)).sum())


def _varying(rows):
    """Rank of rows about their mean."""
    moved = rows - rows.mean(0)
    size = np.abs(rows).max(initial=0.0)
    return _rank(moved) if np.abs(moved).max(initial=0.0) > _RANK * size else 0


def _normal(token, scale, shift):
    import jax

    from foretrain.networks.transformer import normalised

    with jax.enable_x64(True):
        return np.asarray(normalised(token, scale, shift))


def _attention(leaves, token, stream):
    dim = token.shape[1]
    normal = _normal(token, leaves["scale_1"], leaves["shift_1"])
    g = _varying(normal) + 1
    query, key, value = np.split(normal @ leaves["inward"] + leaves["inward_bias"], 3, axis=1)
    ranks = _varying(value), _rank(leaves["outward"] @ stream)
    return {
        "normalisation": 2 * dim,
        "activations": (dim + 1 - g) * 3 * dim,
        "queries_keys": product_freedom(dim, g, g - 1, _rank(query), _varying(key)) + dim,
        "values_outputs": product_freedom(dim, g - 1, stream.shape[1], *ranks) + dim,
    }


def _perceptron(leaves, token, stream):
    dim = token.shape[1]
    normal = _normal(token, leaves["scale_2"], leaves["shift_2"])
    weights = [leaves["widen"].T, leaves["narrow"].T]
    own = perceptron(weights, [leaves["widen_bias"], leaves["narrow_bias"]], "relu")
    counted = free_directions(own, normal).by_source()
    return {
        "normalisation": 2 * dim,
        "activations": counted["activations"],
        "neurons": counted["jacobians"] + counted["synchronized"],
    }
