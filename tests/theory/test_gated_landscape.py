import itertools

import numpy as np
import pytest
from predict.routes import routes, trained_loss

from foretrain.graph import graph_from_dict
from foretrain.networks.gated import statistics_gradient
from foretrain.tasks.gated_data import GatedData
from foretrain.tasks.gatings import least_loss, pathways_data
from foretrain.tasks.logic import contextual, xor
from foretrain.tasks.statistics import gather_statistics
from foretrain.theory.gated import reduced_dynamics
from foretrain.theory.gated.gated_landscape import attainable, leads_down_flat, smallest_curvature
from foretrain.theory.gated.reduction import find_reduction
from foretrain.theory.gated.start_signs import start_signs

HADAMARD = [[1, 1], [1, -1]]
NEARLY_SEPARATE = [[1, 0.1], [0.1, 1]]


def race() -> GatedData:
    """Two tasks, y and z, with a route of their own each, p and q, and one that they share, s."""
    nodes = {"x": 3, "s": 3, "p": 4, "q": 3, "y": 3, "z": 3}
    edges = {pair: list(pair) for pair in ("xs", "sy", "sz", "xp", "py", "xq", "qz")}
    y = np.diag([3.0, 2.0, 1.0])
    graph = graph_from_dict({"nodes": nodes, "edges": edges})
    return GatedData(graph, {"x": np.eye(3)}, {"y": y, "z": y})


def chain(widths, x, y) -> GatedData:
    names = ["x", *(f"h{k}" for k in range(len(widths))), "y"]
    nodes = dict(zip(names, [x.shape[1], *widths, y.shape[1]], strict=True))
    edges = {f"e{k}": list(pair) for k, pair in enumerate(itertools.pairwise(names))}
    return GatedData(graph_from_dict({"nodes": nodes, "edges": edges}), {"x": x}, {"y": y})


DATA = {
    "hadamard": routes(HADAMARD, width=2),
    "one unit": routes(HADAMARD, width=1),
    "three units": routes(NEARLY_SEPARATE, width=3),
    "two banks": routes(HADAMARD, width=2, banks=2),
    "unequal": routes([[1, 2, 0], [1, -1, 0.5]], width=3),
    "race": race(),
    "xor": xor(2),
    "context": contextual(3),
    "deep": chain([2, 4], np.eye(3), np.array([[2.0, 0], [0, 1], [0, 0]])),
    "direct": chain([], np.eye(2), np.diag([2.0, 1.0])),
}


def dense(statistics, weights) -> np.ndarray:
    """Eigenvalues of the Hessian of the whole network's loss, by central differences of its gradient."""
    shapes = {name: w.shape for name, w in weights.items()}
    ends = np.cumsum([w.size for w in weights.values()])
    flat = np.concatenate([w.ravel() for w in weights.values()])

    def gradient(point):
        pieces = zip(shapes, np.split(point, ends[:-1]), strict=True)
        result = statistics_gradient(
            statistics, {n: piece.reshape(shapes[n]) for n, piece in pieces}
        )
        return np.concatenate([result[name].ravel() for name in shapes])

    step = 1e-4  # the gradient is a polynomial with coefficients of order one
    columns = [
        (gradient(flat + shift) - gradient(flat - shift)) / (2 * step)
        for shift in step * np.eye(flat.size)
    ]
    return np.linalg.eigvalsh(np.array(columns))


@pytest.mark.parametrize("name", DATA)
def test_the_smallest_curvature_is_that_of_the_whole_hessian(name):
    statistics = gather_statistics(DATA[name])
    reduction = find_reduction(statistics)
    generator = np.random.default_rng(0)
    shape = reduction.carried.shape
    ends = reduced_dynamics.flow(0.05 * start_signs(reduction), np.array([0.0, 400.0]), reduction)
    states = [ends[-1], np.zeros(shape), generator.uniform(-1, 1, size=shape)]
    states.append(generator.uniform(-1, 1, size=shape) * (generator.random(shape) < 0.6))
    for state in states:
        state = reduced_dynamics.decoupled_start(state, reduction)
        frames = reduced_dynamics.hidden_frames(reduction, generator)
        weights = reduced_dynamics.decoupled_weights(state, frames, reduction)
        expected = min(dense(statistics, weights)[0], 0)
        assert smallest_curvature(state, reduction) == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize(("table", "second"), [(HADAMARD, np.sqrt(2)), (NEARLY_SEPARATE, 0.9)])
def test_routes_of_rank_two_leave_their_second_singular_value_as_curvature(table, second):
    reduction = find_reduction(gather_statistics(routes(table)))
    start = 0.05 * start_signs(reduction)
    end = reduced_dynamics.flow(start, np.array([0.0, 400.0]), reduction)[-1]
    # S and D are a quarter of the table and of one. One mode learns the first singular value; the second is left.
    assert reduced_dynamics.loss(end, reduction) == pytest.approx(second**2 / 8, rel=1e-6)
    assert smallest_curvature(end, reduction) == pytest.approx(-second / 4, rel=1e-6)


def test_through_three_edges_the_saddle_is_flat_and_needs_spare_units():
    for width, flat in ((2, True), (1, False)):
        reduction = find_reduction(gather_statistics(routes(HADAMARD, width=width, banks=2)))
        start = 0.3 * start_signs(reduction)
        end = reduced_dynamics.flow(start, np.array([0.0, 1000.0]), reduction)[-1]
        assert smallest_curvature(end, reduction) == pytest.approx(0, abs=1e-7)
        assert leads_down_flat(end, reduction, 1e-4) is flat


def attainable_loss(data):
    statistics = gather_statistics(data)
    return attainable(statistics, find_reduction(statistics, approximate=True))


def test_wide_pathways_attain_least_squares_whatever_the_gates():
    generator = np.random.default_rng(0)
    x, y = generator.standard_normal((30, 3)), generator.standard_normal((30, 1))
    opens = generator.random((2, 30)) < 0.5
    for gates in (np.ones((1, 30)), opens, generator.random((3, 30)), np.ones((2, 30))):
        least = attainable_loss(pathways_data(x, y, gates, hidden_width=3))
        assert least.loss == pytest.approx(least_loss(x, y, gates), rel=1e-10)
        assert not least.is_bound


@pytest.mark.parametrize("widths", [[2], [4, 2], [1, 3]])
def test_a_bottleneck_attains_reduced_rank_regression_and_training_finds_it(widths):
    generator = np.random.default_rng(1)
    x = generator.standard_normal((40, 3)) * [1.5, 1.0, 0.7]
    y = x @ generator.standard_normal((3, 3)) * 0.5 + 0.1 * generator.standard_normal((40, 3))
    data = chain(widths, x, y)
    least = attainable_loss(data)
    values, vectors = np.linalg.eigh(x.T @ x / 40)
    strengths = np.linalg.svd(y.T @ x / 40 @ vectors / np.sqrt(values), compute_uv=False)
    expected = ((y**2).sum() / 40 - (strengths[: min(widths)] ** 2).sum()) / 2
    assert least.loss == pytest.approx(expected, rel=1e-10)
    assert not least.is_bound
    trained = trained_loss(data, init_scale=0.3, seed=0, steps=6000, learning_rate=0.1)
    assert trained == pytest.approx(expected, rel=1e-4)


def test_parallel_banks_add_their_ranks_and_the_narrowest_cut_decides():
    graph = graph_from_dict(
        {
            "nodes": {"x": 4, "a": 1, "b": 3, "c": 1, "y": 4},
            "edges": {pair: list(pair) for pair in ("xa", "ay", "xb", "bc", "cy")},
        }
    )
    data = GatedData(graph, {"x": np.eye(4)}, {"y": np.diag([4.0, 3, 2, 1])})
    least = attainable_loss(data)  # one mode through a, one through c
    assert least.loss == pytest.approx((2**2 + 1) / 8)
    assert not least.is_bound


def test_one_unit_for_all_routes_attains_the_best_matrix_of_rank_one():
    assert attainable_loss(routes(HADAMARD)).loss == 0
    for table in (HADAMARD, NEARLY_SEPARATE, [[1, 2, 0], [1, -1, 0.5]]):
        least = attainable_loss(routes(table, width=1))
        left = np.linalg.svd(table, compute_uv=False)[1:]
        assert least.loss == pytest.approx((left**2).sum() / np.size(table) / 2)
        assert not least.is_bound
