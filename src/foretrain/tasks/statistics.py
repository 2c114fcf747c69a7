"""The correlation matrices of gated data: all that the gradient flow of a gated linear network sees of its data.

Paths that share their source, their target and the gates along them share every statistic. They form a bundle, and what
is stored is one matrix per bundle and one per pair of bundles with a common target, none where the matrix is zero.
"""

from dataclasses import dataclass
from functools import cache, cached_property, reduce

import numpy as np

from foretrain.errors import argument_error
from foretrain.graph import Graph, Path, enumerate_paths
from foretrain.tasks.gated_data import GatedData


@dataclass(frozen=True)
class Bundle:
    """The paths with one source, one target and one set of gates.

    `gates` are the names of edges and nodes along the paths that carry a gate, sorted, `paths` their numbers in
    `Statistics.paths`, ascending.
    """

    source: str
    target: str
    gates: tuple[str, ...]
    paths: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Statistics:
    """Averages over examples, eqs. (5)-(6) of Saxe, Sodhani & Lewallen (2022).

    Attributes:
        graph: The network's graph.
        paths: All paths of the graph.
        bundles: Paths with common statistics.
        target_input: Bundle to ``<g_p y x^T>``, shape (output width, input width), float64; a bundle whose gate is
            closed on every example has no entry.
        inputs: Pair of bundles (j, p) with j <= p and a common target to ``<g_j g_p x_j x_p^T>``, shape (width of j's
            input, width of p's), float64; a pair never open together has no entry. Equal matrices are one object.
        target_power: Output node to ``<|y|^2>``.
        active: Fraction of examples on which the bundle's gate is not zero, shape (bundle,): Pr(path).
    """

    graph: Graph
    paths: tuple[Path, ...]
    bundles: tuple[Bundle, ...]
    target_input: dict[int, np.ndarray]
    inputs: dict[tuple[int, int], np.ndarray]
    target_power: dict[str, float]
    active: np.ndarray

    @cached_property
    def bundle_of(self) -> dict[int, int]:
        """Number of the bundle of every path."""
        return {path: number for number, b in enumerate(self.bundles) for path in b.paths}

    def sigma_yx(self, path: int) -> np.ndarray:
        """Input-output correlation of a path, eq. (5); zeros where none is stored."""
        number = self.bundle_of[path]
        bundle, width = self.bundles[number], self.graph.width
        zero = np.zeros((width[bundle.target], width[bundle.source]))
        return self.target_input.get(number, zero)

    def sigma_x(self, first: int, second: int) -> np.ndarray:
        """Input correlation of two paths with a common target, eq. (6); zeros where none is stored.

        Raises:
            ArgumentError: the paths end at different outputs, so that no such correlation enters the dynamics.
        """
        j, p = self.bundle_of[first], self.bundle_of[second]
        a, b = self.bundles[j], self.bundles[p]
        if a.target != b.target:
            raise argument_error("second", f"be a path to `{a.target}`", f"ends at `{b.target}`")
        matrix = self.input_pair(j, p)
        width = self.graph.width
        return np.zeros((width[a.source], width[b.source])) if matrix is None else matrix

    def least_squares(self) -> np.ndarray:
        """Sigma_yx Sigma_x^-1 of paths that never meet on an example, one below the other, shape (path x output, input)."""
        paths = range(len(self.paths))
        return np.concatenate(
            [self.sigma_yx(path) @ np.linalg.inv(self.sigma_x(path, path)) for path in paths]
        )

    def input_pair(self, j: int, p: int) -> np.ndarray | None:
        """Stored input correlation of bundles j and p in either order, or None where it is zero."""
        if (j, p) in self.inputs:
            return self.inputs[j, p]
        return self.inputs[p, j].T if (p, j) in self.inputs else None


def _bundle_paths(paths: tuple[Path, ...], gate_names) -> tuple[Bundle, ...]:
    members: dict[tuple[str, str, tuple[str, ...]], list[int]] = {}
    for number, path in enumerate(paths):
        gates = tuple(sorted(set(gate_names).intersection((*path.edges, *path.nodes))))
        members.setdefault((path.source, path.target, gates), []).append(number)
    return tuple(Bundle(*key, tuple(numbers)) for key, numbers in members.items())


def gather_statistics(data: GatedData) -> Statistics:
    """Average the statistics of gated data; too many paths raise `ArgumentError`.

    Cost: O(sample * width^2) for every pair of bundles that is open on one of the examples.
    """
    graph, samples = data.graph, data.samples
    paths = enumerate_paths(graph)
    bundles = _bundle_paths(paths, data.gates)
    gates = {
        bundle.gates: reduce(np.multiply, (data.gates[n] for n in bundle.gates), np.ones(samples))
        for bundle in bundles
    }
    is_open = np.array([gates[bundle.gates] != 0 for bundle in bundles])
    active = is_open.mean(1)
    target_input, inputs = {}, {}
    for number in np.flatnonzero(active).tolist():
        bundle, at = bundles[number], np.flatnonzero(is_open[number])
        weighted = gates[bundle.gates][at, None] * data.inputs[bundle.source][at]
        target_input[number] = data.targets[bundle.target][at].T @ weighted / samples

    @cache
    def of_inputs(first, first_gates, second, second_gates):
        gate = gates[first_gates] * gates[second_gates]
        at = np.flatnonzero(gate)
        weighted = gate[at, None] * data.inputs[first][at]
        return weighted.T @ data.inputs[second][at] / samples

    numbers = is_open.astype(np.float32)
    together = numbers @ numbers.T > 0
    for target in dict.fromkeys(bundle.target for bundle in bundles):
        group = [number for number, bundle in enumerate(bundles) if bundle.target == target]
        for p in group:
            for j in (number for number in group if number <= p and together[number, p]):
                first, second = bundles[j], bundles[p]
                inputs[j, p] = of_inputs(first.source, first.gates, second.source, second.gates)
    power = {name: float(np.sum(data.targets[name] ** 2)) / samples for name in graph.outputs}
    return Statistics(graph, paths, bundles, target_input, inputs, power, active)
