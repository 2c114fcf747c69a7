"""The graph of a gated network: nodes with widths, edges between them, and the paths from inputs to outputs.

A node is a bank of units, an edge a weight matrix from its source to its target. An input node has no incoming edge, an
output node no outgoing one, and every other node is hidden. The graph has no cycle; two edges may join the same nodes.
"""

import math
import re
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from graphlib import CycleError, TopologicalSorter
from os import PathLike

from foretrain.errors import argument_error, file_argument, integer, nearest
from foretrain.words import cut

MAX_PATHS = 10_000
MAX_WIDTH = 10**9
_LARGEST_FILE = 2**20  # a file of 10,000 paths with long names is half of this
# Tables within tables are parsed with time and memory that are quadratic in their depth; nothing in a graph is so deep.
_TOO_DEEP = re.compile(r"\.(?:[^.\n=\[\]{},#]+\.){49}")
_NAME = re.compile(r"[A-Za-z0-9_.\-]+")
_NONLINEAR = "Gated networks are linear but for their gates; a nonlinear one is read by `foretrain explain model.py data.npz`."


@dataclass(frozen=True)
class Node:
    """A bank of `width` units."""

    name: str
    width: int


@dataclass(frozen=True)
class Edge:
    """A weight matrix of shape (width of `target`, width of `source`)."""

    name: str
    source: str
    target: str


@dataclass(frozen=True)
class Path:
    """A walk along edges from an input node to an output node.

    Attributes:
        edges: Names of the edges, the one at the input first.
        nodes: Names of the nodes, input first and output last; one more than `edges`.
    """

    edges: tuple[str, ...]
    nodes: tuple[str, ...]

    @property
    def source(self) -> str:
        """Name of the input node."""
        return self.nodes[0]

    @property
    def target(self) -> str:
        """Name of the output node."""
        return self.nodes[-1]

    @property
    def name(self) -> str:
        """Names of the edges joined by ``>``."""
        return ">".join(self.edges)


@dataclass(frozen=True)
class Graph:
    """An acyclic directed graph of banks of units.

    Attributes:
        nodes: All nodes; the order is kept wherever nodes are listed.
        edges: All edges; the order is kept wherever edges are listed.

    Raises:
        ArgumentError: a name is malformed or used twice (nodes and edges share their names, since either may carry a
            gate), a width is not a positive whole number, an edge ends at an unknown node, a node has no edge, there
            is no edge, or there is a cycle.
    """

    nodes: tuple[Node, ...]
    edges: tuple[Edge, ...]

    def __post_init__(self):
        _check_names(self)
        _check_edges(self)
        _ = self.order

    def __repr__(self) -> str:
        edges = "1 edge" if len(self.edges) == 1 else f"{len(self.edges)} edges"
        return f"Graph({len(self.nodes)} nodes, {edges})"

    @cached_property
    def width(self) -> dict[str, int]:
        """Width of every node, by name."""
        return {node.name: node.width for node in self.nodes}

    @cached_property
    def incoming(self) -> dict[str, tuple[Edge, ...]]:
        """Edges into every node, by its name."""
        return self._edges_by(lambda edge: edge.target)

    @cached_property
    def outgoing(self) -> dict[str, tuple[Edge, ...]]:
        """Edges out of every node, by its name."""
        return self._edges_by(lambda edge: edge.source)

    def _edges_by(self, end: Callable[[Edge], str]) -> dict[str, tuple[Edge, ...]]:
        by_node: dict[str, list[Edge]] = {node.name: [] for node in self.nodes}
        for edge in self.edges:
            by_node[end(edge)].append(edge)
        return {name: tuple(edges) for name, edges in by_node.items()}

    @cached_property
    def inputs(self) -> tuple[str, ...]:
        """Names of the nodes without incoming edges."""
        return tuple(node.name for node in self.nodes if not self.incoming[node.name])

    @cached_property
    def outputs(self) -> tuple[str, ...]:
        """Names of the nodes without outgoing edges."""
        return tuple(node.name for node in self.nodes if not self.outgoing[node.name])

    @cached_property
    def hidden(self) -> tuple[str, ...]:
        """Names of the nodes with incoming and outgoing edges."""
        ends = {*self.inputs, *self.outputs}
        return tuple(node.name for node in self.nodes if node.name not in ends)

    @cached_property
    def order(self) -> tuple[str, ...]:
        """Names of the nodes, every edge's source before its target."""
        sources = {
            node.name: dict.fromkeys(e.source for e in self.incoming[node.name])
            for node in self.nodes
        }
        try:
            return tuple(TopologicalSorter(sources).static_order())
        except CycleError as error:
            cycle = cut(" > ".join(error.args[1]))
            raise argument_error("edges", "form no cycle", f"form {cycle}") from None

    @cached_property
    def shape(self) -> dict[str, tuple[int, int]]:
        """Shape (target, source) of the weight matrix of every edge, by name."""
        return {e.name: (self.width[e.target], self.width[e.source]) for e in self.edges}


def _check_names(graph: Graph) -> None:
    kinds = {}
    for kind, items in (("nodes", graph.nodes), ("edges", graph.edges)):
        for item in items:
            if not isinstance(item.name, str) or not _NAME.fullmatch(item.name):
                rule = "have names of letters, digits, `_`, `-` and `.`"
                raise argument_error(kind, rule, f"has {cut(repr(item.name))}")
            if item.name in kinds:
                where = f"is used twice, in {kinds[item.name]} and in {kind}"
                raise argument_error(kind, "have distinct names", f"`{item.name}` {where}")
            kinds[item.name] = kind
    for node in graph.nodes:
        _width(node.name, node.width)


def _width(name, value) -> int:
    if isinstance(value, str | bytes | list | tuple | Mapping):
        raise argument_error(f"nodes.{name}", "be a whole number", f"is {cut(repr(value))}")
    integer(f"nodes.{name}", value, maximum=MAX_WIDTH)
    return integer(f"nodes.{name}", value, minimum=1)


def _check_edges(graph: Graph) -> None:
    if not graph.edges:
        raise argument_error("edges", "hold at least one edge", "is empty")
    for edge in graph.edges:
        for end in (edge.source, edge.target):
            if not isinstance(end, str) or end not in graph.width:
                got = f"ends at `{cut(str(end))}`, which is none"
                repair = nearest(cut(str(end)), list(graph.width)[:100])
                raise argument_error(f"edges.{edge.name}", "join two nodes", got, repair)
    joined = {end for edge in graph.edges for end in (edge.source, edge.target)}
    for name in (name for name in graph.width if name not in joined):
        raise argument_error(f"nodes.{name}", "be joined by an edge", "is isolated")


def graph_from_dict(description: Mapping) -> Graph:
    """Build a graph from nested tables, as a TOML file holds them.

    Args:
        description: ``{"nodes": {name: width}, "edges": {name: [source, target]}}``.

    Returns:
        The graph, nodes and edges in the order of the tables.

    Raises:
        ArgumentError: a table is missing, unknown or malformed, or the graph breaks a rule of `Graph`.
    """
    for key in description.keys() - {"nodes", "edges"}:
        got = f"has `{cut(str(key))}`"
        raise argument_error("graph", "hold tables `nodes` and `edges` only", got, _NONLINEAR)
    for key in ("nodes", "edges"):
        if not isinstance(description.get(key), Mapping):
            raise argument_error("graph", f"hold a table `{key}`", "does not")
    widths = description["nodes"].items()
    nodes = tuple(Node(name, _width(cut(str(name)), width)) for name, width in widths)
    return Graph(nodes, tuple(_edge(name, ends) for name, ends in description["edges"].items()))


def _edge(name, ends) -> Edge:
    if not isinstance(ends, list | tuple) or len(ends) != 2:
        got = f"is {cut(repr(ends))}"
        raise argument_error(f"edges.{cut(str(name))}", "be [source, target]", got, _NONLINEAR)
    return Edge(name, *ends)


def read_graph(path: str | PathLike) -> Graph:
    """Read a graph from a TOML file of at most a megabyte with the tables that `graph_from_dict` takes.

    Raises:
        ArgumentError: the file cannot be read, is too large, is no TOML file, or breaks a rule of `graph_from_dict`.
    """
    path = file_argument("graph", path, _LARGEST_FILE)
    try:
        text = path.read_bytes().decode("utf-8")
        if _TOO_DEEP.search(text):
            raise ValueError("a key has more than 50 parts")
        description = tomllib.loads(text)
    except OSError as error:
        reason = error.strerror
    except RecursionError:
        reason = "it is nested too deeply"
    except ValueError as error:  # no TOML, no UTF-8, or a number of thousands of digits
        reason = str(error).rstrip(".")
    else:
        return graph_from_dict(description)
    raise argument_error("graph", "name a TOML file", f"`{path}`: {reason}")


def count_paths(graph: Graph) -> int:
    """Number of paths from inputs to outputs, counted in time linear in edges, without listing them."""
    arriving = dict.fromkeys(graph.inputs, 1)
    for name in graph.order:
        if name not in arriving:
            arriving[name] = sum(arriving[edge.source] for edge in graph.incoming[name])
    return sum(arriving[name] for name in graph.outputs)


def enumerate_paths(graph: Graph, *, max_paths: int = MAX_PATHS) -> tuple[Path, ...]:
    """All paths from inputs to outputs, ordered by input, then by edges in their declared order.

    Args:
        graph: The graph.
        max_paths: The most paths to list; they are counted first.

    Raises:
        ArgumentError: there are more than `max_paths`; the message states how many.
    """
    number = count_paths(graph)
    if number > max_paths:
        digits = math.floor(number.bit_length() * math.log10(2))
        many = f"{number}" if digits < 100 else f"about 10^{digits}"
        got = f"is {max_paths} and the graph has {many} paths"
        raise argument_error("max_paths", "be at least the number of paths", got)
    paths = []
    unfinished = [Path((), (name,)) for name in reversed(graph.inputs)]
    while unfinished:
        path = unfinished.pop()
        onward = graph.outgoing[path.target]
        if not onward:
            paths.append(path)
        for edge in reversed(onward):
            unfinished.append(Path((*path.edges, edge.name), (*path.nodes, edge.target)))
    return tuple(paths)
