"""Means that rare runs carry: intervals within a range cover them, and other means say nothing where no run differs."""

import numpy as np
import pytest
from scipy.special import betaincinv

from foretrain.claims.bounded import exceeding, mean_limits
from foretrain.claims.interval import interval, tail_of_look
from foretrain.claims.rare import Apart, runs_apart
from foretrain.errors import ArgumentError

SETS = 200
LARGER = [3, 5, pytest.param(10, marks=pytest.mark.slow), pytest.param(20, marks=pytest.mark.slow)]


@pytest.mark.parametrize("n", LARGER)
def test_a_mean_to_which_one_run_in_twenty_adds_ten_is_covered_within_its_range_alone(n):
    for within, enough in (((0, 11), True), (None, False)):
        # One run in twenty lies ten above the others, which vary by one; the mean is 1.
        rng = np.random.default_rng(n)
        sets = [rng.random(n) + 10 * (rng.random(n) < 0.05) for _ in range(SETS)]
        result = [interval(values, within=within) for values in sets]
        assert (np.mean([item.low <= 1 <= item.high for item in result]) >= 0.93) == enough


@pytest.mark.parametrize(("k", "n"), [(0, 3), (1, 5), (7, 10), (20, 20), (60, 60)])
def test_of_values_that_are_0_or_1_it_is_clopper_and_pearson(k, n):
    low, high = mean_limits(np.arange(n) < k, (0, 1))
    assert low == pytest.approx(betaincinv(k, n - k + 1, 0.025) if k else 0, abs=1e-9)
    assert high == pytest.approx(betaincinv(k + 1, n - k, 0.975) if k < n else 1, abs=1e-9)


def test_the_chance_of_a_weighted_mean_is_that_of_drawn_weights():
    rng = np.random.default_rng(0)
    points = rng.normal(size=7)
    means = rng.dirichlet(np.ones(7), 20_000) @ points
    for level in (-0.5, 0.0, 0.3):
        assert exceeding(points, level) == pytest.approx((means > level).mean(), abs=0.012)
    assert exceeding(points, points.min() - 1) == 1
    assert exceeding(points, points.max()) == 0
    assert exceeding(np.ones(3), 1.0) == 0


def test_a_value_outside_of_the_range_is_refused_and_rounding_is_not():
    rounded, exact = (interval(np.array([item, 0.9]), within=(0, 1)) for item in (1 + 1e-7, 1.0))
    assert rounded == exact
    with pytest.raises(ArgumentError, match="lie between 0 and 1"):
        interval(np.array([1.1, 0.9]), within=(0, 1))


def test_a_run_that_is_seen_never_carries_the_verdict_alone():
    """Without one run the mean moves by at most one standard error, less than half of what the interval reaches."""
    for n in (3, 5, 10, 20):
        values = np.random.default_rng(n).standard_cauchy(n)
        result = interval(values)
        others = (values.sum() - values) / (n - 1)
        assert result.low <= others.min() <= others.max() <= result.high


@pytest.mark.parametrize("n", [5, 10, 20])
def test_a_run_that_lies_apart_is_seen_in_mixtures_and_hardly_ever_in_normal_samples(n):
    rng = np.random.default_rng(n)
    seen, called = [], 0
    for _ in range(SETS):
        rare = rng.random(n) < 0.05
        values = rng.random(n) + 10 * rare
        if 0 < rare.sum() <= n // 4:
            distance = runs_apart(values)
            seen.append(distance is not None and distance.runs == rare.sum())
        called += runs_apart(rng.normal(size=n)) is not None
    assert np.mean(seen) > 0.8  # of 5 runs the others may vary so much that none is seen
    assert called <= 3


@pytest.mark.parametrize("side", [1, -1])
def test_runs_apart_are_counted_beside_the_mean_of_the_others(side):
    values = side * np.array([0.1, 9.0, 0.2, 0.15, 8.0, 0.12, 0.18, 0.11])
    assert runs_apart(values) == pytest.approx(Apart(2, side * 0.86 / 6))
    assert runs_apart(np.ones(8)) is None
    assert runs_apart(np.arange(3.0)) is None


def test_the_interval_of_a_mean_holds_all_that_the_share_of_runs_apart_can_make_of_it():
    for n in (*range(4, 40), 60, 100):
        for k in range(1, n // 4 + 1):
            rare = np.arange(n) < k
            mean, share = interval(rare + np.linspace(-1e-3, 1e-3, n)), interval(rare)
            assert mean.low < share.low
            assert share.high < mean.high + 0.002


@pytest.mark.parametrize(
    ("law", "shares"), [("normal", (0.02, 0.022, 0.095)), ("lognormal", (0.115, 0.149, 0.34))]
)
def test_a_false_mean_on_the_bound_comes_to_hold_as_often_as_the_docs_say_of_its_law(law, shares):
    """Seeds are added from 3 to 20 until the interval lies below the true mean, which is the bound."""
    normal, counts = np.random.default_rng(0).normal(size=(400, 20)), np.zeros(3)
    for values in normal if law == "normal" else np.exp(normal) - np.exp(0.5):
        looks = [(number - 2, values[:number]) for number in range(3, 21)]
        over = [interval(some, tail=tail_of_look(k)).high < 0 for k, some in looks]
        counts += over[0], any(over), any(interval(some).high < 0 for _, some in looks)
    np.testing.assert_allclose(counts / 400, shares, atol=0.03)


def test_tails_of_all_looks_add_up_to_that_of_one():
    tails = [0.025 / 2] + [tail_of_look(look) for look in range(2, 1000)]
    assert 0.024 < sum(tails) < 0.025 == tail_of_look(1)
