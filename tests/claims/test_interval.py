"""Intervals cover what they say they cover, at the numbers of seeds in use."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from foretrain.claims.interval import interval
from foretrain.errors import ArgumentError

SEEDS = (3, 5, 10, 20)
TRIALS = 2000


def coverage(law, n, truth, statistic="mean"):
    """Share of the trials whose interval holds the truth."""
    normal = np.random.default_rng([n, *law.encode()]).standard_normal((TRIALS, n))
    trials = {"normal": normal, "lognormal": np.exp(normal), "cubed": normal**3}[law]
    ends = [interval(row, statistic) for row in trials]
    return np.mean([item.low <= truth <= item.high for item in ends])


@pytest.mark.parametrize("n", SEEDS)
def test_means_are_covered_at_95_percent_of_normal_and_at_85_percent_of_lognormal_data(n):
    assert 0.93 <= coverage("normal", n, 0) <= 0.97
    assert n == 3 or coverage("lognormal", n, math.exp(0.5)) >= 0.85


@pytest.mark.parametrize("p", [0.02, 0.1, 0.3, 0.5, 0.9])
@pytest.mark.parametrize("n", SEEDS)
def test_fractions_are_covered_at_95_percent_exactly(n, p):
    result = [interval(np.arange(n) < k, "fraction") for k in range(n + 1)]
    inside = [k for k, item in enumerate(result) if item.low <= p <= item.high]
    assert stats.binom.pmf(inside, n, p).sum() >= 0.95


@pytest.mark.parametrize(("k", "n"), [(0, 3), (1, 10), (7, 20), (20, 20)])
def test_fractions_agree_with_scipy(k, n):
    result = interval(np.arange(n) < k)
    expected = stats.binomtest(k, n).proportion_ci(method="exact")
    assert (result.low, result.high) == pytest.approx((expected.low, expected.high), abs=1e-9)
    assert (result.measured, result.method) == (k / n, "Clopper-Pearson")
    assert interval((np.arange(n) < k).astype(float), "fraction") == result


@pytest.mark.parametrize("n", [2, 3, 4, 5, 6, 10, 20])
@pytest.mark.parametrize(("law", "truth"), [("normal", 0), ("lognormal", 1), ("cubed", 0)])
def test_medians_are_covered_at_95_percent(law, truth, n):
    covered = coverage(law, n, truth, "median")
    assert covered >= 0.93
    if law == "normal":
        assert covered <= 0.985  # what ranks are coarse by at 10 seeds


@pytest.mark.parametrize("n", range(6, 60))
def test_the_median_lies_between_the_innermost_ranks_that_cover_95_percent(n):
    result = interval(np.random.default_rng(n).permutation(n), "median")
    below = result.low  # of the values 0 .. n - 1: how many lie below the interval
    assert result.high == n - 1 - below
    assert (
        1 - 2 * stats.binom.cdf(below, n, 0.5) >= 0.95 > 1 - 2 * stats.binom.cdf(below + 1, n, 0.5)
    )


def test_the_median_of_five_seeds_lies_within_their_range_though_one_is_far_out():
    result = interval(np.array([0, 1, 1, 1, 1]), "median")
    assert (result.measured, result.low) == (1, 0)
    assert result.high == pytest.approx(0.8 + stats.t.ppf(0.975, 4) * 0.2)
    assert interval(np.array([0, 0, 0, 0, 1]), "median").high == 1


def test_an_end_on_the_skewed_side_inverts_the_transformation_of_hall():
    samples = np.exp(np.random.default_rng(0).standard_normal(10))
    n, mean, error = samples.size, samples.mean(), stats.sem(samples)
    t, z, g = stats.t.ppf(0.975, n - 1), stats.norm.ppf(0.975), stats.skew(samples)
    result = interval(samples)
    at = (mean - result.high) / error * z / t
    hall = at + g * (1 + 2 * at**2) / (6 * math.sqrt(n)) + g**2 * at**3 / (27 * n)
    assert hall == pytest.approx(-z)
    assert result.high - mean > 1.2 * t * error
    assert mean - result.low == pytest.approx(t * error)


@pytest.mark.parametrize("n", [5, 10, 20])
def test_an_end_moves_out_steadily_with_the_skewness(n):
    def reach(
        far,
    ):  # of samples of which one is far out, up to the largest skewness that so many can have
        samples = np.append(np.linspace(-1, 1, n - 1), far)
        return (interval(samples).high - samples.mean()) / stats.sem(samples), stats.skew(samples)

    reached, skewness = np.array([reach(far) for far in np.geomspace(2, 1e4, 400)]).T
    slope = np.diff(reached) / np.diff(skewness)
    assert (slope >= -1e-6).all()
    assert slope.max() < 7 * stats.t.ppf(0.975, n - 1) / math.sqrt(n)
    assert reached[-1] > 3 * stats.t.ppf(0.975, n - 1)


@pytest.mark.parametrize("statistic", ["mean", "median", "fraction"])
def test_fewer_than_two_seeds_have_no_interval(statistic):
    result = interval(np.array([1.0]), statistic)
    assert result.measured == 1
    assert np.isnan([result.low, result.high]).all()
    assert result.method == "none"
    assert np.isnan(interval(np.array([]), statistic).measured)


@pytest.mark.parametrize("statistic", ["mean", "median"])
@pytest.mark.parametrize("n", [2, 5, 7, 20])
@pytest.mark.parametrize("value", [0.1, -1e308, 5e-324, 0.0])
def test_equal_samples_have_a_degenerate_interval(value, n, statistic):
    result = interval(np.full(n, value), statistic)
    assert (result.measured, result.low, result.high) == (value, value, value)


SAMPLES = st.lists(st.integers(-1000, 1000), min_size=2, max_size=12).map(np.array)
STATISTICS = st.sampled_from(("mean", "median"))


@given(
    SAMPLES, STATISTICS, st.integers(-1000, 1000), st.floats(1e-3, 1e3), st.sampled_from((1, -1))
)
def test_shift_scale_and_reflection_carry_over(samples, statistic, shift, scale, sign):
    before = interval(samples, statistic)
    after = interval(shift + sign * scale * samples, statistic)
    expected = [shift + sign * scale * end for end in (before.low, before.measured, before.high)]
    result = [after.low, after.measured, after.high]
    np.testing.assert_allclose(result, expected[::sign], rtol=1e-9, atol=1e-9 * (1 + 1000 * scale))
    assert after.method == before.method


FLOATS = st.floats(allow_nan=False, allow_infinity=False)


@given(st.lists(FLOATS, min_size=2, max_size=12).map(np.array), STATISTICS)
def test_the_interval_contains_the_statistic_at_any_size_of_samples(samples, statistic):
    result = interval(samples, statistic)
    assert result.low <= result.measured <= result.high
    assert samples.min() <= result.measured <= samples.max()
    if np.abs(samples).max() < 1e306:
        assert np.isfinite([result.low, result.high]).all()
    if statistic == "median" and samples.size < 6:
        assert result.low <= samples.min()
        assert samples.max() <= result.high


@pytest.mark.parametrize(
    ("samples", "statistic", "line"),
    [
        ([1, math.nan], "mean", "Argument `samples` must hold finite numbers"),
        ([[1.0, 2.0]], "mean", "Argument `samples` must have 1 axes, but has shape (1, 2)."),
        ([0, 0.5], "fraction", "Argument `samples` must be 0 or 1 for a fraction"),
        ([True, False], "median", "Argument `statistic` must be `fraction` for booleans"),
        ([1, 2], "mode", "Argument `statistic` must be one of `mean`, `median`, `fraction`"),
    ],
)
def test_what_cannot_be_used_is_refused_in_one_line(samples, statistic, line):
    with pytest.raises(ArgumentError) as caught:
        interval(np.array(samples), statistic)
    assert str(caught.value).startswith(line)
