import numpy as np
import pytest
from planted import draw

from foretrain.degeneracy.interactions.interaction_graph import interaction_graph
from foretrain.studies.interaction_basis.study import BASES
from foretrain.training.ablation import ablation_curve, all_bases


@pytest.mark.parametrize("centre", [False, True])
def test_in_a_linear_network_what_is_left_out_is_its_importance(centre):
    network, x = draw(0, (5, 6, 4), "identity")
    bases = all_bases(network, x, names=BASES, centre=centre)
    counts = range(6)
    importance = bases["global"].layers[-1].importance
    left = np.array([importance[k:].sum() for k in counts])
    for name in ("global", "local"):
        curve = ablation_curve(network, x, bases[name], counts)
        np.testing.assert_allclose(curve, left, atol=1e-10)
        graph = interaction_graph(network, x, bases[name])
        np.testing.assert_allclose(
            ablation_curve(network, x, bases[name], counts, graph=graph), left, atol=1e-10
        )
    # No basis does better with one layer's directions, and the others do worse.
    for name in ("pca", "neurons"):
        assert (ablation_curve(network, x, bases[name], counts) >= left - 1e-9).all()
        assert ablation_curve(network, x, bases[name], counts).sum() > left.sum() + 0.01


def test_everything_kept_is_the_network_itself_and_nothing_is_its_mean():
    network, x = draw(1, (5, 6, 6, 3), "tanh")
    for centre in (False, True):
        for name, basis in all_bases(network, x, names=BASES, centre=centre).items():
            graph = interaction_graph(network, x, basis)
            assert ablation_curve(network, x, basis, [99])[0] < 1e-16, name
            assert ablation_curve(network, x, basis, [99], graph=graph)[0] < 1e-16, name
            # All edges but one, the weakest, is nearly the network.
            counts = [1, min(s.size for s in graph.strengths) - 1]
            few, most = ablation_curve(network, x, basis, counts, graph=graph)
            assert few > most > 0


def test_edges_and_directions_agree_where_a_direction_loses_all_of_its_edges():
    network, x = draw(2, (5, 6), "tanh")
    basis = all_bases(network, x, names=("pca",))["pca"]
    graph = interaction_graph(network, x, basis)
    # Edges of the two last directions made the weakest.
    ordered = type(graph)((graph.strengths[0] + 1e3 * (np.arange(basis.layers[0].size) < 4),))
    result = ablation_curve(network, x, basis, [4 * basis.layers[1].size], graph=ordered)
    np.testing.assert_allclose(result, ablation_curve(network, x, basis, [4]), rtol=1e-9)
