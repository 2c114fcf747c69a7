import itertools
import math

import networkx
import numpy as np
import pytest

from foretrain.tasks import masks as routing
from foretrain.tasks.hierarchy import hierarchical_items
from foretrain.theory import connectivity
from foretrain.training.routing import items_task

SINGULAR, VARIANCE = items_task("authors").singular_values, items_task("authors").variances
EVERY_KIND = np.array([[1, 1, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 0]])


def test_the_prediction_of_every_kind_of_pair():
    # Input 0 and 1 share output 1; input 2 is trained with output 2 alone; input 3 and output 3 with none.
    result = connectivity.predicted_pair_error(EVERY_KIND, 5.0, 2.0)
    assert result.tolist() == [[0, 0, 5, 2], [0, 0, 5, 2], [5, 5, 0, 2], [2, 2, 2, 2]]
    # Twelve untrained pairs: one within, four across, seven with an idle domain.
    several = connectivity.predict_masks([EVERY_KIND, np.ones((4, 4), int)], 5.0, 2.0)
    assert several.untrained_error[0] == pytest.approx((4 * 5 + 7 * 2) / 12)
    assert np.isnan(several.untrained_error[1])
    assert several.component_count.tolist() == [4, 1]
    assert (several.pair_error == [result, np.zeros((4, 4))]).all()
    # Without numbers, words are one-hot; an idle domain answers zero: half of what unrelated signs cost.
    result = connectivity.predicted_pair_error(EVERY_KIND)
    assert result.tolist() == [[0, 0, 1, 0.5], [0, 0, 1, 0.5], [1, 1, 0, 0.5], [0.5] * 4]
    assert connectivity.predicted_pair_error(EVERY_KIND, 3.0)[3, 3] == 1.5


def test_the_scale_across_components_is_that_of_flow_from_small_weights():
    # Two inputs with one output, apart from one input with two outputs: every pair between them stands in closed form.
    trained = np.zeros((4, 4), int)
    trained[:2, 0] = trained[2, 1:3] = 1
    rho = connectivity.across_scale(trained)
    assert rho[0, 1] == pytest.approx((1 / 2 * 1 / 2) ** 0.25)
    assert rho[2, 0] == pytest.approx(1 / rho[0, 1])
    assert (rho[trained == 1] == 1).all()
    assert (rho[3] == 1).all()
    assert (rho[:, 3] == 1).all()
    # One mode, three layers of scalars, all from the same small start, until nothing moves.
    encoder, decoder, hidden = np.full(4, 0.01), np.full(4, 0.01), 0.01
    for _ in range(20000):
        error = trained * (1 - np.outer(encoder, decoder) * hidden)
        slopes = error @ decoder * hidden, encoder @ error * hidden, encoder @ error @ decoder
        encoder, decoder = encoder + 0.01 * slopes[0], decoder + 0.01 * slopes[1]
        hidden += 0.01 * slopes[2]
    seen = (np.outer(encoder, decoder) * hidden)[:3, :3]
    # What the start leaves is of the order of its square.
    np.testing.assert_allclose(seen, rho[:3, :3], rtol=1e-3)


def cross_map_error(gain, variance, orthogonal):
    """The derivation's cross pair written out: encoders in bases that differ by an orthogonal map."""
    first = np.cbrt(gain)
    product = np.diag(gain / first) @ orthogonal @ np.diag(first)
    return (((product - np.diag(gain)) * np.sqrt(variance)) ** 2).sum() / 2


def test_error_across_components_is_the_mean_over_random_bases():
    from scipy.stats import ortho_group

    gain = SINGULAR / VARIANCE
    draws = ortho_group.rvs(4, size=4000, random_state=np.random.default_rng(0))
    errors = [cross_map_error(gain, VARIANCE, draw) for draw in draws]
    predicted = connectivity.error_across_components(SINGULAR, VARIANCE, mixing="all")
    # Four standard errors of the mean.
    assert abs(np.mean(errors) - predicted) < 4 * np.std(errors) / math.sqrt(len(errors))
    signs = itertools.product([-1.0, 1.0], repeat=4)
    errors = [cross_map_error(gain, VARIANCE, np.diag(sign)) for sign in signs]
    predicted = connectivity.error_across_components(SINGULAR, VARIANCE)
    assert predicted == pytest.approx(np.mean(errors), rel=1e-12)


def test_error_across_components_is_twice_that_of_predicting_zero():
    power = (hierarchical_items()[1] ** 2).sum(0).mean()
    assert connectivity.error_across_components(SINGULAR, VARIANCE) == pytest.approx(power)
    # A part of the output that no mode carries stays as it is: half of its power.
    more = connectivity.error_across_components(SINGULAR, VARIANCE, output_power=power + 3)
    assert more == pytest.approx(power + 1.5)


def enumerated(domains, pairs, diagonal):
    """Fraction of connected masks, by going through all of them."""
    places = [
        p for p in itertools.product(range(domains), repeat=2) if not diagonal or p[0] != p[1]
    ]
    connected = total = 0
    for chosen in itertools.combinations(places, pairs - domains if diagonal else pairs):
        trained = np.eye(domains) if diagonal else np.zeros((domains, domains))
        for place in chosen:
            trained[place] = 1
        total += 1
        connected += routing.is_connected(trained)
    return connected / total


@pytest.mark.parametrize("diagonal", [False, True])
@pytest.mark.parametrize("domains", [1, 2, 3])
def test_exact_probabilities_are_those_of_all_masks(domains, diagonal):
    for pairs in range(domains if diagonal else 1, domains**2 + 1):
        probability = connectivity.connection_probability(domains, pairs, diagonal=diagonal)
        assert probability == enumerated(domains, pairs, diagonal)


@pytest.mark.parametrize(("diagonal", "pairs"), [(False, 29), (True, 23)])
def test_the_threshold_of_ten_domains_is_that_of_the_page(diagonal, pairs):
    at, below = (
        connectivity.connection_probability(10, n, diagonal=diagonal) for n in (pairs, pairs - 1)
    )
    assert at >= 0.5 > below


def test_the_threshold_of_large_masks_follows_its_logarithm():
    domains = 1000
    for diagonal, pairs in (
        (False, domains * math.log(2 * domains / math.log(2))),
        (True, domains + domains / 2 * math.log(domains / math.log(2))),
    ):
        # Corrections are of relative order log(M)/M in the number of pairs.
        chance = connectivity.isolation_estimate(domains, round(pairs), diagonal=diagonal)
        assert chance == pytest.approx(0.5, abs=0.03)


def test_pairs_are_joined_when_the_last_pair_of_their_quickest_path_is_learned():
    """Against every path of small random masks, one by one."""
    random = np.random.default_rng(2)
    for _ in range(6):
        times = np.where(random.random((3, 4)) < 0.6, random.random((3, 4)), np.nan)
        result = connectivity.joining_times(times)
        graph = networkx.Graph()
        graph.add_nodes_from(range(7))
        graph.add_edges_from((i, 3 + j) for i, j in np.argwhere(np.isfinite(times)))
        for source, output in itertools.product(range(3), range(4)):
            paths = networkx.all_simple_edge_paths(graph, source, 3 + output)
            last = (max(times[min(pair), max(pair) - 3] for pair in path) for path in paths)
            assert result[source, output] == min(last, default=np.inf)
