import numpy as np

from foretrain.measures.learning_time import crossing_time, half_learning_times
from foretrain.measures.representation import cross_domain_similarity


def test_crossing_is_interpolated_between_observations():
    time = np.array([0.0, 1.0, 3.0])
    assert crossing_time(time, [0.0, 1.0, 5.0], 3.0) == 2.0
    assert crossing_time(time, [4.0, 5.0, 6.0], 3.0) == 0.0


def test_what_is_never_reached_has_no_time():
    assert np.isnan(crossing_time(np.arange(3.0), [0.0, 0.1, 0.2], 1.0))


def test_half_learning_times_are_taken_mode_by_mode_and_seed_by_seed():
    time = np.arange(5.0)
    strength = np.stack([np.stack([time, 2 * time], -1), np.stack([time / 2, time], -1)])
    np.testing.assert_allclose(
        half_learning_times(time, strength, np.array([4.0, 4.0])), [[2, 1], [4, 2]]
    )


def test_equal_representations_in_all_domains_are_fully_similar():
    random = np.random.default_rng(0)
    items = np.linalg.qr(random.normal(size=(6, 3)))[0].T
    hidden = np.tile(items, (4, 1))
    within, between = cross_domain_similarity(hidden @ hidden.T, items=3)
    np.testing.assert_allclose([within, between], [1, 0], atol=1e-12)
    # A domain of its own has nothing in common with the others.
    hidden[:3] = np.linalg.qr(random.normal(size=(6, 6)))[0][:3]
    within, _ = cross_domain_similarity(hidden @ hidden.T, items=3)
    assert within < 0.9
