"""Items with features at every level of a tree, the data of Saxe, Sodhani & Lewallen (2022), Fig. 4.

With two levels of branching by two there are 4 items and 7 features: 1 that all items have (the
root), 2 that two items each have, 4 that one item each has. Inputs are one-hot.
"""

from collections.abc import Sequence

import numpy as np

from foretrain.errors import argument_error, real

# Value of a feature by level, root first. The figures of the paper were made with the first, which
# it does not mention: singular values of the outputs 13.6015, 6.4031, 3, 3. With unit weights they
# are sqrt 7, sqrt 3, 1, 1.
LEVEL_WEIGHTS = {"authors": (6.0, 4.0, 3.0), "unit": (1.0, 1.0, 1.0)}


def hierarchical_items(
    weights: Sequence[float] = LEVEL_WEIGHTS["authors"],
) -> tuple[np.ndarray, np.ndarray]:
    """The items of a tree that branches by two.

    Weights are the values of a feature by level, root first; a tree of depth d has d + 1 of them, and 2^d items.
    Inputs (item, item) are the identity, outputs (feature, item), float64, features ordered by level, root first.
    """
    weights = [real("weights", weight) for weight in weights]
    if not weights:
        raise argument_error("weights", "have at least one level", "is empty")
    items = 2 ** (len(weights) - 1)
    levels = [
        weight * np.kron(np.eye(2**level), np.ones(items // 2**level))
        for level, weight in enumerate(weights)
    ]
    return np.eye(items), np.vstack(levels)
