import jax
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from foretrain.graph import graph_from_dict
from foretrain.networks.gated import example_loss, forward, initial_weights, statistics_gradient
from foretrain.tasks.gated_data import GatedData
from foretrain.tasks.statistics import gather_statistics

few = settings(max_examples=12)
seeds = st.integers(0, 2**32 - 1)


def random_network(seed: int, samples: int = 9):
    """A random acyclic graph (parallel edges, skips, several inputs and outputs), real gates, data and weights."""
    draw = np.random.default_rng(seed)
    pairs = [(i, j) for j in range(int(draw.integers(3, 7))) for i in range(j)]
    chosen = [pairs[k] for k in draw.integers(0, len(pairs), size=int(draw.integers(3, 10)))]
    nodes = {
        f"n{i}": int(draw.integers(1, 4)) for i in sorted({i for pair in chosen for i in pair})
    }
    edges = {f"e{k}": [f"n{i}", f"n{j}"] for k, (i, j) in enumerate(chosen)}
    graph = graph_from_dict({"nodes": nodes, "edges": edges})
    inputs = {name: draw.standard_normal((samples, graph.width[name])) for name in graph.inputs}
    targets = {name: draw.standard_normal((samples, graph.width[name])) for name in graph.outputs}
    names = [*graph.shape, *graph.hidden, *graph.outputs]
    gates = {}
    for name in names:
        law = draw.integers(4)
        if law == 1:
            gates[name] = draw.standard_normal(samples)
        elif law == 2:
            gates[name] = draw.integers(0, 2, size=samples)
        elif law == 3:
            gates[name] = np.zeros(samples)
    weights = {name: draw.standard_normal(shape) for name, shape in graph.shape.items()}
    return GatedData(graph, inputs, targets, gates), weights


@pytest.mark.slow
@few
@given(seeds)
def test_path_sum_gradient_is_the_gradient_of_the_loss_of_the_examples(seed):
    data, weights = random_network(seed)
    with jax.enable_x64(True):
        parts = data.inputs, data.targets, data.gates
        loss = lambda weights: example_loss(data.graph, weights, *parts).mean()  # noqa: E731
        gradient = jax.jit(jax.grad(loss))(weights)
    result = statistics_gradient(gather_statistics(data), weights)
    scale = max(float(np.abs(g).max()) for g in gradient.values())
    assert result.keys() == gradient.keys()
    for name, expected in gradient.items():
        # A sum over paths of products of at most five matrices: 1e-10 is far above its rounding.
        np.testing.assert_allclose(result[name], expected, rtol=1e-10, atol=1e-10 * scale)


@few
@given(seeds)
def test_flow_leaves_the_balance_of_every_hidden_node_unchanged(seed):
    data, weights = random_network(seed)
    gradient = statistics_gradient(gather_statistics(data), weights)
    graph = data.graph
    for name in graph.hidden:
        into = [gradient[e.name] @ weights[e.name].T for e in graph.incoming[name]]
        out = [weights[f.name].T @ gradient[f.name] for f in graph.outgoing[name]]
        rate = sum(m + m.T for m in into) - sum(m + m.T for m in out)
        assert np.linalg.norm(rate) <= 1e-10 * sum(np.linalg.norm(m) for m in (*into, *out))


def test_a_hand_computed_output_with_gates_on_nodes_and_edges():
    edges = {"in": ["x", "h"], "out": ["h", "y"], "skip": ["x", "y"]}
    graph = graph_from_dict({"nodes": {"x": 1, "h": 2, "y": 1}, "edges": edges})
    weights = {"in": [[2.0], [3.0]], "out": [[1.0, -1.0]], "skip": [[7.0]]}
    weights = {name: np.array(rows) for name, rows in weights.items()}
    gates = {"in": [1.0, 1.0, 0.5], "h": [1.0, 0.0, 1.0], "y": [1.0, 1.0, 2.0]}
    gates = {name: np.array(row) for name, row in gates.items()}
    x = np.array([[1.0], [1.0], [2.0]])
    result = forward(graph, weights, {"x": x}, gates)["y"]
    np.testing.assert_array_equal(result[:, 0], [7 - 1, 7, 2 * (14 - 1)])
    item = forward(graph, weights, {"x": x[2]}, {name: gate[2] for name, gate in gates.items()})[
        "y"
    ]
    np.testing.assert_array_equal(item, result[2])


@pytest.mark.slow
def test_initial_weights_follow_their_law():
    graph = graph_from_dict(
        {"nodes": {"x": 300, "h": 200, "y": 100}, "edges": {"in": ["x", "h"], "out": ["h", "y"]}}
    )

    def draw(law, init_scale=0.3):
        return initial_weights(graph, np.random.default_rng(1), law=law, init_scale=init_scale)

    for name, matrix in draw("orthogonal").items():
        assert matrix.shape == graph.shape[name]
        np.testing.assert_allclose(np.linalg.svd(matrix, compute_uv=False), 0.3, rtol=1e-12)
    variance = {
        "normal": lambda shape: 0.09,
        "xavier_normal": lambda shape: 0.09 * 2 / sum(shape),
        "xavier_uniform": lambda shape: 0.09 * 2 / sum(shape),
    }
    for law, expected in variance.items():
        for name, matrix in draw(law).items():
            # Relative standard error of the variance of 20,000 normal entries: 1%; five of them.
            assert np.mean(matrix**2) == pytest.approx(expected(graph.shape[name]), rel=0.05)
            np.testing.assert_allclose(draw(law, 0.6)[name], 2 * matrix, rtol=1e-15)
    assert np.abs(draw("xavier_uniform")["in"]).max() <= 0.3 * np.sqrt(6 / 500)
