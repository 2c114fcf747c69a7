import numpy as np
import pytest
from scipy.stats import somersd, spearmanr

from foretrain.quantities.rank_correlation import concordance, jackknifed, rank_correlation, ranks

RANDOM = np.random.default_rng(0)


def test_ties_share_their_mean_rank_and_never_is_last():
    assert ranks([3, 1, 3, np.inf]).tolist() == [2, 0.5, 2, 3.5]


def test_it_is_spearmans_row_by_row_ties_included():
    x, y = RANDOM.integers(0, 6, (2, 4, 12)).astype(float)
    result = rank_correlation(x, y)
    assert result == pytest.approx([spearmanr(*pair).statistic for pair in zip(x, y, strict=True)])
    assert rank_correlation(x[0], np.exp(x[0])) == pytest.approx(1)
    assert rank_correlation(x[0], -x[0]) == pytest.approx(-1)


def test_nothing_is_said_where_one_is_constant_or_unknown():
    assert np.isnan(rank_correlation([1, 1, 1], [1, 2, 3]))
    assert np.isnan(rank_correlation([1, np.nan, 2], [1, 2, 3]))
    assert rank_correlation([1, np.inf, 2], [1, 3, 2]) == pytest.approx(1)


@pytest.mark.slow
def test_jackknifed_values_of_a_mean_are_the_samples_and_of_a_correlation_spread_as_it_does():
    samples = RANDOM.normal(size=7)
    np.testing.assert_allclose(jackknifed(np.mean, samples), samples)
    x = RANDOM.normal(size=(400, 30))
    y = 0.5 * x + RANDOM.normal(size=x.shape)
    values = np.array(
        [jackknifed(rank_correlation, *pair) for pair in zip(x[:100], y[:100], strict=True)]
    )
    claimed = np.sqrt((values.var(1, ddof=1) / 30).mean())
    assert claimed == pytest.approx(rank_correlation(x, y).std(), rel=0.2)


def test_concordance_is_somers_d_of_all_groups_together():
    x, y = RANDOM.integers(0, 5, (2, 20)).astype(float)
    assert concordance(x, y) == pytest.approx(somersd(y, x).statistic)
    # Two groups: all three pairs of the first in order, the one pair of the second that differs not.
    assert concordance([[1, 2, 3], [2, 1, 1]], [[1, 2, np.inf], [1, 2, 2]]) == pytest.approx(1 / 5)
    assert np.isnan(concordance([1, 2], [np.inf, np.inf]))
