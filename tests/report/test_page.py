import re
from dataclasses import replace
from html.parser import HTMLParser
from itertools import pairwise
from urllib.parse import unquote

import pytest
from made_claims import sample

from foretrain.claims.rows import rows
from foretrain.errors import FolderError
from foretrain.report.document import write_document
from foretrain.report.page import PageFigure, render


class Outline(HTMLParser):
    """Collects tags with their attributes, text by innermost tag, and whether tags are closed."""

    def __init__(self, page):
        super().__init__()
        self.tags, self.text, self.open = [], [], []
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag not in {"meta", "link", "img", "br"}:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text.append((self.open[-1] if self.open else "", data))

    def all(self, tag):
        return [attrs for name, attrs in self.tags if name == tag]


def test_the_page_is_well_formed_and_equal_input_gives_an_equal_page(summary, page_figures):
    page = render(summary, page_figures)
    assert page == render({**summary}, page_figures)
    assert Outline(page).open == []


def test_every_key_of_the_summary_may_be_missing(summary, page_figures):
    outline = Outline(render({}))
    assert outline.all("section") == outline.all("script") == []
    assert ("h1", "foretrain run") in outline.text
    whole = len(Outline(render(summary, page_figures)).all("section"))
    for key in summary:
        rest = {name: value for name, value in summary.items() if name != key}
        assert len(Outline(render(rest, page_figures)).all("section")) in (whole - 1, whole)


def test_sections_come_in_order_with_claims_first(summary, page_figures):
    names = [attrs["id"] for attrs in Outline(render(summary, page_figures)).all("section")]
    assert names == ("problems claims figures runs parameters provenance reproduce cite".split())


def test_headings_tables_and_pictures_can_be_read_aloud(summary, page_figures):
    outline = Outline(render(summary, page_figures))
    levels = [int(tag[1]) for tag, _ in outline.tags if re.fullmatch("h[1-6]", tag)]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after - before <= 1 for before, after in pairwise(levels))
    assert all(attrs.get("scope") in ("row", "col") for attrs in outline.all("th"))
    assert len(outline.all("caption")) == len(outline.all("table"))
    pictures = [attrs for attrs in outline.all("img") if attrs.get("src")]
    assert [attrs["alt"] for attrs in pictures] == [figure.title for figure in page_figures]
    assert all(attrs["type"] == "button" for attrs in outline.all("button"))
    identities = [attrs["id"] for _, attrs in outline.tags if "id" in attrs]
    assert len(identities) == len(set(identities))


def test_nothing_outside_the_page_is_asked_for(summary, page_figures):
    outline = Outline(render(summary, page_figures))
    for _, attrs in outline.tags:
        for name in ("src", "href", "srcset", "data", "action"):
            if attrs.get(name):
                assert attrs[name].startswith(("data:", "#"))
    page = render({"config": {"rate": 0.123456789, "scale": 1.0}, "axes": {"scale": [1.0, 2.5]}})
    assert "0.123456789" in page  # parameters are written exactly
    policy = next(attrs for attrs in outline.all("meta") if "http-equiv" in attrs)["content"]
    assert policy.startswith("default-src 'none'; img-src data:;")
    assert "unsafe" not in policy


def test_text_from_outside_is_never_markup(summary):
    evil = "<script>alert(1)</script>\"'><img src=x onerror=alert(1)>"
    keys = "id statement source unit note reason method why among corrects scale".split()
    claim = summary["claims"][0]
    poisoned = {
        **dict.fromkeys(("study", "summary", "source", "hash", "device", "command"), evil),
        **dict.fromkeys(("root_seed", "created_at"), evil),
        "claims": [
            replace(claim, **dict.fromkeys(keys, evil)),
            *(replace(claim, cell={evil: n}, along={evil: (evil, 2)}) for n in (1, 2)),
        ],
        "problems": [evil],
        "remarks": [evil],
        "seal": {"commit": evil},
        "looks": [{"seeds": 1, "at": evil}, {"seeds": 2, "at": evil}],
        "preset": evil,
        "codes": {evil: 1, evil + "2": 2},
        "history": [evil],
        "config": {evil: evil},
        "axes": {evil + "2": [evil]},
        "meanings": {evil: evil},
        "runs": {evil: 3},
        "failures": [evil],
        "seeds": evil,
        "versions": {evil: evil, "foretrain": evil},
        "citations": [evil],
    }
    clean = [tag for tag, _ in Outline(render(summary)).tags]
    tags = Outline(render(poisoned, [PageFigure(evil, evil, evil, "<svg/>")])).tags
    assert [attrs for tag, attrs in tags if tag == "img" and attrs.get("src") == "x"] == []
    assert sum(tag == "script" for tag, _ in tags) == 1  # that of the page
    own = "figure figcaption img button dialog script div h3 ul li h2".split()
    assert {tag for tag, _ in tags} <= {*clean, *own}


def text_of(summary, figures=()):
    return " ".join(" ".join(data for _, data in Outline(render(summary, figures)).text).split())


def test_all_that_a_row_holds_stands_on_the_page():
    claim = sample(
        "a",
        [0.5, 1.5, float("nan")],
        (0, 1),
        verdict="inconclusive",
        reason="not finished: 1 of 3 runs cut off while still learning",
        among="runs that learn",
        why="Half of the plateau.",
        scale="quick",
        along={"rate": (0.1, 0.4)},
    )
    text, (row,) = text_of({"claims": [claim]}), rows([claim])
    assert "Inconclusive: not finished: 1 of 3 runs cut off while still learning." in text
    for part in (row.numbers, *row.remarks, *row.details.values(), ", ".join(row.spread)):
        assert part in text


def test_a_corrected_claim_names_what_it_corrects_and_leads_there():
    text = text_of({"claims": [sample("a", corrects="race.order")]})
    assert "corrected form of race.order" in text
    page = render({"claims": [sample("b"), sample("b.corrected", corrects="b")]})
    assert 'corrected form of <a href="#claim-0"><code>b</code></a>' in page


def test_the_first_screen_has_the_question_every_verdict_and_the_first_figure(
    summary, page_figures
):
    page = render(summary, page_figures)
    head = page[: page.index("<main")]
    assert summary["summary"] in head
    marks = re.findall(r'<li data-verdict="(\w+)"><a class="mark" href="#claim-(\d+)"', head)
    own = [claim.verdict for claim in summary["claims"] if not claim.corrects]
    order = ["fails", "inconclusive", "holds"]
    assert [verdict for verdict, _ in marks] == sorted(own, key=order.index)
    assert all(f'id="claim-{place}"' in page for _, place in marks)
    assert head.count("<figure") == 1
    assert page.count("<figure") == len(page_figures)


def test_a_claim_in_several_cells_is_one_row_that_names_those_where_it_does_not_hold():
    claims = [sample("error", rank / 28, (0, 1), cell={"rank": rank}) for rank in range(1, 31)]
    html = render({"claims": claims, "axes": {"rank": list(range(1, 31))}})
    assert html.count('<tr role="row" id="claim-') == 1
    assert len(re.findall("<title>rank=.*: (?:fails|holds)", html)) == 30
    assert "left to right: rank 1 to 30 (30 values)" in html
    assert "28 of 30 cells hold" in html
    assert "Fails in 2 cells: rank=29; rank=30." in html
    assert "<code>rank=30</code>: fails, 1.071" in html
    assert "1 claim, judged 30 times: 1 fails (It is small)" in html
    many = render({"claims": [sample("a", 0.1, cell={"rank": rank}) for rank in range(60)]})
    assert "and 10 more, in the stored claims" in many


def test_headlines_stand_open_and_all_else_is_folded_with_its_count(summary, page_figures):
    ranks = {"a": "headline", "c": "detail", "d": "control"}
    claims = [sample("b", 9.0), *(sample(id, rank=rank) for id, rank in ranks.items())]
    page = render({**summary, "claims": claims}, [*page_figures] * 4)
    assert re.findall(r"<summary><h3>(\w+)</h3> (.*)</summary>", page) == [
        ("Details", "2 claims: 1 holds, 1 fails (It is small)"),
        ("Controls", "1 claim: 1 holds"),
    ]
    assert page.index('id="claim-0"') < page.index('<details class="group">')
    assert "<strong>5 more:</strong>" in page
    folded = re.findall(r'<details><summary><h2 id="(\w+)-heading">', page)
    assert folded == ["parameters", "provenance", "cite"]  # runs that were lost are not folded


# What makes a result worth less is said.


def test_what_raised_is_said_before_the_claims(summary):
    text = text_of(summary)
    assert "These parts of the study raised an error and are missing from this page." in text
    assert text.index("slow raised ValueError") < text.index("What a claim allows is fixed")


def test_what_makes_verdicts_worth_less_stands_beside_them(summary):
    text = text_of(summary)
    assert text.index("Reworded after the first run: winner.") < text.index("Verdicts looked at")
    assert "Sealed before the first run theory ab12" in text
    when = "2026-11-19T09:00:00Z to 2026-11-20T14:03:11Z"
    assert f"Verdicts looked at 3 times, with 10, 10 and 20 seeds, {when}" in text


def test_runs_of_several_versions_of_the_code_are_named(summary):
    text = text_of(summary)
    assert "The runs were not all made by the same code" in text
    assert "a1b2c3d4 400 99ff00aa 200" in text
    assert "200 runs of code a1b2c3d4 were kept" in text
    assert "Hash of the code a1b2c3d4 (400 runs), 99ff00aa (200 runs)" in text
    entry = text_of({**summary, "codes": {"a1b2c3d4": 600}, "history": []})
    assert "not all made by the same code" not in entry
    assert "Hash of the code a1b2c3d4" in entry


# The page as a file.


def test_writing_replaces_the_old_page_and_leaves_nothing_beside_it(tmp_path, summary):
    path = tmp_path / "new" / "run" / "report.html"
    for content in ({}, summary):
        assert write_document(path, render(content)) == path
        assert path.read_text(encoding="utf-8") == render(content)
    assert [*path.parent.iterdir()] == [path]


def test_a_folder_that_is_a_file_is_refused(tmp_path):
    (tmp_path / "taken").write_text("")
    with pytest.raises(FolderError, match=r"Cannot write .*taken"):
        write_document(tmp_path / "taken" / "report.html", "")


def test_svgs_with_the_same_ids_stay_apart(page_figures, summary):
    ids = [set(re.findall(r'id="([^"]+)"', figure.svg)) for figure in page_figures]
    assert ids[0] & ids[1]  # they do clash
    pictures = [attrs for attrs in Outline(render(summary, page_figures)).all("img")]
    sources = [attrs["src"] for attrs in pictures if attrs.get("src")]
    assert len(sources) == 2
    for source in sources:
        head, _, data = source.partition(",")
        assert head == "data:image/svg+xml"
        assert unquote(data).rstrip().endswith("</svg>")


def test_a_page_has_a_bound_whatever_its_figures_hold(page_figures, summary):
    large = replace(page_figures[0], svg=page_figures[0].svg + 9000 * "<g></g>", csv=9000 * "1,2\n")
    long = {**summary, "source": 280_000 * "x"}  # texts take room of the pictures
    page = render(long, [replace(large, name=f"figure-{n}") for n in range(40)])
    assert 1e6 < len(page) < 1.6e6
    assert 0 < page.count("Too large for this page") < 40 > page.count('data-save="csv"')


def test_values_of_single_seeds_are_drawn_in_the_row_of_their_claim_alone():
    claims = [sample("a", [0.1, 0.2], (1, 2)), sample("b", [0.1, 0.2], (1, 2))]
    page = render({"study": "s", "claims": claims, "by_seed": {"a": [0.1, 0.2]}})
    row_a, row_b = re.findall(r'<tr role="row" id="claim-\d".*?</tr>', page, re.DOTALL)
    assert row_a.count('<circle class="seed"') == 2
    assert "seed" not in row_b.replace("over 2 seeds", "")
    assert "single seeds" in page
    assert "single seeds" not in render({"study": "s", "claims": claims})
