import blackjax.diagnostics
import numpy as np
import pytest

from foretrain.degeneracy.sampled.chains import effective_size, error_between, mean_of, rhat


def autoregressive(chains, length, rho, seed=0):
    random = np.random.default_rng(seed)
    series = np.zeros((chains, length))
    series[:, 0] = random.standard_normal(chains)
    for t in range(1, length):
        series[:, t] = rho * series[:, t - 1] + (1 - rho**2) ** 0.5 * random.standard_normal(chains)
    return series


@pytest.mark.slow
@pytest.mark.parametrize("rho", [-0.4, 0.0, 0.9])
def test_effective_draws_of_an_autoregression(rho):
    draws = autoregressive(4, 20_000, rho)
    assert effective_size(draws) == pytest.approx(draws.size * (1 - rho) / (1 + rho), rel=0.1)
    theirs = float(blackjax.diagnostics.effective_sample_size(draws))
    assert effective_size(draws) == pytest.approx(theirs, rel=0.1)
    mean = mean_of(draws)
    assert abs(mean.value) < 4 * mean.error
    assert mean.rhat == pytest.approx(1, abs=2e-3)


def test_chains_that_disagree_in_place_or_in_spread_are_told():
    draws = np.random.default_rng(0).standard_normal((4, 1000))
    assert rhat(draws) < 1.01
    assert rhat(draws + np.array([0, 0, 0, 2.0])[:, None]) > 1.3
    assert rhat(draws * np.array([1, 1, 1, 6.0])[:, None]) > 1.1
    assert rhat(draws + np.linspace(0, 4, 1000)) > 1.3


def test_a_chain_that_is_not_finite_takes_no_other_down():
    draws = np.random.default_rng(0).standard_normal((3, 100))
    broken = draws.copy()
    broken[1, 40:] = np.nan
    mean, rest = mean_of(broken), mean_of(draws[[0, 2]])
    assert mean == rest
    nothing = mean_of(np.full((2, 50), np.inf))
    assert np.isnan(nothing.value)
    assert nothing.effective == 0
    assert mean_of(np.ones((2, 50))) == (1, 0, 1, 100)


def test_the_error_by_the_means_of_chains_holds_its_share_with_few_chains():
    random, stored = np.random.default_rng(0), []
    for _ in range(2000):
        draws = random.standard_normal((5, 1)) + np.zeros((1, 3))  # chains that do not move
        stored.append(abs(draws.mean()) < 1.96 * error_between(draws))
    assert np.mean(stored) == pytest.approx(0.95, abs=0.015)
    assert np.isnan(error_between(np.array([[1.0, np.inf], [0.0, 1.0], [np.nan, 1.0]])))
