"""Which claims of a table are evidence by themselves, and which verdicts stand together."""

import math
from dataclasses import replace

import numpy as np
import pytest
from made_claims import sample

from foretrain.claims.claim import CONTROL, FAILS, HEADLINE, HOLDS
from foretrain.claims.family import LEVEL, p_value, summary, together, uncounted
from foretrain.claims.interval import interval


def fraction(agree, n, allowed):
    return sample(samples=np.arange(n) < agree, allowed=allowed)


def test_p_is_the_level_at_which_the_interval_touches_the_bound():
    symmetric = np.array([-1.0, 0.0, 1.0, -0.5, 0.5])
    reach = interval(symmetric).high
    for bound in (reach * (1 + 1e-9), -reach * (1 + 1e-9)):
        allowed = (-math.inf, bound)
        assert p_value(sample(samples=symmetric, allowed=allowed)) == pytest.approx(LEVEL, rel=1e-6)
    assert p_value(sample(samples=symmetric, allowed=(-9, 9))) < 1e-4
    assert p_value(sample(samples=symmetric, allowed=(0, 9))) == 1


@pytest.mark.parametrize(("agree", "n"), [(10, 10), (8, 10), (1, 20), (0, 5)])
def test_p_of_a_fraction_is_exact(agree, n):
    low, high = fraction(agree, n, (0, 1)).uncertainty
    if agree:
        assert p_value(fraction(agree, n, (low * (1 - 1e-9), 1))) == pytest.approx(LEVEL, rel=1e-5)
    if agree < n:
        edge = high * (1 + 1e-9)
        stored, missed = fraction(agree, n, (0, edge)), fraction(agree, n, (edge, 1))
        assert (stored.verdict, missed.verdict) == (HOLDS, FAILS)
        assert p_value(stored) == p_value(missed) == pytest.approx(LEVEL, rel=1e-5)


def test_holm_keeps_all_verdicts_right_95_times_in_100():
    """Ten claims whose truth lies on a bound: each that has a verdict is wrong, and none should stand in 95 of 100 tables."""
    rng = np.random.default_rng(0)
    wrong = 0
    for _ in range(300):
        claims = [sample(str(n), rng.normal(size=5), (0.0, math.inf)) for n in range(10)]
        wrong += bool(together(claims))
    assert wrong / 300 < 0.05 + 2 * math.sqrt(0.05 * 0.95 / 300)


def test_exact_facts_controls_and_complements_of_a_failing_sentence_are_not_counted():
    samples = [1.0, 1.1, 0.9]
    first = sample("first", samples, (-math.inf, 0.0))
    other = sample("first.corrected", samples, (1e-9, math.inf), corrects="first")
    sharp = sample("sharp.corrected", samples, (0.5, 1.5), corrects="first")
    control, exact = sample("control", samples, rank=CONTROL), sample("exact", 0.5)
    table = [first, other, sharp, control, exact]
    reasons = [uncounted(claim, table) for claim in table]
    assert reasons == ["", "complement", "", "control", "exact"]
    text = summary([*table, sample("lead", samples, (0.0, 9.0), rank=HEADLINE)])
    assert text.startswith("Evidence by itself: 3 verdicts (1 exact, 1 controls, 1 complements")
    assert text.endswith("Of 1 verdict on headlines 1 stand together at 95% (Holm).")


@pytest.mark.parametrize(
    ("fails", "allowed", "reason"),
    [
        ((-math.inf, 0.1), (0.2, math.inf), "complement"),  # beside a gap
        ((0.0, 0.5), (0.9, 1.0), "complement"),  # of a fraction
        ((0.0, 0.1), (0.75, 1.25), ""),  # where theory says more than that the other fails
        ((1.5, 2.0), (0.9, 1.1), ""),
        ((0.0, 0.5), (0.4, 1.0), ""),
    ],
)
def test_a_complement_lies_on_the_other_side_up_to_the_end_of_what_is_possible(
    fails, allowed, reason
):
    first = sample("first", [0.9, 0.95, 1.0], fails)
    assert first.verdict == FAILS
    claim = sample("first.corrected", [0.9, 0.95, 1.0], allowed, corrects="first")
    assert uncounted(claim, [first, claim]) == reason
    assert uncounted(replace(claim, uncertainty=(0.95, 0.95)), [first, claim]) == "exact"
