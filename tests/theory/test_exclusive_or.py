import numpy as np
import pytest

from foretrain.tasks.logic import xor
from foretrain.tasks.statistics import gather_statistics
from foretrain.theory.gated.reduced_dynamics import (
    decoupled_start,
    decoupled_weights,
    grown_start,
    hidden_frames,
)
from foretrain.theory.gated.reduction import find_reduction
from foretrain.theory.pathways.exclusive_or import (
    LEARNED,
    SINGULAR_VALUE,
    VARIANCE,
    closed_form,
    descent,
    gated_strengths,
    loss_of,
    rectified_strengths,
)

X, Y = xor(1).inputs["x"], xor(1).targets["y"][:, 0]
RANDOM = np.random.default_rng(0)


def gated(units=3):
    return {
        f"{side}{k}": RANDOM.standard_normal((units, 2) if side == "in" else (1, units))
        for k in (1, 2, 3, 4)
        for side in ("in", "out")
    }


def test_loss_of_the_four_pathways_is_that_of_what_they_answer():
    assert loss_of(np.full(4, LEARNED)) == pytest.approx(0, abs=1e-15)
    strengths = np.array([[0.1, 0.5, 0.2, 0.9], [0.0, 1.0, 0.7, 0.3]])
    # To an example of length root two, in the direction of its target.
    answers = np.sqrt(2) * strengths
    np.testing.assert_allclose(loss_of(strengths), ((1 - answers) ** 2).mean(-1) / 2, rtol=1e-14)


def test_closed_form_begins_at_its_start_ends_at_zero_and_follows_its_equation():
    start, time = np.array([1e-3, 0.2]), np.linspace(0, 20, 2001)
    losses = closed_form(start, np.append(time, 1e3))
    np.testing.assert_allclose(losses[0], loss_of(np.repeat(start[:, None], 4, 1)), rtol=1e-14)
    np.testing.assert_allclose(losses[-1], 0, atol=1e-15)
    # da/dt = 2 a (s - d a), by central differences of a read off the loss 4 (1/8 - s a + d a^2 / 2).
    a = (SINGULAR_VALUE - np.sqrt(np.maximum(losses[:-1], 0) * VARIANCE / 2)) / VARIANCE
    speed = (a[2:] - a[:-2]) / (time[2] - time[0])
    np.testing.assert_allclose(
        speed, 2 * a[1:-1] * (SINGULAR_VALUE - VARIANCE * a[1:-1]), atol=2e-6
    )


def test_descent_rests_at_both_ends_and_a_stride_leaves_out_the_rest():
    for end in (0.0, LEARNED):
        np.testing.assert_allclose(descent(np.array([end]), 0.1, 5), end, rtol=1e-14)
    start = np.array([[0.01, 0.3], [0.2, 0.6]])
    path = descent(start, 0.1, 30)
    assert path.shape == (31, 2, 2)
    np.testing.assert_array_equal(descent(start, 0.1, 30, every=10), path[::10])
    np.testing.assert_allclose(descent(start, 0.1, 400)[-1], LEARNED, rtol=1e-6)


def test_a_pathway_that_only_decays_starts_at_nothing():
    weights = gated()
    weights["out1"] = -(weights["in1"] @ (Y[0] * X[0] / np.sqrt(2)))[None]
    assert gated_strengths(weights)[0] == pytest.approx(0, abs=1e-30)
    weights["out1"] *= -1  # balanced: all of it grows
    assert gated_strengths(weights)[0] == pytest.approx((weights["out1"] ** 2).sum())


def test_a_unit_along_its_example_belongs_to_it_alone():
    unit = {"in1": 0.3 * X[2:3] / np.sqrt(2), "out1": np.array([[0.3 * Y[2]]])}
    np.testing.assert_allclose(rectified_strengths(unit), [0, 0, 0.09, 0], atol=1e-15)
    both = {"in1": RANDOM.standard_normal((7, 2)), "out1": RANDOM.standard_normal((1, 7))}
    whole = rectified_strengths(both).sum()
    parts = [{"in1": both["in1"][k], "out1": both["out1"][:, k]} for k in (slice(3), slice(3, 7))]
    assert sum(rectified_strengths(part).sum() for part in parts) == pytest.approx(whole)


def test_the_reduction_grows_from_the_same_starts():
    reduction = find_reduction(gather_statistics(xor(3)))
    weights, edges = gated(), [edge.name for edge in reduction.graph.edges]
    result = dict(zip(edges, grown_start(weights, reduction), strict=True))
    for k, strength in enumerate(gated_strengths(weights), 1):
        np.testing.assert_array_equal(result[f"in{k}"], result[f"out{k}"])
        assert (result[f"in{k}"] * result[f"out{k}"]).sum() == pytest.approx(strength)
    # Decoupled weights are where they grow from.
    state = decoupled_start(0.3, reduction)
    frames = hidden_frames(reduction, RANDOM)
    again = grown_start(decoupled_weights(state, frames, reduction), reduction)
    np.testing.assert_allclose(again, state, atol=1e-15)
