"""Derived sentences hold, inside of their domains, at sizes that nobody chose."""

import drawn_sizes
import pytest

from foretrain.plans.plan import make_plan


@pytest.mark.parametrize("study", drawn_sizes.SIZES)
def test_draws_are_the_same_again_lie_in_their_ranges_and_make_runs(study):
    draws = list(drawn_sizes.draws(study))
    assert draws == list(drawn_sizes.draws(study))
    assert len({str(item) for item in draws}) == drawn_sizes.DRAWS
    for item in draws:
        for name, (low, high) in drawn_sizes.SIZES[study]["ranges"].items():
            assert abs(2 * item[name] - low - high) <= 1.01 * (high - low)
        make_plan(study.split()[0], drawn_sizes.SIZES[study].get("fixed", {}) | item, seeds=2)


@pytest.mark.slow
@pytest.mark.parametrize("study", drawn_sizes.SIZES)
def test_derived_sentences_hold_at_drawn_sizes(study, tmp_path):
    claims = drawn_sizes.judged(study, tmp_path)
    wrong = drawn_sizes.SIZES[study].get("wrong", ())
    assert drawn_sizes.share(claims, wrong) >= 0.95, "\n".join(drawn_sizes.summary(study, claims))
