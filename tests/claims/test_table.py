import dataclasses
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from foretrain.claims.claim import Claim, exact, judge
from foretrain.claims.table import (
    ClaimTable,
    claims_dataset,
    claims_from_dataset,
    interval,
)
from foretrain.errors import ArgumentError
from foretrain.results.result import make_tree
from foretrain.results.store import open_tree, write_tree

CLAIMS = [
    judge(
        "ratio", "The ratio of the pathways tends to √M. " * 6, "eq. (15)", [2.6, 2.7, 2.65], (2, 3)
    ),
    judge("slow", "It takes long.", "§2", [1.0, 5.0], (4, math.inf), predicted=9, unit="step"),
    judge("alone", "One seed says nothing.", "§3", [1.0], (-math.inf, 0), note="A <note> & more."),
    judge("never", "Nothing was measured.", "§4", [math.nan, math.inf], (-math.inf, math.inf)),
    exact("conserved", "It is conserved.", "eq. (3)", 2e-12, 1e-10, seeds=5),
]


def same(claim, other):
    """Equal, where nan equals nan."""
    return repr(dataclasses.astuple(claim)) == repr(dataclasses.astuple(other))


reals = st.floats()
claims = st.builds(
    Claim,
    id=st.text(max_size=4),
    statement=st.text(max_size=9),
    source=st.text(max_size=4),
    predicted=reals,
    measured=reals,
    uncertainty=st.none() | st.tuples(reals, reals),
    tolerance=st.tuples(reals, reals),
    verdict=st.sampled_from(["holds", "fails", "inconclusive"]),
    seeds=st.integers(0, 10**7),
    failed_seeds=st.integers(0, 10**7),
    unit=st.text(max_size=3),
    note=st.text(max_size=4),
)


@given(st.lists(claims, max_size=3))
def test_claims_survive_becoming_a_dataset(many):
    back = claims_from_dataset(claims_dataset(many))
    assert len(back) == len(many)
    assert all(same(*pair) for pair in zip(back, many, strict=True))


@pytest.mark.parametrize("many", [CLAIMS, []], ids=["some", "none"])
def test_claims_survive_the_disk_infinities_included(tmp_path, many):
    tree = open_tree(write_tree(tmp_path, make_tree(claims=many)))
    back = claims_from_dataset(tree["claims"].to_dataset())
    assert len(back) == len(many)
    assert all(same(*pair) for pair in zip(back, many, strict=True))


def test_a_claim_is_found_by_number_id_and_slice():
    table = ClaimTable(CLAIMS)
    assert table["ratio"] is table[0] is CLAIMS[0]
    assert [claim.id for claim in table[1:3]] == ["slow", "alone"]
    assert isinstance(table[1:3], ClaimTable)
    assert list(table) == CLAIMS
    with pytest.raises(ArgumentError, match=r"is `ratios`\. Did you mean `ratio`\?"):
        table["ratios"]


@pytest.mark.parametrize("width", [80, 100, 120])
def test_the_table_shows_every_claim_within_its_width(width):
    text = ClaimTable(CLAIMS).format(width)
    assert max(map(len, text.splitlines())) <= width
    words = " ".join(text.split())
    for claim in CLAIMS:
        assert claim.id in words
        assert claim.verdict in words
    assert "5 claims: 2 holds, 0 fails, 3 inconclusive" in words
    assert "at least 4" in words
    assert "9 step" in words


def test_the_columns_of_the_table_stand_below_each_other():
    lines = ClaimTable(CLAIMS[:1]).format(120).splitlines()
    start = lines[0].index("measured")
    assert lines[2][start:].startswith("2.65 (")
    statement = lines[0].index("claim")
    assert all(line[:statement].strip() == "" for line in lines[3:5])
    assert lines[3][statement:].startswith("The ratio of the pathways")


def test_a_failure_is_as_loud_as_a_success():
    failed = exact("conserved", "It is conserved.", "eq. (3)", 1.0, 1e-10, seeds=5)
    text = ClaimTable([failed]).format()
    assert text.splitlines()[2].startswith("fails")
    assert "1 claims: 0 holds, 1 fails, 0 inconclusive" in text


def test_no_claims_print_as_such():
    assert str(ClaimTable()) == "No claims."
    assert len(ClaimTable().to_dataframe()) == 0


def test_the_notebook_shows_text_and_never_markup_from_a_claim():
    page = ClaimTable(CLAIMS)._repr_html_()
    assert "A &lt;note&gt; &amp; more." in page
    assert page.count("<tr>") == len(CLAIMS) + 1


def test_the_data_frame_has_a_row_per_claim():
    frame = ClaimTable(CLAIMS).to_dataframe()
    assert list(frame.index) == [claim.id for claim in CLAIMS]
    assert frame.loc["slow", "tolerance_high"] == math.inf
    assert np.isnan(frame.loc["conserved", "uncertainty_low"])


@pytest.mark.parametrize(
    ("ends", "text"),
    [
        ((0.9, 1.1), "0.9 .. 1.1"),
        ((-math.inf, 3), "at most 3"),
        ((3, math.inf), "at least 3"),
        ((-math.inf, math.inf), "any"),
    ],
)
def test_an_interval_is_said_in_words(ends, text):
    assert interval(ends) == text


def test_markdown_has_a_row_per_claim_with_its_verdict():
    claims = [judge("a", "x | y", "s", [1, 1.1], (0, 2)), judge("b", "z", "s", [1, 1.1], (2, 3))]
    head, rule, first, second = ClaimTable(claims).to_markdown().splitlines()
    assert first.startswith(r"| holds | `a` x \| y |")
    assert second.startswith("| fails | `b` z |")
    assert head.count("|") == rule.count("|") == second.count("|")
