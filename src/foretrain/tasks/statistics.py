"""The correlation matrices of gated data: all that the gradient flow of a gated linear network sees of its data.

Paths that share their source, their target and the gates along them share every statistic. They form a bundle, and what
is stored is one matrix per bundle and one per pair of bundles with a common target, none where the matrix is zero.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property, reduce

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
        samples: Number of examples averaged over.
    """

    graph: Graph
    paths: tuple[Path, ...]
    bundles: tuple[Bundle, ...]
    target_input: dict[int, np.ndarray]
    inputs: dict[tuple[int, int], np.ndarray]
    target_power: dict[str, float]
    active: np.ndarray
    samples: int

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


def gather_statistics(data: GatedData | Iterable[GatedData]) -> Statistics:
    """Average the statistics of gated data, in memory or streamed.

    An iterable gives batches of any sizes on one graph with the same gates, of which one is held at a time; how the data are
    split changes the result by rounding only. No batch, batches that differ in graph or gates, or too many paths raise
    `ArgumentError`.

    Cost: per batch O(sample * width^2) for every pair of bundles that is open on one of its examples.
    """
    sums = None
    for batch in [data] if isinstance(data, GatedData) else data:
        if sums is None:
            sums = _Sums(batch)
        sums.add(batch)
    if sums is None:
        raise argument_error("data", "hold at least one batch", "is empty")
    return sums.average()


class _Sums:
    """Running sums over examples. Matrices are keyed by (source, gates), so that equal ones are summed once."""

    def __init__(self, batch: GatedData):
        self.graph, self.gate_names = batch.graph, set(batch.gates)
        self.paths = enumerate_paths(batch.graph)
        self.bundles = _bundle_paths(self.paths, batch.gates)
        by_target: dict[str, list[int]] = {}
        for number, bundle in enumerate(self.bundles):
            by_target.setdefault(bundle.target, []).append(number)
        self.pairs = [
            (j, p)
            for group in by_target.values()
            for i, p in enumerate(group)
            for j in group[: i + 1]
        ]
        self.kinds = list(dict.fromkeys(map(_kind, self.bundles)))
        self.yx, self.xx = {}, {}
        self.power = dict.fromkeys(batch.graph.outputs, 0.0)
        self.active = dict.fromkeys(self.kinds, 0)
        self.samples = 0

    def add(self, batch: GatedData) -> None:
        if batch.graph != self.graph:
            raise argument_error("data", "hold batches on one graph", "has a batch on another")
        if set(batch.gates) != self.gate_names:
            names = ", ".join(f"`{name}`" for name in sorted(set(batch.gates) ^ self.gate_names))
            rule = "hold batches with the same gates"
            raise argument_error("data", rule, f"the gates {names} are not in all batches")
        self.samples += batch.samples
        for name, array in batch.targets.items():
            self.power[name] += float(np.sum(array**2))
        ones = np.ones(batch.samples)
        gates = {
            kind: reduce(np.multiply, (batch.gates[name] for name in kind[1]), ones)
            for kind in self.kinds
        }
        open_on = {kind: np.flatnonzero(gate) for kind, gate in gates.items()}
        for kind in self.kinds:
            self.active[kind] += len(open_on[kind])
        for bundle in self.bundles:
            kind = _kind(bundle)
            at = open_on[kind]
            if len(at):
                weighted = gates[kind][at, None] * batch.inputs[bundle.source][at]
                key, term = (kind, bundle.target), batch.targets[bundle.target][at].T @ weighted
                self.yx[key] = self.yx.get(key, 0) + term
        self._add_inputs(batch, gates)

    def _add_inputs(self, batch, gates):
        number = {kind: index for index, kind in enumerate(self.kinds)}
        is_open = np.array([gates[kind] != 0 for kind in self.kinds], dtype=np.float32)
        together = is_open @ is_open.T > 0
        done = set()
        for j, p in self.pairs:
            first, second = _kind(self.bundles[j]), _kind(self.bundles[p])
            if (first, second) in done or not together[number[first], number[second]]:
                continue
            done.add((first, second))
            gate = gates[first] * gates[second]
            at = np.flatnonzero(gate)
            weighted = gate[at, None] * batch.inputs[first[0]][at]
            term = weighted.T @ batch.inputs[second[0]][at]
            self.xx[first, second] = self.xx.get((first, second), 0) + term

    def average(self) -> Statistics:
        yx = {key: total / self.samples for key, total in self.yx.items()}
        xx = {key: total / self.samples for key, total in self.xx.items()}
        target_input, inputs = {}, {}
        for number, bundle in enumerate(self.bundles):
            if (_kind(bundle), bundle.target) in yx:
                target_input[number] = yx[_kind(bundle), bundle.target]
        for j, p in self.pairs:
            key = _kind(self.bundles[j]), _kind(self.bundles[p])
            if key in xx:
                inputs[j, p] = xx[key]
        return Statistics(
            graph=self.graph,
            paths=self.paths,
            bundles=self.bundles,
            target_input=target_input,
            inputs=inputs,
            target_power={name: power / self.samples for name, power in self.power.items()},
            active=np.array([self.active[_kind(b)] / self.samples for b in self.bundles]),
            samples=self.samples,
        )


def _kind(bundle: Bundle) -> tuple[str, tuple[str, ...]]:
    return bundle.source, bundle.gates
