"""Operations of two symbols as tables: addition without a modulus, and finite groups.

A network learns an operation from some of its samples (a, b) with the label `table[a, b]`. See docs/theory/grokking.md.
"""

from dataclasses import dataclass
from itertools import permutations
from math import factorial

import numpy as np

from foretrain.errors import argument_error, integer, one_of

OPERATIONS = ("addition", "cyclic", "dihedral", "symmetric")


@dataclass(frozen=True, eq=False)
class Operation:
    """A table of the results of two symbols, and the samples that show it.

    Attributes:
        table: int (symbol, symbol), the label of each ordered pair.
        samples: int (sample, 2), every pair once: a <= b where the pairs are unordered. There are |D0| of them.
        labels: int (sample,), the label of each.
        commutative: The pairs are unordered. A commutative group with ordered pairs has False here.
        name: A description in words.
    """

    table: np.ndarray
    samples: np.ndarray
    labels: np.ndarray
    commutative: bool
    name: str

    @property
    def symbols(self) -> int:
        """p, the number of symbols."""
        return len(self.table)

    @property
    def outcomes(self) -> int:
        """Number of labels, of which the smallest is 0."""
        return int(self.table.max()) + 1


def addition(symbols: int) -> Operation:
    """Integers 0..p-1 added without a modulus: p(p+1)/2 unordered samples, labels 0..2p-2."""
    numbers = np.arange(integer("symbols", symbols, minimum=2))
    return _operation(numbers[:, None] + numbers, f"addition of 0..{symbols - 1}", False)


def cyclic(symbols: int, *, ordered: bool = False) -> Operation:
    """Addition modulo p; p^2 samples if `ordered`, else p(p+1)/2. Raises `ArgumentError` if p < 2."""
    numbers = np.arange(integer("symbols", symbols, minimum=2))
    return _operation((numbers[:, None] + numbers) % symbols, f"addition modulo {symbols}", ordered)


def dihedral(sides: int) -> Operation:
    """Symmetries of a polygon: rotations r^k are the symbols 0..n-1, reflections r^k s the symbols n..2n-1."""
    sides = integer("sides", sides, minimum=3)
    turn, flip = np.arange(2 * sides) % sides, np.arange(2 * sides) // sides
    turns = turn[:, None] + np.where(flip[:, None], -turn, turn)
    table = turns % sides + sides * (flip[:, None] ^ flip)
    return _operation(table, f"symmetries of a polygon of {sides} sides", False)


def symmetric(degree: int) -> Operation:
    """Permutations of `degree` things, in lexicographic order; (a b)(x) = a(b(x))."""
    chosen = _permutations(degree)
    composed = chosen[:, chosen]  # [a, b, x] = a(b(x))
    places = degree ** np.arange(degree)
    codes = chosen @ places
    order = np.argsort(codes)
    table = order[np.searchsorted(codes[order], composed @ places)]
    return _operation(table, f"permutations of {degree}", degree > 2)


def permutation_matrices(degree: int) -> np.ndarray:
    """Matrices of the symbols of `symmetric`, shape (symbol, degree, degree): a group representation."""
    return np.eye(degree)[_permutations(degree)].swapaxes(-1, -2)


def named(operation: str, symbols: int, *, ordered: bool = False) -> Operation:
    """An operation by name and number of symbols p: `addition`, `cyclic`, `dihedral` or `symmetric`.

    Raises:
        ArgumentError: an unknown name, or a number of symbols that the operation cannot have.
    """
    one_of("operation", operation, OPERATIONS)
    symbols = integer("symbols", symbols, minimum=2)
    if operation == "addition":
        return addition(symbols)
    if operation == "cyclic":
        return cyclic(symbols, ordered=ordered)
    if operation == "dihedral":
        if symbols < 6 or symbols % 2:
            rule = "be even and at least 6 for `dihedral`"
            raise argument_error("symbols", rule, f"is {symbols}")
        return dihedral(symbols // 2)
    degrees = {factorial(degree): degree for degree in range(2, 6)}
    if symbols not in degrees:
        raise argument_error("symbols", "be 2, 6, 24 or 120 for `symmetric`", f"is {symbols}")
    return symmetric(degrees[symbols])


def training_size(operation: Operation, size: int) -> int:
    """Return `size` if so many samples can be drawn for training, 1..|D0|; raise `ArgumentError` if not."""
    return integer("training_size", size, minimum=1, maximum=len(operation.samples))


def _permutations(degree):
    degree = integer("degree", degree, minimum=2, maximum=5)
    return np.array(list(permutations(range(degree))))


def _operation(table, name, ordered):
    unordered = not ordered and bool((table == table.T).all())
    n = len(table)
    first, second = np.triu_indices(n) if unordered else np.indices((n, n)).reshape(2, -1)
    samples = np.stack([first, second], axis=1)
    return Operation(table, samples, table[first, second], unordered, name)
