"""Networks whose free directions are known, for tests: planted dependencies and planted synchronised blocks."""

import itertools

import numpy as np

from foretrain.degeneracy.network import Network, perceptron


def drawn(sizes, seed=0, activation="relu", bias=False) -> Network:
    """Gaussian weights and, where asked for, small biases."""
    random = np.random.default_rng(seed)
    weights = [random.normal(size=(b, a)) for a, b in itertools.pairwise(sizes)]
    biases = [0.3 * random.normal(size=b) for b in sizes[1:]] if bias else None
    return perceptron(weights, biases, activation)


def draw(seed, widths, activation, biases=True, n=60) -> tuple[Network, np.ndarray]:
    """A perceptron whose outputs are of order one, and `n` examples that are not centred."""
    random = np.random.default_rng(seed)
    weights = [random.standard_normal((b, a)) / a**0.5 for a, b in itertools.pairwise(widths)]
    shifts = [random.standard_normal(len(w)) for w in weights] if biases else None
    return perceptron(weights, shifts, activation), random.standard_normal((n, widths[0])) + 0.3


def data(examples, inputs, seed=0) -> np.ndarray:
    return np.random.default_rng([seed, 1]).normal(size=(examples, inputs))


def blocks(spans, sizes, outputs, examples=400, seed=0):
    """One hidden layer, and data, in which block a has `sizes[a]` neurons whose preactivations span `spans[a]` dimensions.

    Block a reads `spans[a]` inputs of its own, which share one random sign, with positive weights: all its neurons are on
    as that sign is positive.
    """
    random = np.random.default_rng(seed)
    x, first = [], np.zeros((sum(sizes), sum(spans)))
    row = column = 0
    for span, many in zip(spans, sizes, strict=True):
        sign = random.choice([-1.0, 1.0], size=(examples, 1))
        x.append(sign * np.abs(random.normal(size=(examples, span))))
        first[row : row + many, column : column + span] = random.uniform(0.3, 1, (many, span))
        row, column = row + many, column + span
    return perceptron([first, random.normal(size=(outputs, sum(sizes)))]), np.concatenate(x, 1)
