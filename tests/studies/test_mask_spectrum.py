import numpy as np
import pytest

from foretrain.quantities.agreement import distance
from foretrain.streams import Seed
from foretrain.studies.mask_spectrum import study
from foretrain.theory.factorization.random_matrix import bernoulli_edge


def test_masks_are_of_zeros_and_ones_at_the_density_asked_for():
    trained = study.mask(study.Parameters(mask_size=400, density=0.3), Seed(0, 1))
    assert set(np.unique(trained)) == {0.0, 1.0}
    # Four standard errors of 160000 independent entries.
    assert trained.mean() == pytest.approx(0.3, abs=4 * np.sqrt(0.21 / 160000))
    denser = study.mask(study.Parameters(mask_size=400, density=0.4), Seed(0, 1))
    assert (trained <= denser).all()


def test_the_measured_spectrum_is_that_of_the_mask():
    parameters = study.Parameters(mask_size=30)
    spectrum = study.measure(parameters, Seed(0, 2))["mask_singular_values"]
    assert (spectrum**2).sum() == pytest.approx(study.mask(parameters, Seed(0, 2)).sum(), rel=1e-12)
    assert (np.diff(spectrum) <= 0).all()


def test_the_distance_is_small_for_quantiles_of_the_law_and_large_for_another():
    from scipy.optimize import brentq

    from foretrain.theory.factorization.random_matrix import bulk_distribution

    edge = bernoulli_edge(100, 0.3)
    levels = (np.arange(50) + 0.5) / 50
    quantiles = [brentq(lambda x, q=q: bulk_distribution(x, 100, 0.3) - q, 0, edge) for q in levels]
    # Midpoint quantiles are half a step from the law, whichever way; the others miss by a half at least.
    law = lambda values: bulk_distribution(values, 100, 0.3)  # noqa: E731
    assert distance(np.array([quantiles]), law)[0] == pytest.approx(0.01, abs=1e-9)
    assert distance(np.array([quantiles]) / 10, law)[0] > 0.5
