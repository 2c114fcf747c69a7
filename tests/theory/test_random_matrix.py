import numpy as np
import pytest
from scipy.integrate import quad

from foretrain.tasks.masks import circulant
from foretrain.theory.factorization import random_matrix


@pytest.mark.parametrize("size", [1, 2, 5, 10, 13])
def test_circulant_singular_values_are_those_of_the_mask(size):
    for width in range(1, size + 1):
        measured = np.linalg.svd(circulant(size, width).astype(float), compute_uv=False)
        predicted = random_matrix.circulant_singular_values(size, width)
        np.testing.assert_allclose(predicted, measured, atol=1e-14 * size)


def test_bulk_integrates_to_one_and_to_the_variance_of_the_entries():
    size, density = 50, 0.3
    edge = random_matrix.bernoulli_edge(size, density)

    def moment(power):
        integrand = lambda x: x**power * random_matrix.bulk_density(x, size, density)  # noqa: E731
        return quad(integrand, 0, edge, epsabs=1e-12)[0]

    assert moment(0) == pytest.approx(1, abs=1e-8)
    # The mean square singular value of n x n noise is n p (1 - p).
    assert moment(2) == pytest.approx(size * density * (1 - density), rel=1e-8)
    assert random_matrix.bulk_density(edge * 1.01, size, density) == 0
    assert random_matrix.bulk_density(-0.1, size, density) == 0


@pytest.mark.parametrize("density", [0.15, 0.3, 0.6])
def test_random_masks_have_the_predicted_outlier_edge_and_bulk(density):
    size, draws = 100, 400
    masks = np.random.default_rng(0).random((draws, size, size)) < density
    values = np.linalg.svd(masks.astype(float), compute_uv=False)
    # The outlier of one draw scatters by sqrt(p(1 - p)): four standard errors, and O(1/n) of bias.
    error = 4 * np.sqrt(density * (1 - density) / draws) + 2 / size
    assert abs(values[:, 0].mean() - random_matrix.bernoulli_outlier(size, density)) < error
    edge = random_matrix.bernoulli_edge(size, density)
    assert random_matrix.bernoulli_second_value(size, density) < edge
    # Counts scatter by .7: four standard errors, and the second order in 1/n. Without kurtosis they would be off by .2 to .3.
    for fraction in (0.38, 0.7, 0.92):
        below = (values[:, 1:] < fraction * edge).sum(1).mean()
        assert abs(below - random_matrix.bulk_count(fraction * edge, size, density)) < 0.18


@pytest.mark.parametrize("density", [0.3, 0.5, 0.7])
def test_the_second_value_of_many_masks_is_the_predicted_one(density):
    size, draws = 80, 600
    masks = np.random.default_rng(1).random((draws, size, size)) < density
    second = np.linalg.svd(masks.astype(float), compute_uv=False)[:, 1]
    scatter = random_matrix.bernoulli_second_scatter(size, density)
    # Three standard errors, .12 of the scatter, and a tenth for what is left out; another mean of the Tracy-Widom law, one
    # dimension more or no kurtosis would each shift it by .25 to .7.
    gap = (second.mean() - random_matrix.bernoulli_second_value(size, density)) / scatter
    assert abs(gap) < 0.22
    assert second.std() == pytest.approx(scatter, rel=0.2)
