import numpy as np
import pytest

from foretrain.errors import ArgumentError, StoreError
from foretrain.graph import graph_from_dict
from foretrain.tasks.gated_data import GatedData, load_gated_data
from foretrain.tasks.statistics import gather_statistics

GRAPH = graph_from_dict(
    {
        "nodes": {"a": 2, "b": 3, "h": 4, "y": 2, "z": 1},
        "edges": {pair: list(pair) for pair in ("ah", "bh", "hy", "hz", "by")},
    }
)


def arrays(samples: int = 30, seed: int = 0):
    draw = np.random.default_rng(seed).standard_normal
    inputs = {"a": draw((samples, 2)), "b": draw((samples, 3))}
    targets = {"y": draw((samples, 2)), "z": draw((samples, 1))}
    gates = {"ah": draw(samples), "h": (draw(samples) > 0).astype(float), "y": draw(samples)}
    return inputs, targets, gates


def test_every_correlation_is_the_average_over_examples():
    inputs, targets, gates = arrays()
    statistics = gather_statistics(GatedData(GRAPH, inputs, targets, gates))
    gate = {
        number: np.prod([gates.get(name, np.ones(30)) for name in (*p.edges, *p.nodes)], axis=0)
        for number, p in enumerate(statistics.paths)
    }
    assert len(statistics.paths) == 5
    for p, path in enumerate(statistics.paths):
        expected = np.einsum("n,ni,nj->ij", gate[p], targets[path.target], inputs[path.source]) / 30
        np.testing.assert_allclose(statistics.sigma_yx(p), expected, rtol=1e-12, atol=1e-14)
        for j, other in enumerate(statistics.paths):
            if other.target == path.target:
                product = gate[j] * gate[p]
                expected = (product[:, None] * inputs[other.source]).T @ inputs[path.source]
                result = statistics.sigma_x(j, p)
                np.testing.assert_allclose(result, expected / 30, rtol=1e-12, atol=1e-14)
        assert statistics.active[statistics.bundle_of[p]] == np.count_nonzero(gate[p]) / 30
    for name, array in targets.items():
        assert statistics.target_power[name] == pytest.approx(np.sum(array**2) / 30, rel=1e-13)


def test_paths_that_share_their_gates_share_one_matrix():
    edges = {"skip": "xy", "in": "xh", "twin": "xh", "out": "hy", "z1": "hz"}
    nodes, edges = {"x": 3, "h": 2, "y": 1, "z": 1}, {name: [*ends] for name, ends in edges.items()}
    draw = np.random.default_rng(0).standard_normal
    graph = graph_from_dict({"nodes": nodes, "edges": edges})
    data = GatedData(graph, {"x": draw((9, 3))}, {"y": draw((9, 1)), "z": draw((9, 1))})
    statistics = gather_statistics(data)
    assert len(statistics.paths) == 5
    assert len(statistics.bundles) == 2
    assert len({id(matrix) for matrix in statistics.inputs.values()}) == 1


def test_a_path_whose_gate_never_opens_has_no_statistics_and_targets_no_common_ones():
    inputs, targets, _ = arrays()
    statistics = gather_statistics(GatedData(GRAPH, inputs, targets, {"hz": np.zeros(30)}))
    closed = [n for n, path in enumerate(statistics.paths) if "hz" in path.edges]
    assert len(closed) == 2
    for path in closed:
        assert statistics.bundle_of[path] not in statistics.target_input
        assert not statistics.sigma_yx(path).any()
        assert not statistics.sigma_x(path, path).any()
    to_y = next(n for n, path in enumerate(statistics.paths) if path.target == "y")
    with pytest.raises(ArgumentError, match="be a path to `y`, but ends at `z`"):
        statistics.sigma_x(to_y, closed[0])


@pytest.mark.parametrize(
    ("group", "name", "value", "message"),
    [
        (0, "a", np.ones((29, 2)), r"`x.b` must be as long as `x.a` \(29\), but has length 30"),
        (0, "a", np.ones((30, 3)), r"`x.a` must have shape \(sample, 2\).*has shape \(30, 3\)"),
        (0, "h", np.ones((30, 4)), "`x.h` must name an input node"),
        (2, "hh", np.ones(30), "`gate.hh` must name an edge or a node .* Did you mean `h`"),
        (2, "a", np.ones(30), "`gate.a` must name an edge or a node that is not an input"),
        (2, "h", np.ones(31), r"`gate.h` must be as long as `x.a` \(30\), but has length 31"),
    ],
)
def test_arrays_that_do_not_fit_the_graph_are_refused_in_one_line(group, name, value, message):
    given_arrays = arrays()
    given_arrays[group][name] = value
    with pytest.raises(ArgumentError, match=message) as caught:
        GatedData(GRAPH, *given_arrays)
    assert "\n" not in str(caught.value)


def test_missing_and_empty_arrays_are_refused():
    inputs, targets, gates = arrays()
    empty = ({name: array[:0] for name, array in group.items()} for group in arrays())
    for groups, match in (
        (({"a": inputs["a"]}, targets, gates), "`x.b` must be given, but is missing"),
        ((inputs, {"y": targets["y"]}, gates), "`y.z` must be given, but is missing"),
        (empty, "`x.a` must hold at least one sample"),
    ):
        with pytest.raises(ArgumentError, match=match):
            GatedData(GRAPH, *groups)


def test_a_stored_data_set_is_read_back_and_other_names_are_refused(tmp_path):
    file, groups = tmp_path / "data.npz", dict(zip(("x", "y", "gate"), arrays(), strict=True))
    named = {f"{kind}.{name}": array for kind in groups for name, array in groups[kind].items()}
    np.savez(file, **named)
    data = load_gated_data(file, GRAPH)
    for result, group in zip((data.inputs, data.targets, data.gates), arrays(), strict=True):
        assert result.keys() == group.keys()
        for name, array in group.items():
            np.testing.assert_array_equal(result[name], array)
    np.savez(file, **named, labels=np.ones(30))
    with pytest.raises(ArgumentError, match="has `labels`"):
        load_gated_data(file, GRAPH)
    np.save(tmp_path / "one.npy", np.ones(3))
    with pytest.raises(StoreError, match="is a single array"):
        load_gated_data(tmp_path / "one.npy", GRAPH)


def test_numbers_whose_products_overflow_are_refused():
    inputs, targets, gates = arrays()
    for number in (1e154, np.longdouble("1e4000")):
        huge = inputs["a"].astype(np.longdouble)
        huge[0, 0] = number
        with pytest.raises(ArgumentError, match=r"`x.a` must hold numbers of at most 1e"):
            GatedData(GRAPH, {**inputs, "a": huge}, targets, gates)
