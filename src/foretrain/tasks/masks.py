"""Masks: the pairs of input and output domains that are trained.

Everywhere ``trained_pairs`` is an int8 array T of shape (input_domain, output_domain) whose entry is
1 if the route from that input domain to that output domain is trained and 0 if not, as in Saxe,
Sodhani & Lewallen (2022), section 4, and in the shared representations model, where domains are
languages. The bipartite graph of T has the domains as nodes and the trained pairs as edges.
"""

import numpy as np

from foretrain.errors import integer, one_of, real

MASKS = ("circulant", "random_rows", "biregular", "islands")


def circulant(domains: int, trained_outputs: int) -> np.ndarray:
    """Train every input with a band of consecutive outputs, wrapping around.

    Input i is trained with outputs i, i + 1, ..., i + K - 1 modulo M. Biregular and connected for
    K >= 2; for K = 1 it is the identity.
    """
    domains, trained_outputs = _sizes(domains, trained_outputs)
    offset = (np.arange(domains)[None, :] - np.arange(domains)[:, None]) % domains
    return (offset < trained_outputs).astype(np.int8)


def islands(domains: int, trained_outputs: int) -> np.ndarray:
    """Train two halves of the domains each within itself, by circulant bands: no chain of trained routes joins them.

    The first half has the odd domain; an island of fewer than K domains is trained whole. Connected within for K >= 2.
    """
    domains, trained_outputs = _sizes(domains, trained_outputs)
    trained, half = np.zeros((domains, domains), np.int8), (domains + 1) // 2
    for island in (slice(0, half), slice(half, domains)):
        size = len(range(domains)[island])
        if size:
            trained[island, island] = circulant(size, min(trained_outputs, size))
    return trained


def random_rows(domains: int, trained_outputs: int, generator: np.random.Generator) -> np.ndarray:
    """Train every input with K outputs drawn without replacement; outputs get unequal numbers.

    One seed gives nested masks as K grows; rows sum to K.
    """
    domains, trained_outputs = _sizes(domains, trained_outputs)
    ranks = generator.permuted(np.tile(np.arange(domains), (domains, 1)), axis=1)
    return (ranks < trained_outputs).astype(np.int8)


def random_biregular(
    domains: int, trained_outputs: int, generator: np.random.Generator
) -> np.ndarray:
    """Train every input with K outputs and every output with K inputs, otherwise at random.

    A circulant mask with its rows and columns permuted is mixed by edge switching: two trained pairs (i, j), (k, l) are
    replaced by (i, l), (k, j) where neither of these is trained. Switching keeps all row and column sums and reaches every
    biregular mask, each with the same limiting probability. 20 switches are proposed per trained (or, if fewer, untrained)
    pair: the law is near, not exactly, uniform, but for K = 1, where it is exact. Rows and columns sum to K.
    """
    domains, trained_outputs = _sizes(domains, trained_outputs)
    if 2 * trained_outputs > domains:  # the sparser of a mask and its complement mixes faster
        if trained_outputs == domains:
            return np.ones((domains, domains), np.int8)
        return np.int8(1) - random_biregular(domains, domains - trained_outputs, generator)
    trained = circulant(domains, trained_outputs)
    trained = trained[generator.permutation(domains)][:, generator.permutation(domains)]
    inputs, outputs = np.nonzero(trained)
    for first, other in generator.integers(inputs.size, size=(20 * inputs.size, 2)):
        i, j, k, m = inputs[first], outputs[first], inputs[other], outputs[other]
        if not (trained[i, m] or trained[k, j]):
            trained[i, j] = trained[k, m] = 0
            trained[i, m] = trained[k, j] = 1
            outputs[first], outputs[other] = m, j
    return trained


def nested(
    domains: int, pairs: int, generator: np.random.Generator, *, diagonal: bool = True
) -> np.ndarray:
    """Train a number of random pairs; for one seed, fewer pairs are a subset of more.

    All off-diagonal pairs come in one random order, after the diagonal if `diagonal`; without it all pairs are in the order.
    `pairs` is 1 to M^2, at least M with the diagonal.
    """
    domains = integer("domains", domains, minimum=1)
    pairs = integer("pairs", pairs, minimum=domains if diagonal else 1, maximum=domains**2)
    order = generator.permutation(domains**2)
    if diagonal:
        forced = order % (domains + 1) == 0
        order = np.concatenate([order[forced], order[~forced]])
    trained = np.zeros(domains**2, np.int8)
    trained[order[:pairs]] = 1
    return trained.reshape(domains, domains)


def sparse(inputs: int, outputs: int, degree: float, generator: np.random.Generator) -> np.ndarray:
    """Train every pair independently, so many outputs of each input on average: a random bipartite graph.

    Below one or two it falls into components, and domains stay that are trained with none; it is connected from about the
    logarithm of the number of domains on.

    `degree`, above 0, is the expected number of trained outputs of an input. A mask that trains nothing is drawn again.
    """
    inputs, outputs = integer("inputs", inputs, minimum=1), integer("outputs", outputs, minimum=1)
    degree = real("degree", degree, above=0, maximum=outputs)
    trained = np.zeros((inputs, outputs), np.int8)
    while not trained.any():
        trained = (generator.random((inputs, outputs)) * outputs < degree).astype(np.int8)
    return trained


def draw(
    kind: str, domains: int, trained_outputs: int, generator: np.random.Generator
) -> np.ndarray:
    """Trained pairs of one of `MASKS`, shape (input_domain, output_domain), int8; circulants and islands draw nothing."""
    bands = {"circulant": circulant, "islands": islands}
    if one_of("mask", kind, MASKS) in bands:
        return bands[kind](domains, trained_outputs)
    law = random_rows if kind == "random_rows" else random_biregular
    return law(domains, trained_outputs, generator)


def is_biregular(trained_pairs: np.ndarray) -> bool:
    """True if every input has K outputs and every output K inputs, for one K."""
    rows, columns = trained_pairs.sum(axis=1), trained_pairs.sum(axis=0)
    return bool((rows == rows[0]).all() and (columns == rows[0]).all())


def components(trained_pairs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Connected components of the bipartite graph of trained pairs.

    Labels of every input and every output domain, int64, are numbered from 0 in the order of each component's first domain,
    inputs before outputs. A domain that is never trained is a component of its own.
    """
    # Imported here, so that a study that draws masks can be listed without SciPy.
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    inputs, outputs = trained_pairs.shape
    source, target = np.nonzero(trained_pairs)
    nodes = inputs + outputs
    edges = coo_array((np.ones(source.size), (source, inputs + target)), shape=(nodes, nodes))
    _, labels = connected_components(edges, directed=False)
    labels = labels.astype(np.int64)
    return labels[:inputs], labels[inputs:]


def is_connected(trained_pairs: np.ndarray) -> bool:
    """True if all domains, input and output, lie in one component."""
    inputs, outputs = components(trained_pairs)
    return bool(max(inputs.max(), outputs.max()) == 0)


def without_common_output(trained_pairs: np.ndarray) -> np.ndarray:
    """The pairs of input domains that are never trained with the same output.

    Returns:
        Boolean, shape (input_domain, input_domain), true above the diagonal only: each pair once.
    """
    trained = trained_pairs.astype(np.int64)
    return np.triu(trained @ trained.T == 0, 1)


def _sizes(domains, trained_outputs):
    domains = integer("domains", domains, minimum=1)
    return domains, integer("trained_outputs", trained_outputs, minimum=1, maximum=domains)
