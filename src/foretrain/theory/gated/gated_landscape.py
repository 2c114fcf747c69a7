r"""The loss of a whole gated linear network around the end of its reduction: is it a minimum, and what is attainable?

The reduction follows weights with one strength per edge and mode. Small random weights also hold what couples two
modes, and units that carry none; where a bank could use those to lower the loss, the end of the reduction is a saddle.

**Curvature.** Write weights in the frames of the reduction, W_e[a, b] between mode a of its target and mode b of its
source. Around a decoupled point all statistics are diagonal, so that second order couples W_e[a, b] with W_f[a, b] and
W_f[b, a] alone: the Hessian falls apart into one matrix of at most twice the number of edges for every pair of modes,

$$ \delta^2 L = \tfrac12 \sum_{j,p} \sum_{a,b} \delta W_j[a,b] D_b(j,p) \delta W_p[a,b]
   - \sum_p \sum_b E_p[b] (\delta^2 W_p)[b,b], \qquad E_p = S(p) - \sum_j B_j D(j,p). $$

The first term is not negative: only pairs with an unlearned mode, E != 0, can lead down. Units of a hidden bank that carry no
mode are one more mode with B = 0. Through banks with such spare units a path of three or more edges with E != 0 leads down as
well, but at the order of its length: such a point is a saddle without negative curvature.

**Attainable loss.** In wide banks the maps W_p can be chosen freely, so that the least loss is that of linear regression of
every target on the gated inputs of its paths. Narrow banks bound the rank; where that concerns one matrix, the answer is
reduced-rank regression: the largest singular values of Y G^(-1/2), for G = <z z^T> of the gated inputs z and Y = <y z^T>.
"""

from dataclasses import dataclass

import numpy as np
import scipy.linalg
import scipy.sparse
from scipy.sparse.csgraph import connected_components, maximum_flow

from foretrain.tasks.statistics import Statistics
from foretrain.theory.gated import exact_flow, reduced_dynamics
from foretrain.theory.gated.reduction import Group, Reduction

# Part of the largest singular value below which what is unlearned counts as learned: the integrator's rounding.
_LEARNED = 1e-9
# Eigenvalues of a correlation below this part of the largest are directions that do not occur in the data, and singular
# values of a map below it are rounding.
_ROUNDING = 1e-12
# Part of the largest strength below which a mode does not occupy its unit of a hidden bank.
_UNUSED = 1e-3


def unlearned(state: np.ndarray, reduction: Reduction) -> np.ndarray:
    """``E(p) = S(p) - sum_j B_j D(j, p)`` of every bundle in one state, shape (bundle, mode)."""
    strengths = reduced_dynamics.mode_strengths(state, reduction)
    return reduction.singular_values - reduced_dynamics.explained(strengths, reduction)


def smallest_curvature(state: np.ndarray, reduction: Reduction) -> float:
    """Smallest eigenvalue of the Hessian of the whole network's loss at a decoupled point, 0 if none is negative.

    Exact where the residual is zero; else that of a network on the diagonal part of the statistics. Small weights leave
    a saddle in a time of about log(1 / deviation) / |curvature|.

    The state, (edge, mode), must be a fixed point for the curvature to say what is stable.

    Cost: for every pair of modes with one that is not learned, O(path * longest path^2 + edge^3) of the group.
    """
    error = unlearned(state, reduction)
    scale = np.abs(reduction.singular_values).max()
    smallest = 0.0
    for number in range(len(reduction.groups)):
        around = _Around(reduction, state, error, number)
        active = np.abs(around.error).max(axis=0) > _LEARNED * scale
        for b in np.flatnonzero(active):
            for c in range(around.strength.shape[1]):
                if c >= b or not active[c]:
                    smallest = min(smallest, around.curvature(int(b), c))
    return smallest


def leads_down_flat(state: np.ndarray, reduction: Reduction, tolerance: float) -> bool:
    """Return True if a path of three or more edges can lower the loss through spare units, without any curvature.

    The state is (edge, mode); up to `tolerance`, in the unit of S(p), an unlearned part E(p) counts as learned.
    """
    error = np.abs(unlearned(state, reduction)).max(axis=1)
    used = np.abs(state) > _UNUSED * np.abs(state).max()
    number = {edge.name: index for index, edge in enumerate(reduction.graph.edges)}
    for path, bundle in zip(reduction.paths, reduction.bundle_of_path, strict=True):
        if len(path.edges) < 3 or error[bundle] <= tolerance:
            continue
        members = reduction.groups[reduction.group_of_bundle[bundle]].edges
        spare = True
        for node in path.nodes[1:-1]:
            edges = (*reduction.graph.incoming[node], *reduction.graph.outgoing[node])
            rows = [number[edge.name] for edge in edges if edge.name in members]
            spare &= reduction.graph.width[node] > used[rows].any(axis=0).sum()
        if spare:
            return True
    return False


class _Around:
    """One group's strengths and statistics, with one mode more for units that carry none."""

    def __init__(self, reduction: Reduction, state: np.ndarray, error: np.ndarray, number: int):
        group, graph = reduction.groups[number], reduction.graph
        modes = next(iter(group.carried.values())).size
        names = [edge.name for edge in graph.edges]
        rows = [names.index(name) for name in group.edges]
        bundles = np.flatnonzero(reduction.group_of_bundle == number)
        paths = np.flatnonzero(np.isin(reduction.bundle_of_path, bundles))
        has = {
            name: np.append(carried, name in graph.hidden and graph.width[name] > carried.sum())
            for name, carried in group.carried.items()
        }
        ends = [graph.edges[row] for row in rows]
        self.into = np.array([has[edge.target] for edge in ends])
        self.out_of = np.array([has[edge.source] for edge in ends])
        self.strength = np.pad(state[rows][:, :modes], ((0, 0), (0, 1)))
        self.bundle = reduction.bundle_of_path[paths] - bundles[0]
        self.bundles = bundles.size
        self.error = np.pad(error[bundles][:, :modes], ((0, 0), (0, 1)))
        inside = np.isin(reduction.pairs[:, 1], bundles)
        self.pairs = reduction.pairs[inside] - bundles[0]
        self.variances = np.pad(reduction.input_variances[inside][:, :modes], ((0, 0), (0, 1)))
        # Edges along every path by their number in the group; what is filled up is one that passes all on.
        local = np.full(len(names) + 1, len(rows))
        local[rows] = np.arange(len(rows))
        self.places = local[reduction.path_edges[paths]]
        factors = np.concatenate([self.strength, np.ones((1, modes + 1))])[self.places]
        self.before, self.after = np.ones_like(factors), np.ones_like(factors)
        for place in range(1, factors.shape[1]):
            self.before[:, place] = self.before[:, place - 1] * factors[:, place - 1]
            self.after[:, -1 - place] = self.after[:, -place] * factors[:, -place]
        self.factors = factors

    def curvature(self, b: int, c: int) -> float:
        """Smallest eigenvalue of the block of the entries [c, b] and [b, c] of all edges."""
        exists = self.into[:, c] & self.out_of[:, b]
        hessian = self._squares(c, b)
        if b == c:
            bend = self._bend(b, b)
            hessian -= bend + bend.T
        else:
            mixed = -(self._bend(b, c) + self._bend(c, b).T)
            hessian = np.block([[hessian, mixed], [mixed.T, self._squares(b, c)]])
            exists = np.concatenate([exists, self.into[:, b] & self.out_of[:, c]])
        kept = np.flatnonzero(exists)
        if not kept.size:
            return 0.0
        block = hessian[np.ix_(kept, kept)]
        return float(scipy.linalg.eigh(block, eigvals_only=True, subset_by_index=[0, 0])[0])

    def _squares(self, row, column):
        """Second derivative of what is squared, entries [row, column] of every two edges: shape (edge, edge)."""
        slope = np.zeros((self.bundles, len(self.strength) + 1))
        values = self.after[:, :, row] * self.before[:, :, column]
        np.add.at(slope, (self.bundle[:, None], self.places), values)
        slope = slope[:, :-1]
        j, p = self.pairs.T
        shape = (self.bundles, self.bundles)
        variance = scipy.sparse.csr_array((self.variances[:, column], (j, p)), shape=shape)
        return slope.T @ (variance @ slope)

    def _bend(self, outer, inner):
        """Sum over paths of E times d2 W_p[outer, outer] / (dW_k[inner, outer] dW_l[outer, inner]), k before l."""
        total = np.zeros((len(self.strength) + 1,) * 2)
        error = self.error[self.bundle, outer]
        for first in range(self.places.shape[1] - 1):
            between = np.ones(len(self.places))
            for second in range(first + 1, self.places.shape[1]):
                value = error * self.before[:, first, outer] * between
                value = value * self.after[:, second, outer]
                np.add.at(total, (self.places[:, first], self.places[:, second]), value)
                between = between * self.factors[:, second, inner]
        return total[:-1, :-1]


@dataclass(frozen=True)
class Attainable:
    """The least loss of any weights.

    Attributes:
        loss: Mean over examples of half the squared error.
        is_bound: True if hidden banks may be too narrow for it: nothing is below it, but perhaps nothing reaches it.
    """

    loss: float
    is_bound: bool


def attainable(statistics: Statistics, reduction: Reduction) -> Attainable:
    """The least loss that any weights of the network have, or a bound from below where banks are narrow.

    Cost: O(N^3) for the summed width N of gated inputs that are open together at one output.
    """
    gain, is_bound = 0.0, False
    for group in reduction.groups:
        lowered, exact = _gain(statistics, group)
        gain += lowered
        is_bound |= not exact
    power = sum(statistics.target_power.values())
    loss = (power - gain) / 2
    # A difference of what is equal up to rounding is zero.
    return Attainable(loss if loss > _ROUNDING * power else 0.0, is_bound)


def _gain(statistics: Statistics, group: Group) -> tuple[float, bool]:
    """Twice the loss that regression removes, and True if the group's banks are known to be wide enough for it."""
    by_target: dict[str, list[int]] = {}
    for p in group.bundles:
        by_target.setdefault(statistics.bundles[p].target, []).append(p)
    gain, maps = 0.0, {}
    for together in _open_together(statistics, group):
        solved, values = _regression(statistics, together)
        gain += float(np.sum(values**2))
        maps |= solved
    if _wide_enough(statistics, group, maps):
        return gain, True
    if (rank := _rank_of_one_matrix(statistics, group)) is not None:
        stacked = _stacked(statistics, group, by_target)
        if stacked is not None:
            return float(np.sum(np.linalg.svd(stacked, compute_uv=False)[:rank] ** 2)), True
    return gain, False


def _open_together(statistics: Statistics, group: Group) -> list[list[int]]:
    """Bundles in sets, each with one target, between which there is no input correlation."""
    place = {p: index for index, p in enumerate(group.bundles)}
    joined = np.array(
        [(place[j], place[p]) for j, p in statistics.inputs if {j, p} <= place.keys()]
    )
    shape = (len(place), len(place))
    graph = scipy.sparse.coo_array((np.ones(len(joined)), tuple(joined.T)), shape=shape)
    count, labels = connected_components(graph, directed=False)
    sets: list[list[int]] = [[] for _ in range(count)]
    for p, number in zip(group.bundles, labels, strict=True):
        sets[number].append(p)
    return sets


def _regression(statistics, bundles) -> tuple[dict[int, np.ndarray], np.ndarray]:
    """Least-squares maps of bundles with one target, the smallest ones, and Y G^(-1/2) whose squares are the gain."""
    _, values, vectors = exact_flow.gated_inputs(statistics, bundles)
    inverse = vectors / np.sqrt(values)
    scaled = np.concatenate([statistics.target_input[p] for p in bundles], axis=1) @ inverse
    edges = exact_flow.column_edges(statistics, bundles)
    solution = np.split(scaled @ inverse.T, edges, axis=1)
    return dict(zip(bundles, solution, strict=True)), scaled


def _wide_enough(statistics: Statistics, group: Group, maps) -> bool:
    """Return True if every bank has units of its own for each way into it, or for each way out of it.

    A way into a bank needs as many units as the maps that continue it have rank together; read backwards a way out of
    it as those that lead to it.
    """
    graph = statistics.graph
    into: dict[tuple[str, ...], list[np.ndarray]] = {}
    out_of: dict[tuple[str, ...], list[np.ndarray]] = {}
    banks: dict[str, tuple[set, set]] = {}
    for p in group.bundles:
        candidates = [statistics.paths[index] for index in statistics.bundles[p].paths]
        # Paths of one bundle add up: the one with the widest banks may carry all.
        path = max(
            candidates, key=lambda q: min((graph.width[n] for n in q.nodes[1:-1]), default=0)
        )
        if any(len(q.edges) == 1 for q in candidates):
            continue  # a direct edge is free
        for place, node in enumerate(path.nodes[1:-1], 1):
            before, after = path.edges[:place], path.edges[place:]
            into.setdefault(before, []).append(maps[p])
            out_of.setdefault(after, []).append(maps[p].T)
            ways = banks.setdefault(node, (set(), set()))
            ways[0].add(before)
            ways[1].add(after)
    for side, parts in ((0, into), (1, out_of)):
        needed = {
            way: int(np.linalg.matrix_rank(np.concatenate(stack), rtol=1e-9))
            for way, stack in parts.items()
        }
        if all(
            graph.width[node] >= sum(needed[w] for w in ways[side]) for node, ways in banks.items()
        ):
            return True
    return False


def _rank_of_one_matrix(statistics: Statistics, group: Group) -> int | None:
    """The rank that the banks admit where all maps of a group are parts of one matrix, or else None.

    That is so for one bundle, where the rank is the fewest units that cut its paths, and where all paths cross one bank.
    """
    graph = statistics.graph
    paths = [statistics.paths[i] for p in group.bundles for i in statistics.bundles[p].paths]
    if len(group.bundles) == 1:
        return _narrowest_cut(graph, paths)
    ends = {path.edges for path in paths}
    if {len(edges) for edges in ends} != {2} or len({path.nodes[1] for path in paths}) > 1:
        return None
    first, second = {edges[0] for edges in ends}, {edges[1] for edges in ends}
    whole = len(ends) == len(group.bundles) == len(first) * len(second)
    targets = {path.target for path in paths}
    return graph.width[paths[0].nodes[1]] if whole and len(targets) == len(second) else None


def _narrowest_cut(graph, paths) -> int:
    """Fewest units whose removal cuts all paths of one bundle: the largest rank of the sum of their maps."""
    names = list(dict.fromkeys(node for path in paths for node in path.nodes))
    number = {name: index for index, name in enumerate(names)}
    most = min(graph.width[paths[0].source], graph.width[paths[0].target])
    capacity = scipy.sparse.lil_array((2 * len(names), 2 * len(names)), dtype=np.int32)
    for name, index in number.items():
        capacity[2 * index, 2 * index + 1] = min(graph.width[name], most)
    for path in paths:
        for source, target in zip(path.nodes, path.nodes[1:], strict=False):
            capacity[2 * number[source] + 1, 2 * number[target]] = most
    source, sink = 2 * number[paths[0].source], 2 * number[paths[0].target] + 1
    return int(maximum_flow(capacity.tocsr(), source, sink).flow_value)


def _stacked(statistics: Statistics, group: Group, by_target) -> np.ndarray | None:
    """Y G^(-1/2) of all targets on top of each other, None unless their inputs have one correlation up to a factor."""
    way = {p: statistics.paths[statistics.bundles[p].paths[0]].edges[0] for p in group.bundles}
    rows, reference, inverse = [], None, None
    for bundles in by_target.values():
        bundles = sorted(bundles, key=lambda p: way[p])
        correlation, values, vectors = exact_flow.gated_inputs(statistics, bundles)
        if reference is None:
            reference, inverse = correlation, vectors / np.sqrt(values)
        factor = np.trace(correlation) / np.trace(reference)
        if correlation.shape != reference.shape or not np.allclose(
            correlation, factor * reference, rtol=0, atol=1e-9 * np.abs(correlation).max()
        ):
            return None
        target_input = np.concatenate([statistics.target_input[p] for p in bundles], axis=1)
        rows.append(target_input @ inverse / np.sqrt(factor))
    return np.concatenate(rows)
