"""Modules: what an interaction between two parts of a network costs in freedom, and the partition that cuts least of it.

Where M2 reads mediating variables v_i of M1, through weights w_i, only those free directions of M1 are sure not to meet M2's
that leave every v_i as it is. At a cutoff eps of the loss a constraint of strength w costs

- by the secant 2 ln(V/V_0)/ln eps of volumes: gamma = gamma~ (1 - 2 ln w / ln eps), from gamma~ at w = 1 down to 0 at
  w² = eps;
- by the derivative 2 d ln V/d ln eps, which is what an effective number of parameters is: gamma~ where w² > eps, else 0.

By the secant strengths add as logarithms: modules are the partition of the interaction graph that cuts the least sum of
ln(w/eps^{1/2}), clipped at zero. That is usually one weak leaf; so the normalised cut is minimised, each module's cut over
the sum of logarithms at its nodes (its volume), with a small term for unequal volumes. The plain sum can be minimised by
option.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import comb, factorial

import numpy as np

from foretrain.errors import argument_error, finite_array, integer, one_of, real

BALANCES = ("volume", "none")
EXACT = 200_000  # partitions that are all looked at; of more, a heuristic looks for the best
_EQUAL = 0.01  # weight of sum_a (volume_a / volume - 1/k)²
_STARTS = 12


def secant_freedom(strength, eps: float) -> np.ndarray:
    """Effective parameters that a constraint of strength w >= 0 adds by the secant of volumes, (34), where w >= 1 adds one.

    w has any shape; `eps` is the cutoff, in (0, 1).
    """
    logs = log_strength(np.minimum(np.asarray(strength, float), 1), eps)
    return np.asarray(logs / (-0.5 * np.log(eps)))


def derivative_freedom(strength, eps: float) -> np.ndarray:
    """The same by the derivative of the logarithm of the volume: 1 where w² > eps, else 0."""
    return np.asarray(1.0 * (np.asarray(strength, float) ** 2 > _cutoff(eps)))


def secant_of_volumes(constrained, free, eps) -> np.ndarray:
    """2 ln(V/V_0)/ln eps, of volumes V with a constraint and V_0 without it."""
    ratio = np.asarray(constrained, float) / np.asarray(free, float)
    return np.asarray(2 * np.log(ratio) / np.log(np.asarray(eps, float)))


def log_strength(strength, eps: float) -> np.ndarray:
    """ln(w/eps^{1/2}), zero where w is smaller than that; any shape."""
    strength = np.asarray(strength, float)
    floor = np.sqrt(_cutoff(eps))
    return np.asarray(np.log(np.maximum(strength, floor) / floor))


def _cutoff(eps):
    eps = real("eps", eps, above=0)
    if eps >= 1:
        raise argument_error("eps", "be below 1", f"is {eps:g}")
    return eps


def affinity(edges: Sequence[np.ndarray], eps: float) -> np.ndarray:
    """Log-strengths between all nodes of a layered graph, symmetric, (N, N), layer after layer.

    `edges` are the strengths E of an `InteractionGraph`, (to, from) between neighbouring layers; w = E^{1/2}; `eps` is the
    cutoff of the loss in the unit of E, below 1.
    """
    sizes = [edges[0].shape[1], *(len(part) for part in edges)]
    begin = np.concatenate([[0], np.cumsum(sizes)])
    made = np.zeros((begin[-1], begin[-1]))
    for at, part in enumerate(edges):
        logs = log_strength(np.sqrt(part), eps)
        above = slice(begin[at + 1], begin[at + 2])
        below = slice(begin[at], begin[at + 1])
        made[above, below], made[below, above] = logs, logs.T
    return made


@dataclass(frozen=True)
class Partition:
    """Modules of a graph.

    Args:
        labels: Module of every node, the largest first; -1 for nodes without edges.
        cut: The plain sum of cut log-strengths.
        objective: What was minimised.
        modularity: Newman's, of these modules.
        exact: True if every partition was looked at.
    """

    labels: np.ndarray
    cut: float
    objective: float
    modularity: float
    exact: bool

    @property
    def modules(self) -> int:
        """Number of modules."""
        return int(self.labels.max(initial=-1)) + 1

    def by_layer(self, sizes: Sequence[int]) -> list[np.ndarray]:
        """Labels of each layer of a layered graph with layers of so many nodes."""
        return np.split(self.labels, np.cumsum(sizes)[:-1])


def partition(
    weights: np.ndarray, modules: int | None = 2, *, balance: str = "volume", most: int = 8
) -> Partition:
    """The partition of a graph that cuts least.

    Minimised is, for ``volume``, sum_a cut_a / volume_a + 0.01 sum_a (volume_a / volume - 1/k)², volume_a being the sum of
    weights at the nodes of module a and cut_a that of its weights to others; for ``none``, the plain sum of cut weights.

    Args:
        weights: (N, N), symmetric, not negative; such as `affinity` gives.
        modules: How many, each with at least one node that has an edge; None tries 1 to `most` and takes the number with
            the largest modularity of Newman's.
        balance: "volume" or "none".
        most: Largest number that is tried.

    Cost: Every partition is looked at where there are at most 200,000; else spectral clustering and random starts, improved
    by moves of single nodes, O(N³) and memory N².
    """
    weights = finite_array("weights", weights, ndim=2).astype(float)
    if weights.shape[0] != weights.shape[1] or not np.allclose(weights, weights.T):
        raise argument_error("weights", "be a symmetric matrix", f"has shape {weights.shape}")
    if (weights < 0).any():
        raise argument_error("weights", "not be negative", f"has {weights.min():g}")
    one_of("balance", balance, BALANCES)
    weights = weights - np.diag(np.diag(weights))
    met = weights.any(0)
    inner = weights[np.ix_(met, met)]
    if modules is None:
        tries = range(1, min(most, len(inner)) + 1)
        return max(
            (_partition(inner, met, k, balance) for k in tries),
            key=lambda one: one.modularity,
            default=_finished(inner, met, np.zeros(len(inner), int), True, balance, 1),
        )
    modules = integer("modules", modules, minimum=1)
    if modules > len(inner):
        rule = f"be at most {len(inner)}, the number of nodes with edges"
        raise argument_error("modules", rule, f"is {modules}")
    return _partition(inner, met, modules, balance)


def _partition(weights, met, k, balance):
    size = len(weights)
    if k == 1:
        return _finished(weights, met, np.zeros(size, int), True, balance, k)
    if _count(size, k) <= EXACT:
        best, value = None, np.inf
        for labels in _every(size, k):
            found = _objective(weights, labels, k, balance)
            if found.min() < value - 1e-12:
                best, value = labels[found.argmin()], found.min()
        return _finished(weights, met, best, True, balance, k)
    found = [_improved(weights, start, k, balance) for start in _starts(weights, k)]
    values = [_objective(weights, one[None], k, balance)[0] for one in found]
    return _finished(weights, met, found[int(np.argmin(values))], False, balance, k)


def _count(size, k):
    """Stirling's number: partitions of so many nodes into k modules."""
    signed = sum((-1) ** j * comb(k, j) * (k - j) ** size for j in range(k + 1))
    return signed // factorial(k)


def _every(size, k, rows=20_000):
    """All partitions into k modules, in blocks (rows, size): each module is named when its first node comes."""
    labels = np.zeros((1, 1), np.int8)
    for node in range(1, size):
        used = labels.max(1)
        parts = [
            np.column_stack([labels[used >= name - 1], np.full((used >= name - 1).sum(), name)])
            for name in range(min(k, node + 1))
        ]
        labels = np.concatenate(parts).astype(np.int8)
        labels = labels[labels.max(1) + size - node >= k]
    labels = labels[labels.max(1) == k - 1]
    for begin in range(0, len(labels), rows):
        yield labels[begin : begin + rows]


def _objective(weights, labels, k, balance):
    """Of partitions (rows, N): what is minimised, (rows,)."""
    degree, total = weights.sum(0), weights.sum()
    found = np.zeros(len(labels))
    for a in range(k):
        inside = (labels == a).astype(float)
        volume = inside @ degree
        cut = volume - ((inside @ weights) * inside).sum(1)
        if balance == "none":
            found += np.where(volume > 0, cut / 2, np.inf)
        else:
            share = np.where(volume > 0, cut / np.maximum(volume, 1e-300), np.inf)
            found += share + _EQUAL * (volume / total - 1 / k) ** 2
    return found


def _starts(weights, k):
    """Labels to begin with: k-means on the first eigenvectors of the normalised Laplacian, random, weakest nodes alone."""
    alone = np.zeros(len(weights), int)
    alone[np.argsort(weights.sum(0), kind="stable")[: k - 1]] = np.arange(1, k)
    yield alone
    random = np.random.default_rng(0)
    scale = 1 / np.sqrt(weights.sum(0))
    _, vectors = np.linalg.eigh(weights * scale * scale[:, None])
    points = vectors[:, -k:] * scale[:, None]
    points = points / np.maximum(np.linalg.norm(points, axis=1, keepdims=True), 1e-300)
    for number in range(_STARTS):
        if number % 4 == 3:
            yield _filled(random.integers(0, k, len(weights)), k)
            continue
        centres = points[random.integers(len(points))][None]
        while len(centres) < k:  # far from those that are there
            gap = ((points[:, None] - centres) ** 2).sum(-1).min(1) + 1e-12
            centres = np.vstack([centres, points[random.choice(len(points), p=gap / gap.sum())]])
        labels = np.zeros(len(points), int)
        for _ in range(20):
            labels = ((points[:, None] - centres) ** 2).sum(-1).argmin(1)
            inside = [labels == a for a in range(k)]
            centres = np.array(
                [points[one].mean(0) if one.any() else centres[a] for a, one in enumerate(inside)]
            )
        yield _filled(labels, k)


def _filled(labels, k):
    """The same with a node in every module."""
    for a in range(k):
        if not (labels == a).any():
            counts = np.bincount(labels, minlength=k)
            labels[np.flatnonzero(labels == counts.argmax())[0]] = a
    return labels


def _improved(weights, labels, k, balance):
    """Single nodes moved to where that lowers the objective most, until none does."""
    labels, degree, total = labels.copy(), weights.sum(0), weights.sum()
    one_hot = np.eye(k)[labels]
    to = weights @ one_hot  # weight of each node to each module
    volume = degree @ one_hot
    inside = (one_hot * to).sum(0)
    counts = np.bincount(labels, minlength=k)

    def value(volume, inside):
        cut = volume - inside
        if balance == "none":
            return cut.sum(-1) / 2
        share = (volume / total - 1 / k) ** 2
        return (cut / np.maximum(volume, 1e-300)).sum(-1) + _EQUAL * share.sum(-1)

    for _ in range(100):
        moved = False
        for node in range(len(weights)):
            a = labels[node]
            if counts[a] == 1:
                continue
            gain = np.eye(k) - np.eye(k)[a]  # row b: the node goes from a to b
            volumes = volume + gain * degree[node]
            insides = inside + 2 * gain * to[node]
            values = value(volumes, insides)
            b = int(values.argmin())
            if b != a and values[b] < values[a] - 1e-12:
                volume, inside = volumes[b], insides[b]
                counts[a] -= 1
                counts[b] += 1
                to[:, a] -= weights[:, node]
                to[:, b] += weights[:, node]
                labels[node], moved = b, True
        if not moved:
            break
    return labels


def _finished(weights, met, labels, exact, balance, k):
    """With names by size, the plain cut, and Newman's modularity."""
    objective = float(_objective(weights, labels[None], k, balance)[0]) if len(weights) else 0.0
    counts = np.bincount(labels, minlength=k) if len(labels) else np.zeros(k)
    rank = np.empty(k, int)
    rank[np.argsort(-counts, kind="stable")] = np.arange(k)
    labels = rank[labels] if len(labels) else labels
    degree, total = weights.sum(0), weights.sum() or 1.0
    inside = labels[:, None] == labels
    whole = np.full(len(met), -1)
    whole[met] = labels
    return Partition(
        whole,
        float((weights * ~inside).sum() / 2),
        objective,
        float(((weights / total - np.outer(degree, degree) / total**2) * inside).sum()),
        exact,
    )
