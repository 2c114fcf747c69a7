import dataclasses
import html
import io
import math
import sys

import numpy as np
import pytest
from made_claims import sample

from foretrain.claims.claim import INCONCLUSIVE
from foretrain.claims.markup import formulas
from foretrain.claims.rows import by_rank, counted, rows
from foretrain.claims.table import ClaimTable
from foretrain.errors import ArgumentError

CLAIMS = [
    sample(
        "ratio", [2.6, 2.7, 2.65], (2, 3), statement="The ratio of the pathways tends to √M. " * 6
    ),
    sample(
        "slow", [1.0, 5.0], (4, math.inf), statement="It takes long.", predicted=9.0, unit="step"
    ),
    sample("alone", [1.0], (-math.inf, 0), note="A <note> & more.", reason="one seed says nothing"),
    sample("never", [math.nan, math.inf], (-9, 9), reason="nothing was measured", among="learners"),
    sample("conserved", 2e-12, (0, 1e-10), statement="It is conserved.", why="Rounding of σ."),
]
CUT_OFF = "not finished: 3 of 10 runs cut off while still learning"


def test_a_claim_is_found_by_number_id_label_and_slice():
    cells = [sample("many", 0.1, cell={"rank": rank}) for rank in (1, 2)]
    table = ClaimTable([*CLAIMS, *cells, sample("lone", 0.1, cell={"init_scale": 0.2})])
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
def test_the_table_shows_every_headline_within_its_width(width, details):
    text = ClaimTable(CLAIMS).format(width, details=details)
    assert max(map(len, text.splitlines())) <= width
    words = " ".join(text.split())
    assert all(claim.statement.strip().removesuffix(".") in words for claim in CLAIMS)
    assert "takes long: 3 (-22.4 to 28.4), predicted 9, allowed at least 4 step." in words
    assert ("5 claims: 2 hold, 3 inconclusive" in words) is details
    assert all((claim.id in words) for claim in CLAIMS if details)


def ranked(*verdicts, rank="detail", **fields):
    limits = {"holds": (0, 2), "fails": (5, 6), "inconclusive": (1, 2)}
    return [
        sample(f"{rank}-{n}", allowed=limits[verdict], rank=rank, **fields)
        for n, verdict in enumerate(verdicts)
    ]


def test_headlines_are_sentences_and_of_the_others_those_that_fail_are_named():
    headlines = ranked("holds", "fails", rank="headline", statement="Routes are shared.")
    others = ranked("holds", "fails", "holds") + ranked("holds", "fails", rank="control")
    assert ClaimTable([*others, *headlines]).format(80).splitlines() == [
        "fails  Routes are shared: 1.05 (0.415 to 1.69), allowed 5 to 6.",
        "holds  Routes are shared: 1.05 (0.415 to 1.69), allowed 0 to 2.",
        "5 more: 3 hold, 2 fail (It is small)",
    ]


def test_an_open_claim_has_its_reason_and_one_that_many_share_stands_once():
    alone = ranked("inconclusive", rank="headline")
    text = " ".join(ClaimTable([*alone, *ranked("holds")]).format(120).split())
    reason = "Inconclusive: the interval reaches beyond what is allowed; try --seeds 18."
    assert f"allowed 1 to 2. {reason}" in text
    cut = {"reason": CUT_OFF, "verdict": INCONCLUSIVE}
    claims = ranked("holds", "holds", rank="headline", **cut) + ranked("holds", "holds", **cut)
    text = " ".join(ClaimTable(claims).format(120).split())
    assert text.endswith(f"2 more: 2 inconclusive Inconclusive (It is small): {CUT_OFF}.")
    assert text.count(CUT_OFF) == 1
    # A reason that is part of another one is not the other.
    claims[0] = sample("a", verdict=INCONCLUSIVE, rank="headline", reason=f"lost; {CUT_OFF}")
    text = " ".join(ClaimTable(claims[:1] + claims[2:]).format(120).split())
    assert f"Inconclusive: lost; {CUT_OFF}" in text


def test_a_corrected_form_is_part_of_what_it_corrects_in_the_higher_rank_of_the_two():
    claims = [
        sample("a"),
        sample("b", rank="headline"),
        sample("a.corrected", corrects="a", rank="headline"),
        sample("c.again", 9.0, corrects="c"),
        sample("c", rank="control"),
    ]
    groups = {rank: [row.id for row in some] for rank, some in by_rank(rows(claims)).items()}
    assert groups == {"headline": ["a", "a.corrected", "b"], "detail": ["c", "c.again"]}
    assert ClaimTable(claims).tally() == "3 claims: 2 hold, 1 fails (It is small)"
    circle = [sample("a", corrects="b"), sample("b", corrects="a")]
    assert sum(map(len, by_rank(rows(circle)).values())) == 2


@pytest.mark.parametrize(
    ("claim", "numbers"),
    [
        (sample("a", 0.01242, (0, 0.03571), predicted=0), "off by 1.2%, allowed 3.6%"),
        (sample("a", 1e-11, (0, 1e-6), predicted=0), "off by 1e-11, allowed 1e-6"),
        (sample("a", 0.5, (0, 3), predicted=0, unit="step"), "off by 0.5, allowed 3 step"),
        (sample("a", 0.98, (0.95, 1.05), predicted=1), "0.98, allowed 1 ± 0.05"),
        (sample("a", 0.98, (0.9375, 1.0625), predicted=1), "0.98, allowed 1 ± 0.062"),
        (sample("a", 0.98, (0.875, 1.125), predicted=1), "0.98, allowed 1 ± 0.125"),
        (sample("a", 0.98, (0.95, 1.02), predicted=1), "0.98, predicted 1, allowed 0.95 to 1.02"),
        (
            sample("a", 1.0500001, (0.95, 1.05), predicted=1),
            "1.0500001, predicted 1, allowed 0.95 to 1.05",
        ),
        (sample("a", 1.0004, (0, 1)), "1.0004, allowed at most 1"),
    ],
)
def test_numbers_are_a_deviation_where_zero_is_predicted(claim, numbers):
    assert rows([claim])[0].numbers == numbers


def test_cells_are_counted_beside_their_sentence_and_those_that_fail_named():
    cells = [sample("b", 2.0, (0, top), cell={"rank": top}) for top in (1.0, 3.0)]
    text = ClaimTable(cells).format(80)
    assert text == "1 of 2 hold  It is small: 2, allowed by cell. Fails in 1 cell: rank=1."
    many = [sample("a", cell={"rank": rank}) for rank in range(60)]
    assert counted(rows(many)) == "1 claim, judged 60 times: 1 holds"


def test_details_are_shown_when_they_are_asked_for():
    words = {"why": "Because.", "note": "A number.", "corrects": "b"}
    table = ClaimTable([sample("b"), sample("a", [1, 2, math.nan], **words)])
    short, long = table.format(120), table.format(120, details=True)
    assert "Because." not in short
    for text in ("Why this is allowed: Because.", "Note: A number.", "over 2 seeds."):
        assert text in long
    assert "a, corrected form of b; eq. (1)" in long
    assert "1 seed without a value is left out." in long
    assert long.startswith("Headlines\n")


def test_a_size_that_all_claims_share_is_said_once_and_what_corrects_follows_as_more_exact():
    small = {"size": {"symbols": ("19", "53")}, "rank": "headline"}
    claims = [sample("a", **small), sample("b", corrects="a", **small), sample("c", 9.0, **small)]
    text = ClaimTable(claims).format(120)
    assert text.startswith("At symbols 19 (the document: 53).\nfails  It is small")
    assert text.count("symbols") == 1
    once = f"1.05 (0.415 to 1.69), allowed 0 to 2.\n{' ' * 7}More exactly (holds): It is small: "
    assert f"\nholds  It is small: {once}allowed 0 to 2." in text  # one quantity, one reading
    cells = [sample("d", cell={"rank": rank}, **small) for rank in (1, 2)]
    assert ClaimTable([*claims, *cells]).format(120).startswith("At symbols=19.\n")
    wrong = [sample("a", 9.0, **small), sample("b", corrects="a", **small)]
    assert "\n       Corrected (holds): It is small: 1.05 (0.4" in ClaimTable(wrong).format(120)
    words = "1 fails, but holds corrected (It is small at symbols=19)"
    assert ClaimTable(wrong).tally() == f"1 claim: {words}"


def test_the_first_line_is_what_was_run_and_which_headlines_hold(capsys):
    ClaimTable(ranked("holds", "fails", rank="headline")).show({"ok": 3, "diverged": 1}, 8, "a")
    line = "4 runs of a in 8 s, 1 diverged: 2 headline claims, 1 holds, 1 fails (It is small).\n"
    assert capsys.readouterr().out.startswith(line)


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "cp1252", "utf-8"])
def test_the_table_prints_whatever_the_output_can_encode(monkeypatch, encoding):
    awkward = sample(
        "a-\N{SNOWMAN}", statement="σ² ≤ √M – \x1b[31m \ud800 é", reason="∞", unit="step × η"
    )
    raw = io.BytesIO()
    output = io.TextIOWrapper(raw, encoding=encoding, write_through=True)
    with monkeypatch.context() as patch:
        patch.setattr(sys, "stdout", output)
        print(ClaimTable([*CLAIMS, awkward]))
        ClaimTable([awkward]).show(details=True)
    text = raw.getvalue().decode(encoding)
    assert text.count("\\x1b[31m \\ud800") == 2
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
    assert "\x1b[1;32mholds" in sys.stdout.getvalue()
    assert "\x1b" not in str(ClaimTable(CLAIMS))


def test_no_claims_print_as_such():
    assert str(ClaimTable()) == "No claims: the study has no sentence on these parameters."
    assert len(ClaimTable().to_dataframe()) == 0
    assert "No claims." in ClaimTable()._repr_html_()


def test_the_data_frame_has_a_row_per_claim():
    cut = sample("cut", cell={"rank": 2}, along={"rate": (0.1, 0.4)})
    frame = ClaimTable([*CLAIMS, cut]).to_dataframe()
    assert list(frame.index) == [*(claim.id for claim in CLAIMS), "cut[rank=2]"]
    assert frame.loc["slow", "allowed_high"] == math.inf
    assert np.isnan(frame.loc["conserved", "uncertainty_low"])
    assert frame.loc["cut[rank=2]", "cell_rank"] == 2
    assert frame.loc["cut[rank=2]", "along"] == '{"rate": [0.1, 0.4]}'


def test_markdown_has_a_row_per_claim_with_its_verdict():
    claims = [
        sample("a", statement="x | y", allowed=(-9, 9)),
        sample("b", allowed=(200, 300), cell={"rank": 2}),
        sample("b", allowed=(200, 300), cell={"rank": 3}),
    ]
    head, rule, first, second, third = ClaimTable(claims).to_markdown().splitlines()
    assert first.startswith(r"| holds | `a` x \| y |")
    assert second.startswith("| fails | `b[rank=2]` It is small. |")
    assert third.startswith("| fails | `b[rank=3]`")
    assert head.count("|") == rule.count("|") == second.count("|")


# What a row says.


def test_a_deviation_is_bounded_from_above_and_a_negative_value_shows_both_ends():
    (row,) = rows([sample("a", 2e-13, (0, 1e-12))])
    assert (row.measured, row.bounds) == ("2e-13", "allowed at most 1e-12")
    assert row.spread == ("exact fact, worst deviation", "over 3 seeds")
    (row,) = rows([sample("a", -0.025, (0, 1e-4))])
    assert (row.verdict, row.bounds) == ("fails", "allowed 0 to 1e-4")


def test_a_claim_without_an_interval_or_value_and_one_of_lost_runs_says_so():
    (row,) = rows([CLAIMS[3]])
    assert (row.measured, row.spread) == ("undefined", ("no interval", "over 0 seeds"))
    assert row.remarks == (
        "Inconclusive: nothing was measured; more seeds do not settle it.",
        "2 seeds without a value are left out.",
        "Speaks only of learners.",
    )
    (row,) = rows([sample("a", 9.0, note="So it is. 2 of 9 runs diverged.")])
    assert (row.verdict, row.remarks) == ("fails", ("2 of 9 runs diverged.",))


def test_cells_are_listed_with_the_worst_first_and_what_differs_there():
    claims = [
        sample(
            "a", float(rank), (0.0, limit), predicted=float(rank), cell={"rank": rank}, seeds=seeds
        )
        for rank, limit, seeds in ((1, 2.0, 3), (2, 2.0, 4), (3, 2.5, 4))
    ]
    (row,) = rows(claims)
    assert (row.holding, row.verdict) == ("2 of 3 cells hold", "fails")
    assert row.numbers == "1 to 3, predicted 1 to 3, allowed by cell"
    assert row.spread[-1] == "over 3 to 4 seeds each"
    assert row.cells == (
        ("rank=3", "fails", "3, predicted 3, allowed at most 2.5"),
        ("rank=1", "holds", "1, predicted 1, allowed at most 2"),
        ("rank=2", "holds", "2, predicted 2, allowed at most 2"),
    )


def test_in_a_notebook_claims_show_sentence_numbers_and_verdict_and_never_markup():
    page = ClaimTable(CLAIMS)._repr_html_()
    assert "A &lt;note&gt; &amp; more." in page
    assert page.count("<li data-verdict=") == len(CLAIMS)
    assert "5 claims: 2 hold" in page
    smaller = [dataclasses.replace(claim, size={"depth": ("8", "64")}) for claim in CLAIMS]
    assert ClaimTable(smaller)._repr_html_().count("depth 8 (the document: 64)") == 1
    cells = [dataclasses.replace(smaller[0], cell={"depth": n}) for n in (8, 16)]
    assert rows(cells)[0].details["Size"] == "at depth by cell (the document: 64) in 2 cells"
    for claim, row in zip(CLAIMS, rows(CLAIMS), strict=True):
        page = claim._repr_html_()
        assert page.count(f'<li data-verdict="{claim.verdict}"') == 1
        assert formulas(row.statement) in page
        assert row.numbers in html.unescape(page)
