import numpy as np

from foretrain.quantities.representation import cross_domain_similarity, domain_cosine


def test_domain_cosine_is_one_for_equal_and_zero_for_orthogonal_domains():
    items = np.eye(8)
    activity = np.concatenate([items[:4], 3 * items[:4], items[4:]])
    similarity = activity @ activity.T
    cosine = domain_cosine(np.stack([similarity, 2 * similarity]), 4)
    np.testing.assert_allclose(cosine, [[[1, 1, 0], [1, 1, 0], [0, 0, 1]]] * 2, atol=1e-12)
    np.testing.assert_allclose(cross_domain_similarity(similarity[:8, :8], 4), [1, 0], atol=1e-12)


def test_both_measures_of_similarity_agree():
    hidden = np.random.default_rng(1).normal(size=(5, 12, 7))
    similarity = hidden @ np.swapaxes(hidden, 1, 2)
    within, _ = cross_domain_similarity(similarity, 3)
    cosine = domain_cosine(similarity, 3)
    np.testing.assert_allclose(cosine[:, ~np.eye(4, dtype=bool)].mean(1), within, rtol=1e-12)
