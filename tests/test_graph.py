import itertools

import networkx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from foretrain.errors import ArgumentError
from foretrain.graph import (
    Edge,
    Graph,
    Node,
    count_paths,
    enumerate_paths,
    graph_from_dict,
    read_graph,
)


def ladder(layers: int) -> Graph:
    """A chain in which every step has two parallel edges: 2^layers paths."""
    nodes = {f"n{i}": 1 for i in range(layers + 1)}
    edges = {f"{side}{i}": [f"n{i}", f"n{i + 1}"] for i in range(layers) for side in "ab"}
    return graph_from_dict({"nodes": nodes, "edges": edges})


@st.composite
def acyclic_graphs(draw):
    size = draw(st.integers(2, 7))
    order = draw(st.permutations(range(size)))
    pairs = [(i, j) for j in range(size) for i in range(j)]
    chosen = draw(st.lists(st.sampled_from(pairs), min_size=1, max_size=12))
    nodes = {f"n{i}": 1 for i in sorted({end for pair in chosen for end in pair}, key=order.index)}
    edges = {f"e{k}": [f"n{i}", f"n{j}"] for k, (i, j) in enumerate(chosen)}
    return graph_from_dict({"nodes": nodes, "edges": edges})


@given(acyclic_graphs())
def test_paths_are_those_of_networkx_and_are_counted_without_listing(graph):
    reference = networkx.MultiDiGraph()
    reference.add_nodes_from(graph.width)
    reference.add_edges_from((e.source, e.target, e.name) for e in graph.edges)
    expected = {
        tuple(key for _, _, key in path)
        for source in graph.inputs
        for path in networkx.all_simple_edge_paths(reference, source, graph.outputs)
    }
    paths = enumerate_paths(graph)
    assert {path.edges for path in paths} == expected
    assert len(paths) == len(expected) == count_paths(graph)
    ends = {edge.name: (edge.source, edge.target) for edge in graph.edges}
    for path in paths:
        assert tuple(itertools.pairwise(path.nodes)) == tuple(ends[e] for e in path.edges)
        assert path.name == ">".join(path.edges)


@given(acyclic_graphs())
def test_every_node_is_input_hidden_or_output_and_sources_come_first(graph):
    assert sorted([*graph.inputs, *graph.hidden, *graph.outputs]) == sorted(graph.width)
    place = {name: index for index, name in enumerate(graph.order)}
    assert all(place[edge.source] < place[edge.target] for edge in graph.edges)


def test_paths_beyond_the_limit_are_counted_and_refused_at_once():
    graph = ladder(200)  # 2^200 paths: listing would never end.
    assert count_paths(graph) == 2**200
    words = f"`max_paths` must be .* is 50 and the graph has {2**200}"
    with pytest.raises(ArgumentError, match=words):
        enumerate_paths(graph, max_paths=50)
    assert len(enumerate_paths(ladder(5), max_paths=32)) == 32


def test_a_cycle_is_named_in_the_direction_of_its_edges():
    nodes = {"x": 1, "a": 1, "b": 1, "c": 1, "y": 1}
    edges = {name: list(name) for name in ("xa", "ab", "bc", "ca", "by")}
    with pytest.raises(ArgumentError, match="form no cycle, but form") as caught:
        graph_from_dict({"nodes": nodes, "edges": edges})
    cycle = str(caught.value).partition("but form ")[2].rstrip(".").split(" > ")
    assert cycle[0] == cycle[-1]
    assert set(itertools.pairwise(cycle)) == {("a", "b"), ("b", "c"), ("c", "a")}


@pytest.mark.parametrize(
    ("nodes", "edges", "message"),
    [
        ({"x": 2, "hidden": 3}, {"in": ["x", "hiden"]}, "`edges.in` .* Did you mean `hidden`"),
        ({"x": 2, "y": 3, "z": 1}, {"in": ["x", "y"]}, "`nodes.z` .* is isolated"),
        ({"x": 2, "y": 3}, {}, "`edges` must hold at least one edge"),
        ({"x": 1, "a": 1}, {"in": ["x", "a"], "loop": ["a", "a"]}, "no cycle, but form a > a"),
        ({"x": 0, "y": 3}, {"in": ["x", "y"]}, "`nodes.x` must be at least 1, but is 0"),
        ({"x": 2.5, "y": 3}, {"in": ["x", "y"]}, "`nodes.x` must be a whole number"),
        ({"x": 2, "y": 3}, {"x": ["x", "y"]}, "`x` is used twice, in nodes and in edges"),
        ({"x": 2, "y 1": 3}, {"in": ["x", "y 1"]}, "`nodes` must have names of letters"),
        ({"x": 2, "y": 3}, {"in": ["x"]}, r"`edges.in` must be \[source, target\]"),
        ({"x": 2, "y": 3}, {"in": {"source": "x"}}, "`edges.in` must be .* is {'source': 'x'}"),
    ],
)
def test_a_malformed_description_is_refused_in_one_line(nodes, edges, message):
    with pytest.raises(ArgumentError, match=message) as caught:
        graph_from_dict({"nodes": nodes, "edges": edges})
    assert "\n" not in str(caught.value)


def test_repeated_names_are_refused():
    nodes = (Node("x", 1), Node("y", 1))
    with pytest.raises(ArgumentError, match="`w` is used twice, in edges and in edges"):
        Graph(nodes, (Edge("w", "x", "y"), Edge("w", "x", "y")))
    with pytest.raises(ArgumentError, match="`x` is used twice, in nodes and in nodes"):
        Graph((*nodes, Node("x", 2)), (Edge("w", "x", "y"),))


def test_tables_that_are_unknown_or_missing_are_refused():
    with pytest.raises(ArgumentError, match="has `gates`"):
        graph_from_dict({"nodes": {}, "edges": {}, "gates": {}})
    with pytest.raises(ArgumentError, match="hold a table `edges`"):
        graph_from_dict({"nodes": {"x": 1}})


def test_a_graph_read_from_toml_is_the_graph_built_in_python(tmp_path):
    file = tmp_path / "graph.toml"
    file.write_text('[nodes]\nx = 2\nh = 4\ny = 1\n[edges]\nin = ["x", "h"]\nout = ["h", "y"]\n')
    graph = read_graph(file)
    assert graph == Graph(
        (Node("x", 2), Node("h", 4), Node("y", 1)), (Edge("in", "x", "h"), Edge("out", "h", "y"))
    )
    assert graph.shape == {"in": (4, 2), "out": (1, 4)}
    assert repr(graph) == "Graph(3 nodes, 2 edges)"
    file.write_text("[nodes")
    with pytest.raises(ArgumentError, match="`graph` must name a TOML file"):
        read_graph(file)
    with pytest.raises(ArgumentError, match="No such file"):
        read_graph(tmp_path / "none.toml")
