import numpy as np
import pytest

from foretrain.errors import ArgumentError
from foretrain.tasks.gatings import gates_by_features, least_loss, partitions, pathways_data
from foretrain.tasks.logic import contextual, xor


@pytest.mark.parametrize(("size", "bell"), [(0, 1), (1, 1), (2, 2), (3, 5), (4, 15), (5, 52)])
def test_partitions_are_all_and_each_once(size, bell):
    result = [frozenset(map(frozenset, groups)) for groups in partitions(range(size))]
    assert len(result) == len(set(result)) == bell
    assert all(
        sorted(i for group in groups for i in group) == list(range(size)) for groups in result
    )


def test_features_divide_the_examples():
    first, second = np.array([0, 0, 1, 1, 1]), np.array([0, 1, 1, 1, 0])
    gates = gates_by_features({"a": first, "b": second})
    assert gates.shape == (4, 5)
    np.testing.assert_array_equal(gates.sum(0), 1)
    np.testing.assert_array_equal(gates[:, 2], gates[:, 3])


def test_the_known_tasks_come_out_of_their_gates():
    data = xor(3)
    built_result = pathways_data(data.inputs["x"], data.targets["y"], np.eye(4), hidden_width=3)
    assert built_result.graph == data.graph
    for name in data.gates:
        np.testing.assert_array_equal(built_result.gates[name], data.gates[name])


def test_least_loss_is_what_the_paper_s_solutions_leave():
    data = contextual(2)
    x, y = data.inputs["x"], data.targets["y"]
    assert least_loss(x, y, np.stack(list(data.gates.values()))) == pytest.approx(0, abs=1e-30)
    assert least_loss(x, y, np.ones((1, 8))) == pytest.approx(1 / 12)
    # Exclusive-or has no linear part at all.
    points, all_on = xor(1), np.ones((1, 4))
    assert least_loss(points.inputs["x"], points.targets["y"], all_on) == pytest.approx(0.5)


def test_gates_that_do_not_fit_are_refused():
    with pytest.raises(ArgumentError, match=r"`gates` must have shape \(pathway, 4\)"):
        pathways_data(np.ones((4, 2)), np.ones((4, 1)), np.ones((2, 3)))
