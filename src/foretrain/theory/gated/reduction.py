r"""Reduction of a gated deep linear network to one scalar per edge and mode, from the statistics alone.

If orthogonal U at the outputs and V at the inputs diagonalise all statistics at once, eqs. (7)-(8) of Saxe, Sodhani &
Lewallen (2022),

$$ \Sigma^{yx}(p) = U_{t(p)} S(p) V_{s(p)}^T, \qquad \Sigma^x(j,p) = V_{s(j)} D(j,p) V_{s(p)}^T, $$

then weights $W_e = R_{t(e)} B_e R_{s(e)}^T$ with diagonal B keep that form, and every mode evolves by itself, eq. (10).
Groups of trained paths that share no edge and have no Sigma^x between them are independent networks: each has frames
and an order of modes of its own. `foretrain.theory.gated.reduced_dynamics` integrates what is found here.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy.sparse
from scipy.sparse.csgraph import connected_components

from foretrain.errors import ForetrainError, real
from foretrain.graph import Graph, Path
from foretrain.tasks.statistics import Statistics
from foretrain.theory.gated.joint_diagonalization import Frames, diagonal, joint_diagonalize

TOLERANCE = 1e-8
# Size, relative to the Cauchy-Schwarz bound, below which an input correlation is rounding of a zero: float64 epsilon
# times the square root of the number of summed examples, with room for 10^6 of them.
_ZERO = 1e-12


class ReductionError(ForetrainError, ArithmeticError):
    """The statistics cannot be diagonalised jointly, so that there is no exact reduction."""


@dataclass(frozen=True, eq=False)
class Group:
    """Trained paths that are coupled to each other and to no others.

    Attributes:
        bundles: Numbers of the group's bundles in `Statistics.bundles`.
        edges: Names of the group's edges, in the order of the graph's.
        frames: Node to R_v, shape (width, mode), for input nodes (V_v) and output nodes (U_v); columns of zeros for
            modes that the node lacks.
        carried: Node, hidden ones included, to bool array of shape (mode,): whether it carries the mode. A hidden node
            narrower than the number of modes carries the strongest.
        residual: Off-diagonal mass of the group's statistics in its frames, relative to their mass; the larger of
            those of Sigma_yx and Sigma_x.
    """

    bundles: tuple[int, ...]
    edges: tuple[str, ...]
    frames: dict[str, np.ndarray]
    carried: dict[str, np.ndarray]
    residual: float


@dataclass(frozen=True, eq=False)
class Reduction:
    """The coefficients of the reduced equations, and the frames they hold in.

    Modes are numbered per group, strongest first; ``mode`` axes are as long as the largest group needs and filled up
    with zeros. Only trained paths appear, those whose gate opens on some example; bundles are renumbered from 0.

    Attributes:
        graph: The network's graph.
        groups: The independent parts.
        paths: Trained paths, those of one bundle together, bundles in order.
        bundle_of_path: Number of the bundle of every path, shape (path,), ascending.
        group_of_bundle: Number of the group of every bundle, shape (bundle,).
        singular_values: S(p) of every bundle, shape (bundle, mode). They may be negative where paths disagree in sign.
        pairs: Ordered pairs (j, p) of bundles with Sigma_x(j, p) != 0, shape (pair, 2), sorted by p; holds all (p, p).
        input_variances: D(j, p) of every pair, shape (pair, mode).
        active: Pr(path) of every bundle, the fraction of examples on which its gate is not zero, shape (bundle,).
        carried: True if both ends of an edge carry a mode, shape (edge, mode); edges in the order of the graph's.
        target_power: Sum over outputs of ``<|y|^2>``.
        residual: The largest residual of a group; zero up to rounding where the reduction is exact.
    """

    graph: Graph
    groups: tuple[Group, ...]
    paths: tuple[Path, ...]
    bundle_of_path: np.ndarray
    group_of_bundle: np.ndarray
    singular_values: np.ndarray
    pairs: np.ndarray
    input_variances: np.ndarray
    active: np.ndarray
    carried: np.ndarray
    target_power: float
    residual: float

    @cached_property
    def path_edges(self) -> np.ndarray:
        """Numbers of the edges along every path, shape (path, longest path), filled up with the number of edges."""
        number = {edge.name: index for index, edge in enumerate(self.graph.edges)}
        longest = max(len(path.edges) for path in self.paths)
        table = np.full((len(self.paths), longest), len(number))
        for row, path in zip(table, self.paths, strict=True):
            row[: len(path.edges)] = [number[edge] for edge in path.edges]
        return table

    @cached_property
    def incidence(self) -> scipy.sparse.csr_array:
        """Incidence of edges and places along paths: 0/1 of shape (edge, path * longest path)."""
        places = self.path_edges.ravel()
        here = np.flatnonzero(places < len(self.graph.edges))
        shape = (len(self.graph.edges), places.size)
        return scipy.sparse.csr_array((np.ones(here.size), (places[here], here)), shape=shape)

    @property
    def edge_coefficients(self) -> dict[str, float]:
        """Pr(path) summed over the trained paths through every edge: how often an example trains the edge."""
        active = self.active[self.bundle_of_path]
        return {
            edge.name: float(active[(self.path_edges == index).any(axis=1)].sum())
            for index, edge in enumerate(self.graph.edges)
        }


def find_reduction(
    statistics: Statistics, *, tolerance: float = TOLERANCE, approximate: bool = False
) -> Reduction:
    """Find the frames U, V and with them the reduced equations (10).

    Assumes: gates belong to the data, squared error, full-batch gradient flow or descent from decoupled weights.
    Outside that, in particular from small random weights, the reduction is an approximation for the caller to judge.

    Args:
        tolerance: Largest residual that counts as exact. The default is far above rounding and far below the sampling
            noise of any data set that fits in memory.
        approximate: Go on where the residual is larger, with the off-diagonal part left out; the residual is stored.

    Returns:
        The reduction. Singular values that coincide leave their singular vectors free within a subspace: compare
        subspaces, never single columns of the frames.

    Raises:
        ReductionError: the residual is above `tolerance` and `approximate` is false, or no path is ever open.

    Cost: O(N^3) per group, N the summed width of its inputs and outputs.
    """
    real("tolerance", tolerance, minimum=0)
    trained = [p for p in statistics.target_input if np.any(statistics.input_pair(p, p))]
    if not trained:
        raise ReductionError("No path carries a signal on any example: there is nothing to learn.")
    pairs = _coupled_pairs(statistics, trained)
    groups = [
        _find_group(statistics, bundles, pairs) for bundles in _group(statistics, trained, pairs)
    ]
    residual = max(group.residual for group in groups)
    if residual > tolerance and not approximate:
        raise ReductionError(
            f"The statistics cannot be diagonalised jointly: the relative off-diagonal mass is "
            f"{residual:.3g}, above the tolerance {tolerance:g}. Set `approximate` to leave it out."
        )
    return _assemble(statistics, groups, pairs, residual)


def _coupled_pairs(statistics, trained) -> list[tuple[int, int]]:
    """Pairs j <= p of trained bundles whose input correlation is more than rounding."""
    keep = set(trained)
    power = {p: np.trace(statistics.input_pair(p, p)) for p in trained}
    return [
        (j, p)
        for (j, p), matrix in statistics.inputs.items()
        if j in keep and p in keep and np.linalg.norm(matrix) > _ZERO * np.sqrt(power[j] * power[p])
    ]


def _group(statistics, trained, pairs) -> list[list[int]]:
    """Connected components of the trained bundles: joined by a common edge or by an input correlation."""
    place = {p: index for index, p in enumerate(trained)}
    owner: dict[str, int] = {}
    links = [(place[j], place[p]) for j, p in pairs]
    for p in trained:
        for index in statistics.bundles[p].paths:
            for edge in statistics.paths[index].edges:
                links.append((place[p], owner.setdefault(edge, place[p])))
    shape = (len(trained), len(trained))
    graph = scipy.sparse.coo_array((np.ones(len(links)), tuple(np.transpose(links))), shape=shape)
    count, labels = connected_components(graph, directed=False)
    return [[p for p in trained if labels[place[p]] == group] for group in range(count)]


def _find_group(statistics: Statistics, bundles, pairs) -> Group:
    graph, members = statistics.graph, set(bundles)
    ends = [(statistics.bundles[p].target, statistics.bundles[p].source) for p in bundles]
    target_input = [
        (target, source, statistics.target_input[p])
        for p, (target, source) in zip(bundles, ends, strict=True)
    ]
    inputs = {}
    for j, p in pairs:
        if p in members:
            matrix = statistics.inputs[j, p]
            key = (statistics.bundles[j].source, statistics.bundles[p].source, id(matrix))
            inputs[key] = (*key[:2], matrix)
    widths = {name: graph.width[name] for pair in ends for name in reversed(pair)}
    frames = joint_diagonalize(widths, [target_input, list(inputs.values())])
    kept = _modes_in_use(frames, target_input, ends, inputs.values())
    columns = {name: frame[:, kept] for name, frame in frames.columns.items()}
    carried = {name: has[kept] for name, has in frames.carried.items()}
    used = {
        e for p in bundles for i in statistics.bundles[p].paths for e in statistics.paths[i].edges
    }
    edges = tuple(edge for edge in graph.edges if edge.name in used)
    for edge in edges:
        for name in (edge.source, edge.target):
            carried.setdefault(name, np.arange(kept.size) < graph.width[name])
    return Group(
        tuple(bundles), tuple(e.name for e in edges), columns, carried, max(frames.residuals)
    )


def _modes_in_use(frames: Frames, target_input, ends, inputs) -> np.ndarray:
    """Numbers of the modes that some path carries from end to end and some statistic drives."""
    spanned = np.any([frames.carried[t] & frames.carried[s] for t, s in ends], axis=0)
    size = np.zeros(spanned.size)
    for family in (target_input, inputs):
        values = np.array([np.abs(diagonal(frames.columns, item)) for item in family])
        size = np.maximum(size, (values / max(values.max(), np.finfo(float).tiny)).max(axis=0))
    driven = size > _ZERO
    return np.flatnonzero(spanned & driven)


def _assemble(statistics: Statistics, groups, pairs, residual) -> Reduction:
    graph = statistics.graph
    order = [p for group in groups for p in group.bundles]
    number = {p: new for new, p in enumerate(order)}
    group_of = np.array([g for g, group in enumerate(groups) for _ in group.bundles])
    modes = max(next(iter(group.carried.values())).size for group in groups)

    def values(p, row, column, matrix):
        entries = diagonal(groups[group_of[number[p]]].frames, (row, column, matrix))
        return np.pad(entries, (0, modes - entries.size))

    source = {p: statistics.bundles[p].source for p in order}
    target = {p: statistics.bundles[p].target for p in order}
    both = {}
    for j, p in pairs:
        both[number[p], number[j]] = values(p, source[j], source[p], statistics.inputs[j, p])
        both[number[j], number[p]] = both[number[p], number[j]]
    sorted_pairs = sorted(both)
    carried = np.zeros((len(graph.edges), modes), dtype=bool)
    for group in groups:
        for index, edge in enumerate(graph.edges):
            if edge.name in group.edges:
                has = group.carried[edge.source] & group.carried[edge.target]
                carried[index, : has.size] = has
    members = [statistics.bundles[p].paths for p in order]
    return Reduction(
        graph=graph,
        groups=tuple(groups),
        paths=tuple(statistics.paths[index] for paths in members for index in paths),
        bundle_of_path=np.repeat(np.arange(len(order)), [len(paths) for paths in members]),
        group_of_bundle=group_of,
        singular_values=np.array(
            [values(p, target[p], source[p], statistics.target_input[p]) for p in order]
        ),
        pairs=np.array([(j, p) for p, j in sorted_pairs]),
        input_variances=np.array([both[key] for key in sorted_pairs]),
        active=np.array([statistics.active[p] for p in order]),
        carried=carried,
        target_power=float(sum(statistics.target_power.values())),
        residual=residual,
    )
