"""Parallelograms of a learned operation: what a training set says of the embeddings of its symbols.

Two samples (i, j) and (m, n) with one label make a parallelogram, E_i + E_j = E_m + E_n, where a decoder that sees only the
sum is to give both the same label without confusing others. All such pairs are P0; those of a training set D are P0(D), the
rows of the incidence matrix A(D). Representations that satisfy them are its null space, and a parallelogram outside P0(D)
holds in all of them if its row depends on the rows of A(D). See docs/theory/grokking.md. All in float64.

Training sets are bool arrays (..., sample), sets of parallelograms bool arrays (..., parallelogram), embeddings float arrays
(..., symbol, dimension). The Gram matrix A^T A is made from the samples, label by label, never from A: a training set takes
8 p (p + outcomes) bytes, at p = 100 and addition 0.24 MB. A itself (82,075 rows) takes 66 MB there. Many sets are taken in
blocks, so that it is 16 MB at once, or ten times that where every parallelogram is asked about (`ideal`).
"""

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from foretrain.errors import argument_error, integer, real
from foretrain.tasks.groups import Operation

_ZERO = 1e-12  # of the trace: eigenvalues of an integer Gram matrix below it are rounding errors
_BLOCK = 2_000_000  # numbers of a Gram matrix in memory at once


def parallelograms(operation: Operation) -> tuple[np.ndarray, np.ndarray]:
    """P0: every unordered pair of samples with one label.

    int (parallelogram, 4), the symbols i, j, m, n with table[i, j] = table[m, n]; and int (parallelogram, 2), the numbers of
    the two samples, in increasing order.
    """
    pairs = [np.empty((0, 2), int)]
    for label in range(operation.outcomes):
        members = np.flatnonzero(operation.labels == label)
        pairs.append(members[np.stack(np.triu_indices(len(members), 1), axis=1)])
    pairs = np.concatenate(pairs)
    pairs = pairs[np.lexsort(pairs.T[::-1])]
    return operation.samples[pairs].reshape(-1, 4), pairs


def incidence(operation: Operation) -> np.ndarray:
    """A(P0), float (parallelogram, symbol): +1 at i and j, -1 at m and n (2, -2 or 0 where they coincide)."""
    rows = sample_incidence(operation)
    first, second = parallelograms(operation)[1].T
    return (rows[first] - rows[second]).toarray()


def sample_incidence(operation: Operation) -> sparse.csr_array:
    """Sparse (sample, symbol): the sum of embeddings that each sample shows, +1 at both of its symbols."""
    count = len(operation.samples)
    place = np.repeat(np.arange(count), 2), operation.samples.ravel()
    return sparse.csr_array((np.ones(2 * count), place), shape=(count, operation.symbols))


def inside(operation: Operation, training) -> np.ndarray:
    """P0(D), bool (..., parallelogram): both samples are in the training set."""
    first, second = parallelograms(operation)[1].T
    training = checked_training(operation, training)
    return training[..., first] & training[..., second]


def normalised(embedding) -> np.ndarray:
    """Each dimension with mean 0 and unbiased variance 1 over the symbols; nan where all symbols coincide."""
    embedding = np.asarray(embedding, float)
    with np.errstate(invalid="ignore", divide="ignore"):
        return (embedding - embedding.mean(-2, keepdims=True)) / embedding.std(
            -2, ddof=1, keepdims=True
        )


def parallelograms_of(embedding, operation: Operation, tolerance: float = 0.1) -> np.ndarray:
    """P(R, delta), bool (..., parallelogram): those that a representation has.

    The mean over dimensions of (E_i + E_j - E_m - E_n)^2 is below delta^2, E normalised. Changes of unit and origin in each
    dimension do not matter, nor does the sign or order of dimensions; with more than one, a mixing of them does (delta is
    measured in units of each). No parallelogram holds where a dimension has collapsed to a point.

    The embedding is (..., symbol, dimension), `tolerance` delta, 0.1 in the authors' code.
    """
    tolerance = real("tolerance", tolerance, above=0)
    i, j, m, n = parallelograms(operation)[0].T
    place = normalised(_embedding(operation, embedding))
    gap = place[..., i, :] + place[..., j, :] - place[..., m, :] - place[..., n, :]
    return (gap**2).mean(-1) < tolerance**2


def fraction(parallelogram_set):
    """Fraction of all parallelograms that a set, bool (..., parallelogram), has; 1 where there are none, as for p = 2."""
    chosen = np.asarray(parallelogram_set)
    return chosen.mean(-1) if chosen.shape[-1] else np.ones(chosen.shape[:-1])


def rqi(embedding, operation: Operation, tolerance: float = 0.1):
    """Quality of a representation, |P(R)| / |P0|, shape (...,); 1 where there are none."""
    return fraction(parallelograms_of(embedding, operation, tolerance))


def predicted_accuracy(operation: Operation, training, parallelogram_set):
    """Fraction of all samples that are in D or share a parallelogram of the set with one that is, shape (...,).

    Args:
        parallelogram_set: bool (..., parallelogram): what a representation holds, or the ideal one.
    """
    training = checked_training(operation, training)
    first, second = parallelograms(operation)[1].T
    chosen = _parallelogram_set(parallelogram_set, len(first))
    reached = _any_at(first, chosen & training[..., second], training.shape[-1])
    reached |= _any_at(second, chosen & training[..., first], training.shape[-1])
    return (reached | training).mean(-1)


def ideal(operation: Operation, training) -> np.ndarray:
    """P(D), bool (..., parallelogram): what holds in every representation that satisfies P0(D).

    For unordered pairs a row of A that depends on the rows of P0(D); else `deduced`. Its `fraction` bounds RQI from
    above, `predicted_accuracy` of it the accuracy.

    Cost:
        An eigendecomposition of p x p per training set.

    Example:
        >>> from foretrain.tasks.groups import addition
        >>> operation = addition(5)
        >>> training = np.isin(np.arange(len(operation.samples)), [0, 1, 2, 3, 5, 6, 9])
        >>> sets = inside(operation, training), ideal(operation, training)
        >>> [round(float(fraction(each)), 2) for each in sets]
        [0.29, 0.43]
    """
    training = checked_training(operation, training)
    if not operation.commutative:
        return deduced(operation, inside(operation, training))

    def follow(part):
        return _vanishing(operation, gram(operation, part))

    return _in_blocks(operation, training, follow, len(parallelograms(operation)[0]))


def implied(operation: Operation, parallelogram_set) -> np.ndarray:
    """As `ideal`, for a set of parallelograms, bool (..., parallelogram), of which no training set need have the samples."""
    if not operation.commutative:
        return deduced(operation, parallelogram_set)
    rows = incidence(operation)
    chosen = _parallelogram_set(parallelogram_set, len(rows))
    return _vanishing(operation, np.einsum("...k,ki,kj->...ij", chosen, rows, rows, optimize=True))


def deduced(operation: Operation, parallelogram_set) -> np.ndarray:
    """Parallelograms that follow for invertible matrices, bool (..., parallelogram).

    E_i E_j = E_m E_n says that the left quotient E_m^-1 E_i is the right quotient E_n E_j^-1. Equal quotients are joined
    (three parallelograms give a fourth), as are samples of equal product (two give a third), until nothing changes.
    """
    (i, j, m, n), (first, second) = (part.T for part in parallelograms(operation))
    chosen = _parallelogram_set(parallelogram_set, len(i))
    p = operation.symbols
    left = np.concatenate([m * p + i, i * p + m])
    right = p * p + np.concatenate([n * p + j, j * p + n])

    def closure(known):
        while True:
            quotient = _joined(left, right, np.tile(known, 2), 2 * p * p)
            more = quotient[left] == quotient[right]
            more = known | more[: len(i)]
            sample = _joined(first, second, more, len(operation.samples))
            more |= sample[first] == sample[second]
            if (more == known).all():
                return known
            known = more

    result = np.empty(chosen.shape, bool)
    for place in np.ndindex(chosen.shape[:-1]):
        result[place] = closure(chosen[place])
    return result


def gram(operation: Operation, training) -> np.ndarray:
    """A^T A of P0(D), (..., symbol, symbol), exact whole numbers.

    With u = e_i + e_j of each sample it is, summed over labels, (number) * sum u u^T - (sum u)(sum u)^T.
    """
    training = checked_training(operation, training)
    p, labels = operation.symbols, operation.labels
    flat = training.reshape(-1, training.shape[-1]).astype(float)
    count, kinds = flat.shape[1], operation.outcomes
    of_label = sparse.csr_array((np.ones(count), (labels, np.arange(count))), shape=(kinds, count))
    numbers = (of_label @ flat.T).T
    i, j = operation.samples.T
    place = np.concatenate([i * p + i, i * p + j, j * p + i, j * p + j])
    sample = np.tile(np.arange(count), 4)
    squares = sparse.csr_array((np.ones(4 * count), (place, sample)), shape=(p * p, count))
    place = np.concatenate([labels * p + i, labels * p + j])
    sums = sparse.csr_array((np.ones(2 * count), (place, sample[: 2 * count])), (kinds * p, count))
    total = (sums @ flat.T).T.reshape(-1, kinds, p)
    result = (squares @ (flat * numbers[:, labels]).T).T.reshape(-1, p, p)
    result = result - total.swapaxes(-1, -2) @ total
    return result.reshape(*training.shape[:-1], p, p)


def degrees_of_freedom(operation: Operation, training):
    """Nullity of A(P0(D)), int (...,): how many numbers per dimension the training set leaves free.

    For addition at least 2, and 2 means E_k = a + k b. For a group at least 1, and 1 means that all symbols coincide.
    """
    training = checked_training(operation, training)

    def count(part):
        values = np.linalg.eigvalsh(gram(operation, part))
        return (values <= _ZERO * np.maximum(values.sum(-1, keepdims=True), 1)).sum(-1)

    return _in_blocks(operation, training, count)


def least_degrees_of_freedom(operation: Operation) -> int:
    """Degrees of freedom with all samples: 2 for addition, 1 for a group."""
    return int(degrees_of_freedom(operation, np.ones(len(operation.samples), bool)))


def unique_linear(operation: Operation, training):
    """True where a training set leaves no more freedom than all samples do, bool (...,)."""
    return degrees_of_freedom(operation, training) == least_degrees_of_freedom(operation)


def critical_sizes(operation: Operation, draws: int, generator: np.random.Generator) -> np.ndarray:
    """Samples, taken in random order, after which the representation is unique, int (draws,).

    The rank of A grows with the set, so that each order is searched by halves.
    """
    draws, count = integer("draws", draws, minimum=1), len(operation.samples)
    rank = generator.permuted(np.tile(np.arange(count), (draws, 1)), axis=1)
    low, high = np.zeros(draws, int), np.full(draws, count)  # not unique at low, unique at high
    while (open_ := np.flatnonzero(high - low > 1)).size:
        middle = (low[open_] + high[open_]) // 2
        unique = unique_linear(operation, rank[open_] < middle[:, None])
        high[open_[unique]] = middle[unique]
        low[open_[~unique]] = middle[~unique]
    return high


def checked_training(operation: Operation, training) -> np.ndarray:
    """Return training sets as bool (..., sample), or raise `ArgumentError` for a wrong shape, dtype or an empty set."""
    count = len(operation.samples)
    array = _flags("training", training, count, "samples")
    if not array.any(-1).all():
        rule = f"hold 1 to {count} samples in each set"
        raise argument_error("training", rule, "holds none in one")
    return array


def _parallelogram_set(chosen, number):
    return _flags("parallelogram_set", chosen, number, "parallelograms")


def _flags(name, flags, number, things):
    array = np.asarray(flags)
    if array.dtype.kind != "b" or not array.ndim or array.shape[-1] != number:
        got = f"has shape {array.shape} and dtype {array.dtype}"
        raise argument_error(name, f"hold true or false for each of {number} {things}", got)
    return array


def _embedding(operation, embedding):
    """An embedding as floats; not finite are those of a run that diverged."""
    try:
        array = np.asarray(embedding, float)
    except ValueError:
        raise argument_error(
            "embedding", "hold numbers, in rows of one length", "does not"
        ) from None
    if array.ndim < 2 or array.shape[-2] != operation.symbols or not array.shape[-1]:
        rule = f"have shape (..., {operation.symbols} symbols, dimensions)"
        raise argument_error("embedding", rule, f"has shape {array.shape}")
    return array


def _vanishing(operation, grams):
    """Rows of A(P0) orthogonal to the null space of each Gram matrix: tried on random vectors of that space."""
    values, vectors = np.linalg.eigh(grams)
    free = values <= _ZERO * np.maximum(values.sum(-1, keepdims=True), 1)
    random = np.random.default_rng(0).standard_normal((operation.symbols, 4))
    place = vectors @ (free[..., None] * (vectors.swapaxes(-1, -2) @ random))
    i, j, m, n = parallelograms(operation)[0].T
    gap = place[..., i, :] + place[..., j, :] - place[..., m, :] - place[..., n, :]
    return (np.abs(gap) < 1e-6).all(-1)


def _in_blocks(operation, training, function, pairs=0):
    """A function of training sets, of few at once; `pairs` of samples are looked at in each."""
    if not training.size:
        raise argument_error("training", "hold one set at least", f"has shape {training.shape}")
    flat = training.reshape(-1, training.shape[-1])
    per_set = operation.symbols * (operation.symbols + operation.outcomes) + 4 * pairs
    step = max(1, _BLOCK // per_set)
    parts = [function(flat[k : k + step]) for k in range(0, len(flat), step)]
    result = np.concatenate(parts)
    return result.reshape(training.shape[:-1] + result.shape[1:])


def _any_at(place, chosen, size):
    """True at each place that a chosen entry of the last axis has, bool (..., size)."""
    number, shape = len(place), chosen.shape[:-1]
    flat = chosen.reshape(int(np.prod(shape)), number)
    gather = sparse.csr_array((np.ones(number), (place, np.arange(number))), shape=(size, number))
    return ((gather @ flat.T.astype(float)).T > 0).reshape(*shape, size)


def _joined(first, second, chosen, size):
    """Number of the component of each of `size` nodes, where the chosen pairs are joined."""
    pair = first[chosen], second[chosen]
    graph = sparse.csr_array((np.ones(len(pair[0])), pair), shape=(size, size))
    return connected_components(graph, directed=False)[1]
