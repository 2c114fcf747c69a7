"""Modules of an interaction graph, and whether it is modular at all: the same edges, met by the same nodes, wired at random.

Any graph has partitions that look modular, the more so the fewer edges it has. So what a partition reaches is held against
what the same search reaches in graphs that are rewired: between each two neighbouring layers values change places within
2 x 2 minors, along rows and along columns in turns, wherever the number of edges of every node stays as it is. The values
between two layers stay the same ones, and so do degrees; which edge has which value, and whom it meets, is drawn.
"""

from collections.abc import Sequence

import numpy as np

from foretrain.degeneracy.interactions.modularity import Partition, affinity, partition
from foretrain.errors import integer

MOVES = 10  # of an edge, in the mean
SWEEPS = 2000  # at most; in each every edge can move once


def rewired(part: np.ndarray, random: np.random.Generator, moves: float = MOVES) -> np.ndarray:
    """Values between two layers, wired at random.

    The values of `part` are (to, from), not negative, 0 where there is no edge; each row and column keeps as many above 0.
    `moves` are those of each edge, in the mean; of very sparse graphs fewer, see `SWEEPS`. Cost: the number of values, times 2
    `moves` over the share of them that are edges.
    """
    part = np.asarray(part, float)
    met = np.ix_(part.any(1), part.any(0))  # what has no edge keeps none
    wired = part[met]
    # An edge can move if the one across from it in its minor is one, too, and the others are none; it does half of the time.
    density = (wired > 0).mean() if wired.any() else 1.0
    sweeps = moves * 2 / max(density * (1 - density) ** 2, density**4)
    for sweep in range(min(SWEEPS, int(np.ceil(sweeps)))):
        turned = wired.T if sweep % 2 else wired  # a view: moves along rows, then along columns
        rows, columns = (random.permutation(size)[: size - size % 2] for size in turned.shape)
        if not (rows.size and columns.size):
            continue
        rows, columns = rows.reshape(-1, 2), columns.reshape(-1, 2)
        at = np.ix_(rows.ravel(), columns.ravel())
        minors = turned[at].reshape(len(rows), 2, len(columns), 2)
        swapped = minors[..., ::-1]
        edges = (minors > 0).sum(1)  # of each column within the minor
        kept = edges[..., 0] == edges[..., 1]
        moved = kept & (random.random(kept.shape) < 0.5)
        minors = np.where(moved[:, None, :, None], swapped, minors)
        turned[at] = minors.reshape(rows.size, columns.size)
    whole = np.zeros_like(part)
    whole[met] = wired
    return whole


def modules(
    edges: Sequence[np.ndarray],
    eps: float,
    number: int | None = None,
    *,
    resolution: float | None = None,
    draws: int = 10,
    seed: int = 0,
) -> tuple[Partition, np.ndarray]:
    """Modules of a layered graph, and the modularity of rewired graphs, (draws,), each sought alike at their resolution.

    >>> modules([np.kron(np.eye(2), np.ones((3, 3)))] * 2, 1e-3)[0].modules
    2

    `edges` and `eps` are those of `modularity.affinity`; a strength of at most `eps` is no edge. `number` and `resolution`
    are those of `modularity.partition`. Cost: `draws` + 1 partitions.
    """
    best = partition(affinity(edges, eps), number, resolution=resolution)
    random = np.random.default_rng(seed)
    kept = [np.where(part > eps, part, 0) for part in edges]
    by_chance = []
    for _ in range(integer("draws", draws, minimum=1)):
        weights = affinity([rewired(part, random) for part in kept], eps)
        many = None if number is None else min(number, int(weights.any(0).sum()))
        alike = partition(weights, many, resolution=best.resolution)
        by_chance.append(alike.modularity)
    return best, np.array(by_chance)


def is_modular(best: Partition, by_chance: np.ndarray) -> bool:
    """True if a graph is more modular than it is rewired: by more than three deviations of the rewired ones from their mean.

    Of random graphs about one in a hundred is, with ten draws.
    """
    spread = by_chance.std(ddof=1) if len(by_chance) > 1 else 0.0
    return bool(best.modularity > by_chance.mean() + 3 * spread + 1e-9)
