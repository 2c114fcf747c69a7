import numpy as np
import pytest

from foretrain.errors import ArgumentError
from foretrain.networks.gated import example_loss, initial_weights, statistics_gradient
from foretrain.tasks.logic import xor
from foretrain.tasks.statistics import gather_statistics
from foretrain.theory.gated.reduced_dynamics import (
    decoupled_start,
    descent,
    flow,
    half_learning_times,
    loss,
    mode_strengths,
)
from foretrain.theory.gated.reduction import find_reduction


def test_xor_reduces_to_one_mode_per_pathway_with_the_closed_solution():
    reduction = find_reduction(gather_statistics(xor(3)))
    assert len(reduction.groups) == 4
    np.testing.assert_allclose(
        reduction.singular_values, np.full((4, 1), np.sqrt(2) / 4), rtol=1e-14
    )
    np.testing.assert_allclose(reduction.input_variances, np.full((4, 1), 1 / 2), rtol=1e-14)
    start, times = 0.1, np.linspace(0, 40, 81)
    states = flow(decoupled_start(start, reduction), times, reduction)
    s, d, a0 = np.sqrt(2) / 4, 1 / 2, start**2
    strength = (s / d) / (1 - (1 - s / (d * a0)) * np.exp(-2 * s * times))  # eq. (21), tau = 1
    # Integrated at a relative tolerance of 1e-10.
    result = mode_strengths(states, reduction)[..., 0]
    np.testing.assert_allclose(result, np.tile(strength, (4, 1)).T, rtol=1e-7)
    expected = 1 / 2 - np.sqrt(2) * strength + strength**2  # eq. (23)
    np.testing.assert_allclose(loss(states, reduction), expected, atol=1e-8)
    half = np.log(s / (d * a0) - 1) / (2 * s)
    fine = np.linspace(half - 1, half + 1, 2001)
    states = flow(start, fine, reduction)
    np.testing.assert_allclose(half_learning_times(states, fine, reduction), half, rtol=1e-7)


def test_small_random_weights_follow_the_reduction_from_their_growing_part():
    data = xor(128)
    statistics = gather_statistics(data)
    reduction = find_reduction(statistics)
    weights = initial_weights(data.graph, np.random.default_rng(0), law="normal", init_scale=1e-3)
    start = {}
    for k, group in enumerate(reduction.groups, start=1):
        into = weights[f"in{k}"] @ group.frames["x"][:, 0]
        out = weights[f"out{k}"].T @ group.frames["y"][:, 0]
        start[f"in{k}"] = start[f"out{k}"] = np.linalg.norm(into + out) / 2
    rate, steps, losses = 0.25, 200, []
    for _ in range(steps + 1):
        each = example_loss(data.graph, weights, data.inputs, data.targets, data.gates)
        losses.append(each.mean())
        gradient = statistics_gradient(statistics, weights)
        weights = {name: weights[name] - rate * gradient[name] for name in weights}
    predicted = loss(descent(decoupled_start(start, reduction), rate, steps, reduction), reduction)
    assert losses[-1] < 1e-6
    # The part left out is of the order of the initial strength, N_h sigma_0^2 = 1.3e-4, times the slope of the curve.
    np.testing.assert_allclose(predicted, losses, rtol=0, atol=1e-3 * losses[0])


def test_starts_that_do_not_fit_are_refused():
    reduction = find_reduction(gather_statistics(xor(2)))
    names = [edge.name for edge in reduction.graph.edges]
    for start, match in (
        ({"in9": 0.1}, r"has `in9`\. Did you mean"),
        ({f"in{k}": 0.1 for k in range(1, 5)}, r"`start\.out1` must be given"),
        ({**dict.fromkeys(names, 0.1), "in1": [0.1, 0.2]}, r"`start\.in1` must be a number or"),
        (np.ones(3), r"`start` must be a number or have shape \(8, 1\)"),
    ):
        with pytest.raises(ArgumentError, match=match):
            decoupled_start(start, reduction)
    with pytest.raises(ArgumentError, match="`times` must ascend"):
        flow(0.1, np.array([1.0, 0.5]), reduction)
