import json
import math

import numpy as np
import pytest

from foretrain.claims.claim import bootstrap_interval, claim_from_dict, exact, judge


def verdict(samples, tolerance):
    return judge("id", "statement", "source", samples, tolerance).verdict


def test_verdict_follows_where_the_interval_lies():
    samples = np.random.default_rng(0).normal(1.0, 0.1, 50)
    assert verdict(samples, (0.8, 1.2)) == "holds"
    assert verdict(samples, (2, 3)) == "fails"
    assert verdict(samples, (1.0, 1.2)) == "inconclusive"


def test_one_seed_proves_nothing():
    assert verdict([1.0], (0, 2)) == "inconclusive"
    assert verdict([], (0, 2)) == "inconclusive"


def test_seeds_that_are_not_finite_are_counted_not_hidden():
    claim = judge("id", "s", "s", [1, 1.1, np.nan, np.inf], (0, 2))
    assert (claim.seeds, claim.failed_seeds) == (2, 2)
    assert claim.measured == pytest.approx(1.05)


def test_exact_facts_hold_up_to_their_tolerance_and_never_by_nan():
    assert exact("id", "s", "s", 1e-13, 1e-12, seeds=1).verdict == "holds"
    assert exact("id", "s", "s", 1e-11, 1e-12, seeds=1).verdict == "fails"
    assert exact("id", "s", "s", math.nan, 1e-12, seeds=1).verdict == "fails"


def test_bootstrap_interval_covers_the_mean_at_its_rate():
    random = np.random.default_rng(1)
    hits = 0
    for _ in range(200):
        low, high = bootstrap_interval(random.normal(0, 1, 30))
        hits += low <= 0 <= high
    # 95% nominal, about 94% for 30 samples; 200 trials have a standard error of 1.6%, so four of them.
    assert 0.87 <= hits / 200 <= 1.0


def test_claim_survives_json_with_infinities():
    claim = judge("id", "s", "s", [1, 2, 3], (-math.inf, 5), predicted=math.nan)
    again = claim_from_dict(json.loads(json.dumps(claim.as_dict())))
    assert again.tolerance == claim.tolerance
    assert math.isnan(again.predicted)
    assert again.uncertainty == claim.uncertainty


def test_a_tolerance_upside_down_is_refused():
    with pytest.raises(ValueError, match="low <= high"):
        judge("id", "s", "s", [1, 2], (2, 1))
