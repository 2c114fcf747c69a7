import numpy as np
import pytest

from foretrain.tasks.domains import hierarchy_task
from foretrain.tasks.hierarchy import LEVEL_WEIGHTS, hierarchical_items


def modes_of_a_tree(weights):
    """Singular values of <y x^T> in closed form, which do not increase with the mode, and input variances.

    With n_l items below a node of level l and tail_l = sum_{m >= l} n_m weight_m^2 it is sqrt(tail_l) / items, once for
    level 0 and 2^(l-1) times for every deeper level l.
    """
    nodes = 2 ** np.arange(len(weights))
    tails = np.cumsum((nodes[-1] / nodes * np.square(weights))[::-1])[::-1]
    counts = np.diff(nodes, prepend=0)
    return np.repeat(np.sqrt(tails), counts) / nodes[-1], np.full(nodes[-1], 1 / nodes[-1])


def test_items_of_two_levels_are_those_of_the_paper():
    inputs, outputs = hierarchical_items(LEVEL_WEIGHTS["unit"])
    assert (inputs == np.eye(4)).all()
    assert outputs.astype(int).tolist() == [
        [1, 1, 1, 1],
        [1, 1, 0, 0],
        [0, 0, 1, 1],
        [1, 0, 0, 0],
        [0, 1, 0, 0],
        [0, 0, 1, 0],
        [0, 0, 0, 1],
    ]


def test_singular_values_of_the_figures_are_the_authors():
    singular = hierarchy_task(LEVEL_WEIGHTS["authors"]).singular_values
    np.testing.assert_allclose(singular * 4, [13.6015, 6.4031, 3, 3], atol=5e-5)


@pytest.mark.parametrize("weights", [(2.0,), (1.0, 5.0), (0.5, 2.0, 3.0), (1.0, 1.0, 0.0, 2.0)])
def test_modes_in_closed_form_are_the_singular_values_of_the_statistics(weights):
    inputs, outputs = hierarchical_items(weights)
    singular, variances = modes_of_a_tree(weights)
    measured = np.linalg.svd(outputs @ inputs.T / len(inputs), compute_uv=False)
    np.testing.assert_allclose(singular, measured, atol=1e-14 * measured[0] * len(measured))
    np.testing.assert_allclose(inputs @ inputs.T / len(inputs), np.diag(variances), atol=1e-16)
    # Inputs span the items, so the modes carry all of the output's power.
    np.testing.assert_allclose((outputs**2).sum(0).mean(), (singular**2 / variances).sum())
    assert len(inputs) == 2 ** (len(weights) - 1)
