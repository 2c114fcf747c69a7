"""The number of seeds that a claim is said to need gives its verdict about as often as is said."""

import math

import numpy as np
import pytest
from made_claims import sample

from foretrain.claims.claim import INCONCLUSIVE
from foretrain.claims.interval import between, interval
from foretrain.claims.power import CHANCE, MOST, seeds_needed


def test_number_for_a_mean_gives_the_verdict_four_times_in_five():
    rng = np.random.default_rng(0)
    pilot = rng.normal(size=400)
    pilot = (pilot - pilot.mean()) / pilot.std(ddof=1)  # the truth is what was measured
    for bound, settled in ((-0.8, lambda end: end.low >= -0.8), (0.8, lambda end: end.high < 0.8)):
        number = int(seeds_needed(sample(samples=pilot, allowed=(bound, math.inf))))
        assert 0 < number < 30
        share = np.mean([settled(interval(rng.normal(size=number))) for _ in range(1500)])
        assert share == pytest.approx(CHANCE, abs=0.07)


def test_72_seeds_that_all_agree_show_a_share_of_95_percent():
    number = int(seeds_needed(sample(samples=np.ones(5, bool), allowed=(0.95, 1.0))))
    assert interval(np.ones(number), "fraction").low >= 0.95
    assert 72 <= number <= 74  # numbers are tried in steps of 2%


def test_a_fraction_that_is_not_one_has_the_chance_that_is_said():
    pilot = np.arange(10) < 7
    number = int(seeds_needed(sample(samples=pilot, allowed=(0.5, 1.0))))
    for other, words in (
        (pilot | True, number),
        (~pilot, f"too near to a bound for {MOST:,} seeds"),
    ):
        ends = between(interval(pilot), interval(other))  # from 7 to 10 of 10, from 3 to 7
        fields = {"method": ends.method, "uncertainty": (ends.low, ends.high)}
        needed = seeds_needed(sample(samples=pilot, allowed=(0.5, 1.0), **fields))
        assert str(needed).endswith(str(words))
    counts = np.random.default_rng(1).binomial(number, 0.7, size=4000)
    lows = {k: interval(np.arange(number) < k, "fraction").low for k in set(counts)}
    assert np.mean([lows[k] >= 0.5 for k in counts]) == pytest.approx(CHANCE, abs=0.06)


def test_a_median_needs_six_seeds_at_least():
    median = sample(samples=[-0.1, 0.0, 0.1], allowed=(-9.0, 9.0), method="range and t")
    assert seeds_needed(median) == 6


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"reason": "not finished: 3 of 9 runs", "verdict": INCONCLUSIVE}, "not finished"),
        ({"samples": [1.0]}, "one seed"),
        ({"samples": [-1.0, 1.0, 0.0], "allowed": (0.0, 9.0)}, f"{MOST:,} seeds"),
        ({"samples": [], "seeds": 0}, "nothing finite"),
    ],
)
def test_no_number_is_given_where_seeds_do_not_help(fields, words):
    result = seeds_needed(sample(**fields))
    assert isinstance(result, str)
    assert words in result
