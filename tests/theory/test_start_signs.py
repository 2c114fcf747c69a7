import numpy as np

from foretrain.graph import graph_from_dict
from foretrain.tasks.gated_data import GatedData
from foretrain.tasks.statistics import gather_statistics
from foretrain.theory.gated.reduction import find_reduction
from foretrain.theory.gated.start_signs import start_signs

# One hidden node with two ways in and two ways out; gates say which is used.
CROSSING = graph_from_dict(
    {
        "nodes": {"x": 2, "h": 4, "y": 2},
        "edges": {"in1": ["x", "h"], "in2": ["x", "h"], "out1": ["h", "y"], "out2": ["h", "y"]},
    }
)


def crossing(signs):
    """In context (i, j) edges in<i> and out<j> are open, and y = signs[i, j] * diag(1, 1/2) x."""
    x = np.tile(np.eye(2), (4, 1))
    i, j = np.repeat([0, 0, 1, 1], 2), np.repeat([0, 1, 0, 1], 2)
    y = np.asarray(signs)[i, j][:, None] * x * [1.0, 0.5]
    gates = {"in1": i == 0, "in2": i == 1, "out1": j == 0, "out2": j == 1}
    return find_reduction(gather_statistics(GatedData(CROSSING, {"x": x}, {"y": y}, gates)))


def path_signs(reduction):
    signs = start_signs(reduction)
    return np.array(
        [np.prod(signs[[e for e in row if e < 4]], axis=0) for row in reduction.path_edges]
    )


def test_signs_along_every_path_multiply_to_that_of_its_singular_value():
    # The product of all four signs is +1: no contradiction, though some are negative.
    reduction = crossing([[1.0, -1.0], [-1.0, 1.0]])
    wished = np.sign(reduction.singular_values[reduction.bundle_of_path])
    assert (wished < 0).any()
    np.testing.assert_array_equal(path_signs(reduction), wished)


def test_where_wishes_contradict_each_other_the_weakest_stays_unmet():
    # Signs multiply to -1 around the four paths: three can be met at most. The last is half as strong.
    reduction = crossing([[1.0, 1.0], [1.0, -0.5]])
    strengths = reduction.singular_values[reduction.bundle_of_path]
    unmet = path_signs(reduction) != np.sign(strengths)
    np.testing.assert_array_equal(unmet.sum(axis=0), [1, 1])
    np.testing.assert_array_equal(np.abs(strengths)[unmet], np.abs(strengths).min(axis=0))
