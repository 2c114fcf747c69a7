import numpy as np
import pytest

from foretrain.quantities.gates import angle_clusters, gate_agreement, lead_of_fastest


def directions(*degrees):
    angles = np.radians(degrees)
    return np.stack([np.cos(angles), np.sin(angles)], axis=1)


def test_groups_are_parted_by_wide_gaps_and_close_around_the_circle():
    labels, centres = angle_clusters(directions(170, -170, 40, 50, -95, -85))
    np.testing.assert_allclose(np.abs(centres), [90, 45, 180], atol=1e-9)
    np.testing.assert_array_equal(labels, [2, 2, 1, 1, 0, 0])
    # Lengths do not matter, and one direction is one group.
    labels, centres = angle_clusters(directions(10, 12, 14) * [[0.01], [1], [100]])
    np.testing.assert_array_equal(labels, 0)
    np.testing.assert_allclose(centres, [12], atol=1e-9)


@pytest.mark.parametrize("turn", [0, 30, 77, 135, 260])
def test_groups_turn_with_the_vectors(turn):
    base = np.array([0, 5, 90, 95, 180, 185, 270, 275])
    labels, centres = angle_clusters(directions(*(base + turn)))
    assert len(centres) == 4
    np.testing.assert_array_equal(labels[::2], labels[1::2])
    result = np.sort((centres - 2.5 - turn + 1) % 360 - 1)
    np.testing.assert_allclose(result, [0, 90, 180, 270], atol=1e-9)


def test_agreement_is_one_for_a_gating_s_own_gates_and_counts_examples_otherwise():
    pathways = np.array([[1, 1, 0, 0], [0, 0, 1, 1]])
    assert gate_agreement(pathways[[0, 1, 1]], np.ones(3), pathways) == 1
    # A unit that is open on one example agrees with three quarters of either pathway's gate, or of none.
    own = np.array([[1, 1, 0, 0], [1, 0, 0, 0], [1, 1, 1, 1]])
    assert gate_agreement(own[[1]], np.ones(1), pathways) == 0.75
    assert gate_agreement(own[:2], np.array([3.0, 1.0]), pathways) == 0.9375
    assert gate_agreement(own[[2]], np.ones(1), pathways) == 0.5


def test_the_lead_of_the_fastest_counts_its_mirror_images_as_one():
    times = np.array([[1.0, 1.0 + 1e-9, 2.0, np.inf]] * 3)
    agreement = np.array([[0.7, 0.9, 0.6, 1.0], [0.5, 0.6, 0.8, 1.0], [np.nan, 0.9, 0.6, 1.0]])
    solves = np.isfinite(times)
    np.testing.assert_allclose(lead_of_fastest(times, agreement, solves), [0.3, -0.2, np.nan])
