import dataclasses
import io
import math
import sys

import numpy as np
import pytest
from made_claims import made

from foretrain.claims.claim import HOLDS, INCONCLUSIVE
from foretrain.claims.rows import rows, tally
from foretrain.claims.table import ClaimTable
from foretrain.errors import ArgumentError

CLAIMS = [
    made(
        "ratio", [2.6, 2.7, 2.65], (2, 3), statement="The ratio of the pathways tends to √M. " * 6
    ),
    made("slow", [1.0, 5.0], (4, math.inf), statement="It takes long.", predicted=9.0, unit="step"),
    made("alone", [1.0], (-math.inf, 0), note="A <note> & more.", reason="one seed says nothing"),
    made(
        "never",
        [math.nan, math.inf],
        (-9, 9),
        reason="nothing was measured",
        among="those that learn",
    ),
    made("conserved", 2e-12, (0, 1e-10), statement="It is conserved.", why="Rounding of σ."),
]
CUT_OFF = "not finished: 3 of 10 runs cut off while still learning"


def test_a_claim_is_found_by_number_id_label_and_slice():
    cells = [made("many", 0.1, cell={"rank": rank}) for rank in (1, 2)]
    table = ClaimTable([*CLAIMS, *cells, made("lone", 0.1, cell={"init_scale": 0.2})])
    assert table["ratio"] is table[0] is CLAIMS[0]
    assert [claim.id for claim in table[1:3]] == ["slow", "alone"]
    assert isinstance(table[1:3], ClaimTable)
    assert table["many[rank=2]"] is cells[1]
    assert list(table["many"]) == cells
    assert table["lone"] is table["lone[init_scale=0.2]"]
    with pytest.raises(ArgumentError, match=r"is `ratios`\. Did you mean `ratio`\?"):
        table["ratios"]
    with pytest.raises(ArgumentError, match="There are none"):
        ClaimTable()["ratio"]


@pytest.mark.parametrize("width", [40, 60, 80, 100, 120])
@pytest.mark.parametrize("details", [False, True])
def test_the_table_shows_every_claim_within_its_width(width, details):
    text = ClaimTable(CLAIMS).format(width, details=details)
    assert max(map(len, text.splitlines())) <= width
    words = " ".join(text.split())
    for claim in CLAIMS:
        assert claim.id in words
        assert (claim.statement.strip() in words) is details
    assert "5 claims: 2 hold, 3 inconclusive" in words
    if width >= 80:
        assert ("at least 4 step" if details else "≥ 4 step") in words


def test_a_claim_takes_one_line_those_that_fail_first_and_an_id_is_never_cut():
    claims = [made(f"all-the-time-{n}") for n in range(12)] + [made("odd", 1.0, (0, 0.5))]
    lines = ClaimTable(claims).format(80).splitlines()
    assert len(lines) == 13 + 3
    assert lines[1].split()[:2] == ["fails", "odd"]
    assert sum("all-the-time-" in line for line in lines) == 12
    long = ClaimTable([made("a" * 70, 1.0, (0, 2))]).format(80).splitlines()
    assert (long[1].split(), long[2].split()) == (["holds", "a" * 70], ["1", "≤", "2"])


def test_a_long_id_moves_its_values_before_it_takes_a_line_of_its_own():
    short = [made(f"a{n}", 0.123456, (0, 1)) for n in range(3)]
    moved = made("one-of-some-length", 2.0, (0, 1))
    head, first, second, *_ = ClaimTable([*short, moved]).format(55).splitlines()
    assert first.startswith("fails    one-of-some-length  2  ")
    assert second.split() == ["holds", "a0", "0.1235", "≤", "1"]
    assert first.index("≤") == second.index("≤") == head.index("allowed")
    assert second.index("0.12") == head.index("measured") < first.index("  2  ")


def test_values_stand_below_their_heads():
    head, values = ClaimTable(CLAIMS[:1]).format(120).splitlines()[:2]
    assert values[head.index("measured") :].startswith("2.65 (")
    assert values[: head.index("claim")].strip() == "holds"
    head, _, values, statement = ClaimTable(CLAIMS[:1]).format(120, details=True).splitlines()[:4]
    assert values[head.index("measured") :].startswith("2.65 (")
    assert statement.startswith("    ratio: The ratio of the pathways")


def test_cells_are_counted_in_their_line():
    cells = [made("b", 2.0, (0, top), cell={"rank": top}) for top in (1.0, 3.0)]
    line = ClaimTable(cells).format(80).splitlines()[1]
    assert line.startswith("1 of 2 hold")
    assert " b" in line


def test_why_a_verdict_is_open_stands_with_it_and_seeds_left_out_are_said():
    table = ClaimTable([made("a", [1, 2, math.nan], reason=CUT_OFF, verdict=INCONCLUSIVE)])
    assert " a* " in table.format(120)
    assert "* with a remark" in table.format(120)
    text = table.format(120, details=True)
    assert f"Inconclusive: {CUT_OFF}." in text
    assert "1 seed without a value is left out." in text
    cells = [
        made("b", [1, 2], (0, 3), cell={"rank": rank}, reason=reason, verdict=verdict)
        for rank, reason, verdict in ((1, "", HOLDS), (2, CUT_OFF, INCONCLUSIVE))
    ]
    text = ClaimTable(cells).format(120, details=True)
    assert f"Inconclusive in 1: rank=2 ({CUT_OFF})." in text


def test_details_are_shown_when_they_are_asked_for():
    table = ClaimTable([made("a", why="Because.", note="A number.", corrects="b", scale="paper")])
    short, long = table.format(120), table.format(120, details=True)
    assert "Corrected form of b." in long
    assert "Because." not in short
    for text in ("Why this is allowed: Because.", "Note: A number.", "Source: eq. (1)", "`paper`"):
        assert text in long
    assert "95% interval -0.5" not in long  # digits as in the row
    assert "by skew-corrected t, over 2 seeds" in long
    assert long.splitlines()[-1] == "Judged at the preset `paper`."
    other = made("b", scale="own")
    assert "    Scale: Judged at the preset `paper`." in ClaimTable([*table, other]).format(
        120, details=True
    )


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "cp1252", "utf-8"])
def test_the_table_prints_whatever_the_output_can_encode(monkeypatch, encoding):
    awkward = made(
        "a-\N{SNOWMAN}", statement="σ² ≤ √M – \x1b[31m \ud800 é", reason="∞", unit="step × η"
    )
    raw = io.BytesIO()
    output = io.TextIOWrapper(raw, encoding=encoding, write_through=True)
    with monkeypatch.context() as patch:
        patch.setattr(sys, "stdout", output)
        print(ClaimTable([*CLAIMS, awkward]))
        ClaimTable([awkward]).show(details=True)
    text = raw.getvalue().decode(encoding)
    assert text.count("\\x1b[31m \\ud800") == 1
    assert ("σ" if encoding == "utf-8" else "sigma") in text
    assert "\x1b" not in text


def test_a_terminal_that_knows_colours_gets_them(monkeypatch):
    class Terminal(io.StringIO):
        encoding = "utf-8"

        def isatty(self):
            return True

    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setattr(sys, "stdout", Terminal())
    ClaimTable(CLAIMS).show()
    shown = sys.stdout.getvalue()
    assert "\x1b[1;32mholds" in shown
    assert "\x1b" not in str(ClaimTable(CLAIMS))


def test_a_failure_is_as_loud_as_a_success():
    failed = made("conserved", 1.0, (0, 1e-10))
    text = ClaimTable([failed]).format()
    assert text.splitlines()[1].startswith("fails")
    assert "1 claim: 1 fails" in text


def test_no_claims_print_as_such():
    assert str(ClaimTable()) == "No claims."
    assert len(ClaimTable().to_dataframe()) == 0
    assert "No claims." in ClaimTable()._repr_html_()


@pytest.mark.parametrize(
    ("verdicts", "line"),
    [
        (["holds"] * 9 + ["fails", "inconclusive"], "11 claims: 9 hold, 1 fails, 1 inconclusive"),
        (["holds", "fails", "fails"], "3 claims: 1 holds, 2 fail"),
    ],
)
def test_verdicts_are_counted_in_words(verdicts, line):
    assert tally([made(verdict=verdict) for verdict in verdicts]) == line


def test_the_notebook_shows_text_and_never_markup_from_a_claim():
    page = ClaimTable(CLAIMS)._repr_html_()
    assert "A &lt;note&gt; &amp; more." in page
    assert page.count('<tr role="row" data-verdict=') == len(CLAIMS)
    assert "5 claims: 2 hold" in page


def test_the_data_frame_has_a_row_per_claim():
    frame = ClaimTable(
        [*CLAIMS, made("cut", cell={"rank": 2}, along={"rate": (0.1, 0.4)})]
    ).to_dataframe()
    assert list(frame.index) == [*(claim.id for claim in CLAIMS), "cut[rank=2]"]
    assert frame.loc["slow", "allowed_high"] == math.inf
    assert np.isnan(frame.loc["conserved", "uncertainty_low"])
    assert frame.loc["cut[rank=2]", "cell_rank"] == 2
    assert frame.loc["cut[rank=2]", "along"] == '{"rate": [0.1, 0.4]}'


def test_markdown_has_a_row_per_claim_with_its_verdict():
    claims = [
        made("a", statement="x | y", allowed=(-9, 9)),
        made("b", allowed=(200, 300), cell={"rank": 2}),
        made("b", allowed=(200, 300), cell={"rank": 3}),
    ]
    head, rule, first, second, third = ClaimTable(claims).to_markdown().splitlines()
    assert first.startswith(r"| holds | `a` x \| y |")
    assert second.startswith("| fails | `b[rank=2]` It is small. |")
    assert third.startswith("| fails | `b[rank=3]`")
    assert head.count("|") == rule.count("|") == second.count("|")


# What a row says.


def test_an_interval_hardly_outside_what_is_allowed_is_not_rounded_into_it():
    (row,) = rows(
        [dataclasses.replace(made("a"), uncertainty=(1.00002, 1.00004), allowed=(0.9, 1.0))]
    )
    assert row.ends == "1.00002 to 1.00004"


def test_a_deviation_is_bounded_from_above_and_a_negative_value_shows_both_ends():
    (row,) = rows([made("a", 2e-13, (0, 1e-12))])
    assert (row.measured, row.allowed) == ("2e-13", "at most 1e-12")
    assert row.spread == ("exact fact, worst deviation", "over 3 seeds")
    (row,) = rows([made("a", -0.025, (0, 1e-4))])
    assert (row.verdict, row.allowed) == ("fails", "0 to 1e-4")


def test_a_claim_without_an_interval_or_value_says_so():
    (row,) = rows([CLAIMS[3]])
    assert (row.measured, row.spread) == ("undefined", ("no interval", "over 0 seeds"))
    assert row.remarks == (
        "Inconclusive: nothing was measured.",
        "2 seeds without a value are left out.",
        "Speaks only of those that learn.",
    )


def test_cells_are_listed_with_the_worst_first_and_what_differs_there():
    claims = [
        made(
            "a", float(rank), (0.0, limit), predicted=float(rank), cell={"rank": rank}, seeds=seeds
        )
        for rank, limit, seeds in ((1, 2.0, 3), (2, 2.0, 4), (3, 2.5, 4))
    ]
    (row,) = rows(claims)
    assert (row.holding, row.verdict, row.allowed) == ("2 of 3 cells hold", "fails", "by cell")
    assert (row.measured, row.predicted) == ("1 to 3", "1 to 3")
    assert row.spread[-1] == "over 3 to 4 seeds each"
    assert row.cells == (
        ("rank=3", "fails", "3, predicted 3, allowed at most 2.5"),
        ("rank=1", "holds", "1, predicted 1, allowed at most 2"),
        ("rank=2", "holds", "2, predicted 2, allowed at most 2"),
    )


def test_the_scale_is_said_in_words():
    assert rows([made(scale="paper")])[0].details["Scale"] == "Judged at the preset `paper`."
    assert "fewer seeds than a preset" in rows([made(scale="own")])[0].details["Scale"]
    assert "Scale" not in rows([made()])[0].details
