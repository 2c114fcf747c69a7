import itertools

import jax
import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from foretrain.graph import graph_from_dict
from foretrain.networks.gated import example_loss, statistics_gradient
from foretrain.tasks.gated_data import GatedData
from foretrain.tasks.logic import contextual, xor
from foretrain.tasks.statistics import gather_statistics
from foretrain.theory.gated.reduced_dynamics import (
    decoupled_start,
    decoupled_weights,
    descent,
    flow,
    half_learning_times,
    hidden_frames,
    loss,
    velocity,
)
from foretrain.theory.gated.reduction import ReductionError, find_reduction


def rotation(size, generator):
    return np.linalg.qr(generator.standard_normal((size, size)))[0]


def samples_of(frame, variances):
    """As many samples as inputs, with second moments exactly frame diag(variances) frame^T."""
    return (frame * np.sqrt(np.asarray(variances) * len(variances))).T


def chain(hidden=(5, 4, 6)):
    """Three hidden layers, the second narrower than the input and wide enough for all modes of the output."""
    draw = np.random.default_rng(1)
    names = ["x", *(f"h{k}" for k in range(len(hidden))), "y"]
    nodes = dict(zip(names, (5, *hidden, 3), strict=True))
    edges = {f"w{k}": list(pair) for k, pair in enumerate(itertools.pairwise(names))}
    left, right = rotation(3, draw), rotation(5, draw)
    x = samples_of(right, [2.0, 1.0, 0.5, 0.7, 0.0])
    y = x @ right[:, :3] * [1.5, 1.0, 0.4] @ left.T
    return GatedData(graph_from_dict({"nodes": nodes, "edges": edges}), {"x": x}, {"y": y})


NETWORKS = {
    "xor": lambda: xor(6),
    "contextual, always on": lambda: contextual(4, gating="always_on"),
    "chain": chain,
}


def mean_loss(data, weights):
    return example_loss(data.graph, weights, data.inputs, data.targets, data.gates).mean()


def train(data, weights, rate, steps):
    """Descent on the loss of the examples by automatic differentiation, in float64."""
    slope = jax.grad(lambda w: mean_loss(data, w))
    move = jax.jit(lambda w: jax.tree.map(lambda a, b: a - rate * b, w, slope(w)))
    with jax.enable_x64(True):
        for _ in range(steps):
            weights = move(weights)
        return jax.tree.map(np.asarray, weights)


@pytest.mark.parametrize("name", NETWORKS)
def test_descent_of_the_full_network_is_euler_of_the_reduction(name):
    data = NETWORKS[name]()
    reduction = find_reduction(gather_statistics(data))
    draw = np.random.default_rng(5)
    start = decoupled_start(draw.uniform(0.2, 0.4, size=reduction.carried.shape), reduction)
    frames = hidden_frames(reduction, draw)
    steps, rate = 150, 0.1
    states = descent(start, rate, steps, reduction)
    weights = train(data, decoupled_weights(start, frames, reduction), rate, steps)
    for edge, matrix in decoupled_weights(states[-1], frames, reduction).items():
        scale = np.abs(matrix).max()
        # Rounding of 150 steps on numbers of order one; the modes do not amplify it.
        np.testing.assert_allclose(weights[edge], matrix, rtol=0, atol=1e-12 * scale)
    losses = loss(states, reduction)
    assert losses[-1] < 0.9 * losses[0]  # Something was learned: the test is not empty.
    for k in (0, steps):
        weights = decoupled_weights(states[k], frames, reduction)
        assert losses[k] == pytest.approx(mean_loss(data, weights), rel=1e-12, abs=1e-15)


def random_diagonalisable(seed, latents=3):
    """Any acyclic graph, real gates per context, and data that are diagonal in frames of their own at every end."""
    draw = np.random.default_rng(seed)
    pairs = [(i, j) for j in range(int(draw.integers(3, 8))) for i in range(j)]
    chosen = [pairs[k] for k in draw.integers(0, len(pairs), size=int(draw.integers(3, 11)))]
    used = sorted({end for pair in chosen for end in pair})
    nodes = {f"n{i}": int(draw.integers(1, 5)) for i in used}
    edges = {f"e{k}": [f"n{i}", f"n{j}"] for k, (i, j) in enumerate(chosen)}
    graph = graph_from_dict({"nodes": nodes, "edges": edges})
    latent = samples_of(np.eye(latents), draw.uniform(0.5, 2, latents))
    contexts = int(draw.integers(1, 4))

    def view(node, per_context):
        width = graph.width[node]
        seen, frame = min(width, latents), rotation(width, draw)
        scales = [draw.standard_normal(seen)] * contexts
        if per_context:
            scales = draw.standard_normal((contexts, seen))
        return np.concatenate([latent[:, :seen] * scale @ frame[:, :seen].T for scale in scales])

    gates = {
        name: np.repeat(draw.integers(0, 3, contexts) * draw.uniform(0.5, 1), latents)
        for name in [*graph.shape, *graph.hidden, *graph.outputs]
        if draw.integers(2)
    }
    inputs = {name: view(name, False) for name in graph.inputs}
    return GatedData(graph, inputs, {name: view(name, True) for name in graph.outputs}, gates), draw


@settings(max_examples=60)
@given(st.integers(0, 2**32 - 1))
def test_on_any_graph_the_full_network_moves_as_the_reduction_says(seed):
    data, draw = random_diagonalisable(seed)
    statistics = gather_statistics(data)
    assume(any(np.any(statistics.input_pair(p, p)) for p in statistics.target_input))
    reduction = find_reduction(statistics)
    state = decoupled_start(draw.standard_normal(reduction.carried.shape), reduction)
    frames = hidden_frames(reduction, draw)
    weights = decoupled_weights(state, frames, reduction)
    full = statistics_gradient(statistics, weights)
    reduced = decoupled_weights(velocity(state, reduction), frames, reduction)
    scale = max(np.abs(matrix).max() for matrix in full.values())
    for edge, matrix in full.items():
        # Frames are exact to rounding, up to 1e-8 (the default tolerance) where values happen to be close.
        np.testing.assert_allclose(reduced[edge], -matrix, rtol=0, atol=1e-8 * scale)
    assert loss(state, reduction) == pytest.approx(mean_loss(data, weights), rel=1e-8, abs=1e-12)


def test_the_coefficient_of_an_edge_is_the_share_of_examples_that_train_it():
    edges = {"shared": ["x", "h"], "often": ["h", "y"], "seldom": ["h", "y"]}
    graph = graph_from_dict({"nodes": {"x": 4, "h": 4, "y": 4}, "edges": edges})
    seldom = np.arange(4) == 0
    gates = {"often": ~seldom, "seldom": seldom}
    data = GatedData(graph, {"x": np.eye(4)}, {"y": np.eye(4)}, gates)
    coefficient = find_reduction(gather_statistics(data)).edge_coefficients
    assert coefficient == pytest.approx({"shared": 1, "often": 0.75, "seldom": 0.25})


def test_modes_without_target_have_no_half_learning_time_and_slow_ones_an_infinite_one():
    data = chain()
    y = data.targets["y"].copy()
    left, sizes, right = np.linalg.svd(y, full_matrices=False)
    y = left * [*sizes[:2], 0] @ right
    reduction = find_reduction(gather_statistics(GatedData(data.graph, data.inputs, {"y": y})))
    times = np.linspace(0, 100, 2001)
    half = half_learning_times(flow(0.3, times, reduction), times, reduction)
    assert np.isfinite(half[0, :2]).all()
    assert np.isnan(half[0, 2:]).all()
    early = times[times < half[0, 0]]
    assert np.isinf(half_learning_times(flow(0.3, early, reduction), early, reduction)[0, :2]).all()


def test_directions_without_variance_are_no_modes():
    draw = np.random.default_rng(0)
    x = samples_of(rotation(5, draw), [1.0, 0.5, 0.2, 0.0, 0.0])
    y = x @ draw.standard_normal((5, 2)) @ draw.standard_normal((2, 6))
    x = np.linalg.svd(x, full_matrices=False)[0][:, :3] @ rotation(5, draw)[:3] * np.sqrt(5)
    graph = graph_from_dict(
        {"nodes": {"x": 5, "h": 4, "y": 6}, "edges": {"a": ["x", "h"], "b": ["h", "y"]}}
    )
    reduction = find_reduction(gather_statistics(GatedData(graph, {"x": x}, {"y": y})))
    # Whitened on three directions, two of which drive the output; the third decays against a free output direction.
    assert reduction.singular_values.shape == (1, 3)
    np.testing.assert_allclose(reduction.input_variances, [[1, 1, 1]], rtol=1e-12)
    assert np.count_nonzero(reduction.singular_values > 1e-12) == 2


def test_data_that_no_frames_diagonalise_are_refused_with_the_residual():
    data = contextual(4, gating="always_on", samples=200, generator=np.random.default_rng(0))
    statistics = gather_statistics(data)
    residual = find_reduction(statistics, approximate=True).residual
    assert 1e-3 < residual < 0.3  # Sampling noise, about 200^(-1/2) = 0.07.
    words = f"off-diagonal mass is {residual:.3g}, above the tolerance 1e-08"
    with pytest.raises(ReductionError, match=words):
        find_reduction(statistics)
    assert find_reduction(statistics, tolerance=2 * residual).residual == residual


def test_opposed_orders_of_modes_on_two_paths_are_refused():
    # Both paths have the same frames, but one maps mode 1 to output 1 and the other to output 2.
    nodes = {"x": 2, "h": 3, "k": 3, "y": 2}
    edges = {"in": ["x", "h"], "a": ["h", "k"], "b": ["h", "k"], "out": ["k", "y"]}
    x = np.concatenate([np.eye(2), np.eye(2)])
    y = np.concatenate([np.eye(2), np.eye(2)[::-1]])
    first = np.array([1.0, 1.0, 0.0, 0.0])
    gates = {"a": first, "b": 1 - first}
    data = GatedData(graph_from_dict({"nodes": nodes, "edges": edges}), {"x": x}, {"y": y}, gates)
    result = find_reduction(gather_statistics(data))
    # The identity and the swap do commute: they share frames, with singular values of both signs.
    np.testing.assert_allclose(np.sort(result.singular_values.ravel()), [-0.25, 0.25, 0.25, 0.25])
    data = GatedData(data.graph, {"x": x}, {"y": y * [1.0, 3.0]}, gates)
    with pytest.raises(ReductionError, match="cannot be diagonalised jointly"):
        find_reduction(gather_statistics(data))
    data = GatedData(data.graph, {"x": x}, {"y": y}, dict.fromkeys("ab", np.zeros(4)))
    with pytest.raises(ReductionError, match="No path carries a signal"):
        find_reduction(gather_statistics(data))
