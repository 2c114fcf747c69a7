"""Derived sentences hold, inside of their domains, at sizes that nobody chose."""

import re
import tomllib
from pathlib import Path

import drawn_sizes
import numpy as np
import pytest

from foretrain.plans import catalogue
from foretrain.plans.plan import make_plan

HERE = Path(__file__).parent
WITHOUT = tomllib.loads((HERE / "without_domain.toml").read_text("utf-8"))


@pytest.mark.parametrize("study", drawn_sizes.SIZES)
def test_draws_are_the_same_again_lie_in_their_ranges_and_make_runs(study):
    draws = list(drawn_sizes.draws(study))
    assert draws == list(drawn_sizes.draws(study))
    assert len({str(item) for item in draws}) == drawn_sizes.DRAWS
    for item in draws:
        for name, (low, high) in drawn_sizes.SIZES[study]["ranges"].items():
            assert abs(2 * item[name] - low - high) <= 1.01 * (high - low)
        make_plan(study.split()[0], drawn_sizes.SIZES[study].get("fixed", {}) | item, seeds=2)


@pytest.mark.parametrize("study", catalogue.names())
def test_a_study_that_derives_a_number_says_where_or_why_not_and_that_none_failed_is_so(study):
    sentences, reason = catalogue.load(study).sentences, WITHOUT.get(study, "")
    numbers = [each for each in sentences if callable(each.near) or np.isfinite(each.near)]
    derives = any("docs/" in each.source for each in numbers)
    lacks = derives and not any(each.domain for each in sentences)
    assert lacks == bool(reason), f"`{study}` needs a `domain=` or a line in without_domain.toml"
    page = (HERE.parent / "docs" / "claims.md").read_text("utf-8")
    if reason.startswith("none failed"):
        drawn = rf"^\| `{study}`[^|]*\| \d+ \| 0 \||^- `{study}`:(?:.|\n  )*?none fails"
        assert re.search(drawn, page, re.M)
    assert reason.startswith("wrong") == ("wrong" in drawn_sizes.SIZES.get(study, ()) and lacks)


@pytest.mark.slow
@pytest.mark.parametrize("study", drawn_sizes.SIZES)
def test_derived_sentences_hold_at_drawn_sizes(study, tmp_path):
    claims = drawn_sizes.judged(study, tmp_path)
    wrong = drawn_sizes.SIZES[study].get("wrong", ())
    assert drawn_sizes.share(claims, wrong) >= 0.95, "\n".join(drawn_sizes.summary(study, claims))
