import base64
import json
import re
from html.parser import HTMLParser
from itertools import pairwise

import pytest

from foretrain.claims.claim import FAILS, HOLDS, INCONCLUSIVE, exact
from foretrain.errors import FolderError
from foretrain.report.claims_section import counts_line
from foretrain.report.page import PageFigure, render, write

VOID = {"meta", "link", "img", "br", "path"}


class Outline(HTMLParser):
    """Collects tags with their attributes, text by innermost tag, and whether tags are closed."""

    def __init__(self, page):
        super().__init__()
        self.tags, self.text, self.open = [], [], []
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
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
    assert page == render(json.loads(json.dumps(summary)), page_figures)
    assert Outline(page).open == []


def test_an_empty_summary_gives_a_page_with_no_section():
    outline = Outline(render({}))
    assert outline.all("section") == []
    assert outline.all("script") == []
    assert ("h1", "foretrain run") in outline.text


def test_every_key_of_the_summary_may_be_missing(summary, page_figures):
    whole = len(Outline(render(summary, page_figures)).all("section"))
    for key in summary:
        rest = {name: value for name, value in summary.items() if name != key}
        assert len(Outline(render(rest, page_figures)).all("section")) in (whole - 1, whole)


def test_sections_come_in_order_with_claims_first(summary, page_figures):
    names = [attrs["id"] for attrs in Outline(render(summary, page_figures)).all("section")]
    assert names == "claims figures runs parameters provenance reproduce cite".split()


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
    policy = next(attrs for attrs in outline.all("meta") if "http-equiv" in attrs)["content"]
    assert policy.startswith("default-src 'none'; img-src data:;")
    assert "unsafe" not in policy


def test_text_from_outside_is_never_markup(summary):
    evil = "<script>alert(1)</script>\"'><img src=x onerror=alert(1)>"
    keys = ("id", "statement", "source", "unit", "note", "verdict")
    poisoned = {
        **dict.fromkeys(("study", "summary", "source", "hash", "device", "command"), evil),
        **dict.fromkeys(("root_seed", "created_at"), evil),
        "claims": [{**summary["claims"][0], **dict.fromkeys(keys, evil)}],
        "config": {evil: evil},
        "axes": {evil + "2": [evil]},
        "meanings": {evil: evil},
        "runs": {evil: 3},
        "failures": [evil],
        "seeds": [evil],
        "versions": {evil: evil, "foretrain": evil},
        "citations": [evil],
    }
    clean = [tag for tag, _ in Outline(render(summary)).tags]
    tags = Outline(render(poisoned, [PageFigure(evil, evil, evil, "<svg/>")])).tags
    assert [attrs for tag, attrs in tags if tag == "img" and attrs.get("src") == "x"] == []
    assert sum(tag == "script" for tag, _ in tags) == 1  # that of the page
    assert {tag for tag, _ in tags} <= {
        *clean,
        "figure",
        "figcaption",
        "img",
        "button",
        "dialog",
    } | {
        "script",
        "div",
        "h3",
    }


@pytest.mark.parametrize(
    ("verdicts", "line"),
    [
        ([HOLDS] * 9 + [FAILS, INCONCLUSIVE], "9 hold, 1 fails, 1 inconclusive"),
        ([HOLDS, FAILS, FAILS], "1 holds, 2 fail"),
        (["odd", HOLDS], "1 holds, 1 odd"),
    ],
)
def test_verdicts_are_counted_in_words(verdicts, line):
    assert counts_line([{"verdict": verdict} for verdict in verdicts]) == line


def claim_text(**fields):
    claim = {"id": "a", "statement": "S", "verdict": HOLDS, "measured": 1.0, "seeds": 5, **fields}
    page = render({"claims": [claim]})
    return " ".join(" ".join(data for _, data in Outline(page).text).split())


def test_a_claim_says_its_interval_seeds_and_the_seeds_that_failed():
    text = claim_text(uncertainty=[0.97, 1.02], tolerance=[0.9, None], failed_seeds=2, unit="step")
    assert "1 step 95% interval 0.97 to 1.02 over 5 seeds 2 seeds that failed are left out" in text
    assert "at least 0.9 step" in text


def test_an_exact_fact_is_bounded_from_one_side_and_says_it_is_one():
    text = claim_text(measured=2e-13, uncertainty=None, tolerance=[0.0, 1e-12])
    assert "2e-13 exact fact, worst deviation over 5 seeds" in text
    assert "at most 1e-12" in text


def test_a_claim_without_an_interval_or_value_says_so():
    text = claim_text(measured=None, uncertainty=[None, None], tolerance=[0.0, 1.0], seeds=0)
    assert "undefined no interval over 0 seeds" in text
    assert "between 0 and 1" in text


def test_an_interval_hardly_outside_its_tolerance_is_not_rounded_into_it():
    text = claim_text(verdict=FAILS, uncertainty=[1.00002, 1.00004], tolerance=[0.9, 1.0])
    assert "1.00002 to 1.00004" in text


def test_a_corrected_claim_names_what_it_corrects():
    assert "Corrected form of race.order" in claim_text(id="race.order.corrected")
    assert "Corrected form of race.order[rank=2]" in claim_text(id="race.order.corrected[rank=2]")


def test_a_claim_in_many_cells_is_one_row_that_names_those_where_it_does_not_hold():
    claims = [
        exact(f"error[rank={rank}]", "Small.", "§1", rank / 28, 1.0, seeds=3).as_dict()
        for rank in range(1, 31)
    ]
    html = render({"claims": claims})
    assert html.count('<tr role="row" id="claim-') == 1
    assert "28 of 30 cells hold" in html
    assert "<summary>Fails in 2 cells</summary>" in html
    assert "<code>rank=30</code>" in html
    assert '<a href="#claim-0"><code>error</code></a> in 2 of 30 cells' in html


def test_parameters_are_written_exactly_and_axes_apart():
    page = render({"config": {"rate": 0.123456789, "scale": 1.0}, "axes": {"scale": [1.0, 2.5]}})
    text = " ".join(" ".join(data for _, data in Outline(page).text).split())
    assert "0.123456789" in text
    assert "scale 2 1, 2.5" in text
    assert text.count("scale") == 1


# The page as a file.


def test_writing_replaces_the_old_page_and_leaves_nothing_beside_it(tmp_path, summary):
    folder = tmp_path / "new" / "run"
    path = write(folder, {})
    assert write(folder, summary) == path == folder / "report.html"
    assert path.read_text(encoding="utf-8") == render(summary)
    assert [item.name for item in folder.iterdir()] == ["report.html"]


def test_a_write_that_fails_leaves_the_old_page(tmp_path, summary, monkeypatch):
    path = write(tmp_path, {})
    before = path.read_bytes()

    def full(descriptor):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(FolderError, match="No space left on device"):
        write(tmp_path, summary)
    assert path.read_bytes() == before
    assert [item.name for item in tmp_path.iterdir()] == ["report.html"]


def test_a_folder_that_is_a_file_is_refused(tmp_path):
    (tmp_path / "taken").write_text("")
    with pytest.raises(FolderError, match="Argument `folder` must be a folder that can be written"):
        write(tmp_path / "taken", {})


def test_svgs_with_the_same_ids_stay_apart(page_figures, summary):
    ids = [set(re.findall(r'id="([^"]+)"', figure.svg)) for figure in page_figures]
    assert ids[0] & ids[1]  # they do clash
    pictures = [attrs for attrs in Outline(render(summary, page_figures)).all("img")]
    sources = [attrs["src"] for attrs in pictures if attrs.get("src")]
    assert len(sources) == 2
    for source in sources:
        head, _, data = source.partition(",")
        assert head == "data:image/svg+xml;base64"
        assert base64.b64decode(data).decode().rstrip().endswith("</svg>")
