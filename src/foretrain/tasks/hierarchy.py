"""Items with features at every level of a tree, the data of Saxe, Sodhani & Lewallen (2022), Fig. 4.

With two levels of branching by two there are 4 items and 7 features: 1 that all items have (the
root), 2 that two items each have, 4 that one item each has. Inputs are one-hot.
"""

from collections.abc import Sequence

import numpy as np

from foretrain.errors import argument_error, integer, real

# Value of a feature by level, root first. The figures of the paper were made with the first, which
# it does not mention: singular values of the outputs 13.6015, 6.4031, 3, 3. With unit weights they
# are sqrt 7, sqrt 3, 1, 1.
LEVEL_WEIGHTS = {"authors": (6.0, 4.0, 3.0), "unit": (1.0, 1.0, 1.0)}


def hierarchical_items(
    weights: Sequence[float] = LEVEL_WEIGHTS["authors"], branching: int = 2
) -> tuple[np.ndarray, np.ndarray]:
    """The items of a tree.

    Weights are the values of a feature by level, root first; a tree of depth d has d + 1 of them, and branching^d items.
    Inputs (item, item) are the identity, outputs (feature, item), float64, features ordered by level, root first.
    """
    branching = integer("branching", branching, minimum=2)
    weights = [real("weights", weight) for weight in weights]
    if not weights:
        raise argument_error("weights", "have at least one level", "is empty")
    items = branching ** (len(weights) - 1)
    levels = [
        weight * np.kron(np.eye(branching**level), np.ones(items // branching**level))
        for level, weight in enumerate(weights)
    ]
    return np.eye(items), np.vstack(levels)


def hierarchical_modes(
    weights: Sequence[float] = LEVEL_WEIGHTS["authors"], branching: int = 2
) -> tuple[np.ndarray, np.ndarray]:
    """Singular values and input variances of the un-gated statistics of the items of a tree.

    Closed form: with subtrees of n_l = branching^(depth - l) items below a node of level l and
    tail_l = sum_{m >= l} n_m weight_m^2, <y x^T> has the singular value sqrt(tail_l) / items once
    for level 0 and branching^l - branching^(l-1) times for every deeper level l.

    S and D are (mode,), float64; S does not increase with the mode, D is 1/items.
    """
    inputs, _ = hierarchical_items(weights, branching)
    items, depth = len(inputs), len(weights) - 1
    below = float(branching) ** (depth - np.arange(depth + 1))
    tails = np.cumsum((below * np.square(weights))[::-1])[::-1]
    counts = [
        branching**level - (branching ** (level - 1) if level else 0) for level in range(depth + 1)
    ]
    return np.repeat(np.sqrt(tails), counts) / items, np.full(items, 1 / items)
