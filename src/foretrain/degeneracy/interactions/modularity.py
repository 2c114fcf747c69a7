"""Modules: what an interaction between two parts of a network costs in freedom, and the partition that cuts least of it.

Where M2 reads mediating variables v_i of M1, through weights w_i, only those free directions of M1 are sure not to meet M2's
that leave every v_i as it is. At a cutoff eps of the loss a constraint of strength w costs

- by the secant 2 ln(V/V_0)/ln eps of volumes: gamma = gamma~ (1 - 2 ln w / ln eps), from gamma~ at w = 1 down to 0 at
  w² = eps;
- by the derivative 2 d ln V/d ln eps, which is what an effective number of parameters is: gamma~ where w² > eps, else 0.

By the secant strengths add as logarithms, so the interaction graph has the weights ln(w/eps^{1/2}), clipped at zero. The
partition that cuts the least sum of them is usually one weak leaf, and it has no number of modules of its own. So what is made
largest is the surprise at the share q of all weight that lies inside modules, given the share p that would by chance. With m_a
the weight inside module a, both ways, v_a that at its nodes and m that of all, p being Newman's null,

    D(q, p) = q ln(q/p) + (1 - q) ln((1 - q)/(1 - p)),    q = sum_a m_a / m,    p = sum_a (v_a / m)²

(Traag, Aldecoa and Delvenne 2015). Number and partition have this one objective. D is convex, so that from any partition it
is raised by the largest modularity, Newman's, at the resolution g = -(dD/dp) / (dD/dq) of that partition,

    Q = q - g p,

of which two modules are one only if the weight from one to the other is above g v_a v_b / m. At g = 1, which is Newman's own,
small modules of large graphs are joined; here g follows from the graph, unless it is given. Where the number is given two cuts
can be minimised instead, by the same search.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from foretrain.errors import argument_error, finite_array, integer, one_of, real

OBJECTIVES = ("modularity", "normalised cut", "cut")
_EQUAL = 0.01  # weight of sum_a (v_a / m - 1/k)² in the normalised cut
_STARTS = 5
_GAIN = 1e-12  # smallest change of an objective that is one


def secant_freedom(strength, eps: float) -> np.ndarray:
    """Effective parameters that a constraint of strength w >= 0 adds by the secant of volumes, (34), where w >= 1 adds one.

    w has any shape; `eps` is the cutoff, in (0, 1).
    """
    eps = real("eps", eps, above=0)
    if eps >= 1:
        raise argument_error("eps", "be below 1", f"is {eps:g}")
    logs = log_strength(np.minimum(np.asarray(strength, float), 1), eps)
    return np.asarray(logs / (-0.5 * np.log(eps)))


def derivative_freedom(strength, eps: float) -> np.ndarray:
    """The same by the derivative of the logarithm of the volume: 1 where w² > eps, else 0."""
    return np.asarray(1.0 * (np.asarray(strength, float) ** 2 > real("eps", eps, above=0)))


def secant_of_volumes(constrained, free, eps) -> np.ndarray:
    """2 ln(V/V_0)/ln eps, of volumes V with a constraint and V_0 without it."""
    ratio = np.asarray(constrained, float) / np.asarray(free, float)
    return np.asarray(2 * np.log(ratio) / np.log(np.asarray(eps, float)))


def log_strength(strength, eps: float) -> np.ndarray:
    """ln(w/eps^{1/2}), zero where w is smaller than that; any shape."""
    floor = np.sqrt(real("eps", eps, above=0))
    return np.asarray(np.log(np.maximum(np.asarray(strength, float), floor) / floor))


def affinity(edges: Sequence[np.ndarray], eps: float) -> np.ndarray:
    """Log-strengths between all nodes of a layered graph, symmetric, (N, N), layer after layer.

    `edges` are the strengths E of an `InteractionGraph`, (to, from) between neighbouring layers; w = E^{1/2}; `eps` is the
    cutoff of the loss in the unit of E.
    """
    sizes = [edges[0].shape[1], *(len(part) for part in edges)]
    begin = np.concatenate([[0], np.cumsum(sizes)])
    weights = np.zeros((begin[-1], begin[-1]))
    for at, part in enumerate(edges):
        logs = log_strength(np.sqrt(part), eps)
        above = slice(begin[at + 1], begin[at + 2])
        below = slice(begin[at], begin[at + 1])
        weights[above, below], weights[below, above] = logs, logs.T
    return weights


@dataclass(frozen=True)
class Partition:
    """Modules of a graph.

    Args:
        labels: Module of every node, the largest first; -1 for nodes without edges.
        cut: The plain sum of cut log-strengths.
        resolution: g at which no other partition that was found has a larger modularity.
        modularity: Q of these modules at that resolution.
    """

    labels: np.ndarray
    cut: float
    resolution: float
    modularity: float

    @property
    def modules(self) -> int:
        """Number of modules."""
        return int(self.labels.max(initial=-1)) + 1

    def by_layer(self, sizes: Sequence[int]) -> list[np.ndarray]:
        """Labels of each layer of a layered graph with layers of so many nodes."""
        return np.split(self.labels, np.cumsum(sizes)[:-1])


def partition(
    weights: np.ndarray,
    modules: int | None = None,
    *,
    resolution: float | None = None,
    objective: str = "modularity",
) -> Partition:
    """The partition of a graph of largest surprise, of largest modularity at a resolution, or of least cut.

    Args:
        weights: (N, N), symmetric, not negative; such as `affinity` gives.
        modules: How many, each with at least one node that has an edge; None for as many as the objective is largest with.
        resolution: g of the modularity, above 0; None for that at which the surprise is largest.
        objective: "modularity"; or, of a given number k of modules, "cut", the plain sum of cut weights, or "normalised cut",
            sum_a c_a / v_a + 0.01 sum_a (v_a / m - 1/k)², c_a being the sum of weights from module a to others.

    Cost: from single nodes on modules are joined in pairs and nodes moved, until nothing betters the objective; the best of 5
    orders of nodes, for each of two to five resolutions. For each order some N² numbers; memory a few times N².
    """
    weights = finite_array("weights", weights, ndim=2).astype(float)
    if weights.shape[0] != weights.shape[1] or not np.allclose(weights, weights.T):
        raise argument_error("weights", "be a symmetric matrix", f"has shape {weights.shape}")
    if (weights < 0).any():
        raise argument_error("weights", "not be negative", f"has {weights.min():g}")
    one_of("objective", objective, OBJECTIVES)
    if resolution is not None:
        resolution = real("resolution", resolution, above=0)
    weights = weights - np.diag(np.diag(weights))
    met = np.flatnonzero(weights.any(0))
    inner = weights[np.ix_(met, met)]
    inner /= inner.sum() or 1.0
    if modules is None and objective != "modularity":
        raise argument_error("modules", f"be a number with the objective `{objective}`", "is None")
    if modules is not None and integer("modules", modules, minimum=1) > len(inner):
        rule = f"be at most {len(inner)}, the number of nodes with edges"
        raise argument_error("modules", rule, f"is {modules}")
    random, labels, g = np.random.default_rng(0), np.zeros(len(inner), int), resolution or 1.0
    if len(inner) and objective == "modularity" and resolution is None:
        labels, g = _most_surprising(inner, modules, random)
    elif len(inner):
        value = {"modularity": _newman(g), "cut": _cut, "normalised cut": _normalised(modules)}
        labels = _best(inner, value[objective], modules, random)
    ranks = np.argsort(np.argsort(-np.bincount(labels, minlength=1), kind="stable"))
    whole = np.full(len(weights), -1)
    whole[met] = ranks[labels]
    q, p = _shares(inner, labels)
    cut = float((weights * (whole[:, None] != whole)).sum() / 2)
    return Partition(whole, cut, g, q - g * p)


def _most_surprising(weights, modules, random):
    """Labels of largest surprise, by modularity at one resolution after the other, and their resolution."""
    best, kept, g = -1.0, np.zeros(len(weights), int), 1.0
    while True:
        labels = _best(weights, _newman(g), modules, random)
        surprise, steeper = _surprise(*_shares(weights, labels))
        if surprise <= best + _GAIN:
            return kept, g
        best, kept, g = surprise, labels, steeper


def _shares(weights, labels):
    """Share of weight inside modules, q, and that by chance, p."""
    volume, inside, _ = _sums(weights, labels)
    return float(inside.sum()), float((volume**2).sum())


def _surprise(q, p):
    """D(q, p), and the resolution at which it does not change to first order."""
    q, p = min(q, 1 - 1e-12), min(p, 1 - 1e-12)
    if not 0 < p < q - 1e-9:
        return 0.0, 1.0
    odds = np.log(q / p), np.log((1 - q) / (1 - p))
    return q * odds[0] + (1 - q) * odds[1], (q - p) / (p * (1 - p)) / (odds[0] - odds[1])


# An objective is a sum over modules of a function of v_a and m_a, with m = 1, and is minimised.
_Value = Callable[[np.ndarray, np.ndarray], np.ndarray]


def _newman(resolution) -> _Value:
    return lambda volume, inside: resolution * volume**2 - inside


def _cut(volume, inside):
    return (volume - inside) / 2


def _normalised(modules) -> _Value:
    def value(volume, inside):
        share = (volume - inside) / np.maximum(volume, 1e-300)
        return share + _EQUAL * (volume - 1 / modules) ** 2

    return value


def _sums(weights, labels):
    """Of each module: v_a, m_a, and which nodes are in it, (N, k)."""
    one_hot = np.eye(labels.max(initial=-1) + 1)[labels]
    inside = ((weights @ one_hot) * one_hot).sum(0)
    return weights.sum(0) @ one_hot, inside, one_hot


def _best(weights, value, modules, random):
    """Labels of the best of all starts: all pairs joined from single nodes, and single nodes moved in random orders."""
    alone = np.arange(len(weights))
    starts = [_joined(weights, alone, value, modules)]
    for number in range(_STARTS - 1):
        labels, resolution = alone, 2.0 ** (number % 3)
        # Of a given number modules are joined, so that there must be as many to begin with.
        while True:
            labels = _moved(weights, alone, _newman(resolution), random, True)
            if modules is None or labels.max() + 1 >= modules:
                break
            resolution *= 2
        starts.append(_joined(weights, labels, value, modules))
    improved = [_improved(weights, start, value, modules, random) for start in starts]
    return min(improved, key=lambda start: value(*_sums(weights, start)[:2]).sum())


def _improved(weights, labels, value, modules, random):
    """Single nodes moved and modules joined in turns, until neither lowers the objective."""
    before = np.inf
    while (now := value(*_sums(weights, labels)[:2]).sum()) < before - _GAIN:
        before = now
        labels = _moved(weights, labels, value, random, modules is None)
        labels = _joined(weights, labels, value, modules)
    return labels


def _joined(weights, labels, value, modules):
    """Modules joined in pairs, the best first, while that lowers the objective, or until so many are left."""
    volume, _, one_hot = _sums(weights, labels)
    between = one_hot.T @ weights @ one_hot
    name, left = np.arange(len(volume)), len(volume)

    def gain(a):
        """Of joining these modules to each: (a, k)."""
        inside = np.diag(between)
        own = value(volume, inside)
        joint = inside[a, None] + inside + 2 * between[a]
        return value(volume[a, None] + volume, joint) - own[a, None] - own

    gains = gain(name)
    gains[name, name] = np.inf
    while left > (modules or 1):
        a, b = np.unravel_index(gains.argmin(), gains.shape)
        if modules is None and gains[a, b] >= -_GAIN:
            break
        between[a] += between[b]
        between[:, a] += between[:, b]
        volume[a] += volume[b]
        name[name == b] = a
        gains[b], gains[:, b] = np.inf, np.inf
        row = np.where(name == np.arange(len(name)), gain(np.array([a]))[0], np.inf)
        row[a] = np.inf
        gains[a], gains[:, a] = row, row
        left -= 1
    return np.unique(name[labels], return_inverse=True)[1]


def _moved(weights, labels, value, random, free):
    """Single nodes moved, in random order, to the module where each lowers the objective most, until none does.

    Where the number of modules is `free` nodes may leave one empty, or begin one.
    """
    degree, order = weights.sum(0), random.permutation(len(weights))
    moved = True
    while moved:
        moved = False
        labels = np.unique(labels, return_inverse=True)[1]
        volume, inside, one_hot = _sums(weights, labels)
        if free:  # one that is empty
            volume, inside = np.append(volume, 0), np.append(inside, 0)
            one_hot = np.pad(one_hot, ((0, 0), (0, 1)))
        to, counts = weights @ one_hot, one_hot.sum(0)
        own = value(volume, inside)
        for node in order:
            a, d = labels[node], degree[node]
            if counts[a] == 1 and not free:
                continue
            joined = value(volume + d, inside + 2 * to[node]) - own
            left = value(volume[a] - d, inside[a] - 2 * to[node, a])
            joined[a] = own[a] - left
            b = int(joined.argmin())
            if joined[b] < joined[a] - _GAIN:
                for module, sign in ((a, -1), (b, 1)):
                    volume[module] += sign * d
                    inside[module] += 2 * sign * to[node, module]
                    counts[module] += sign
                for module, sign in ((a, -1), (b, 1)):
                    to[:, module] += sign * weights[:, node]
                own[[a, b]] = value(volume[[a, b]], inside[[a, b]])
                labels[node], moved = b, True
    return labels
