import base64
import json
import math
import re
import time
from html.parser import HTMLParser
from itertools import pairwise

import pytest

from foretrain.claims import FAILS, HOLDS, INCONCLUSIVE
from foretrain.errors import FolderError
from foretrain.report.claims_table import counts_line
from foretrain.report.numbers import (
    digits_to_tell_apart,
    format_duration,
    format_interval,
    format_number,
)
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


# Numbers.


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.05123456, "0.05123"),
        (1.0, "1"),
        (-2.50, "-2.5"),
        (0.0, "0"),
        (1e-12, "1e-12"),
        (-1.5e-12, "-1.5e-12"),
        (0.001, "0.001"),
        (0.00099999, "0.001"),  # rounds up into the fixed form
        (99999.9, "1e5"),  # rounds up into the scientific form
        (12345.6, "12346"),  # whole digits are not blanked out
        (6.02214e23, "6.022e23"),
        (math.inf, "∞"),
        (-math.inf, "-∞"),
        (math.nan, "undefined"),
        (None, "undefined"),
        (True, "true"),
        (123456789, "123456789"),
        ("flow", "flow"),
    ],
)
def test_numbers_are_written_to_four_digits_and_scientific_at_the_extremes(value, text):
    assert format_number(value) == text


def test_a_number_without_a_digit_limit_reads_back_as_itself():
    values = [1 / 3, 1e-300, 0.1 + 0.2, 5e5, 123456.789, 2**-1074, 1.7976931348623157e308, 1 / 3e4]
    assert [float(format_number(value, digits=None)) for value in values] == values
    assert format_number(0.1, digits=None) == "0.1"


@pytest.mark.parametrize(
    ("low", "high", "text"),
    [
        (0.9, 1.1, "between 0.9 and 1.1"),
        (None, 1e-12, "at most 1e-12"),
        (-math.inf, 2, "at most 2"),
        (0.9, None, "at least 0.9"),
        (0.9, math.inf, "at least 0.9"),
        (None, None, "any value"),
        (2, 2, "exactly 2"),
        (0.0, 1.0, "between 0 and 1"),
    ],
)
def test_intervals_are_written_in_words(low, high, text):
    assert format_interval(low, high) == text


def test_digits_grow_until_values_that_differ_look_different():
    assert digits_to_tell_apart(0.9, 1.1, None, math.inf) == 4
    close = (0.99996, 1.00004)
    assert format_interval(*close) == "between 1 and 1"  # what would be misread
    assert format_interval(*close, digits_to_tell_apart(*close)) == "between 0.99996 and 1"
    assert digits_to_tell_apart(1.0, 1.0 + 1e-15) == 4  # rounding error is no difference


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.4213, "0.421 s"),
        (59.97, "1 min"),
        (200, "3 min 20 s"),
        (7500, "2 h 5 min"),
        (3600, "1 h"),
        (97200, "1 d 3 h"),
        (None, "undefined"),
    ],
)
def test_durations_are_written_in_two_units(seconds, text):
    assert format_duration(seconds) == text


# The page as text.


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


# The page in a browser.


@pytest.fixture
def page(tmp_path, summary, page_figures):
    return write(tmp_path, summary, page_figures)


def until(condition, seconds=5.0):
    """Wait until `condition()` is true; its last value."""
    end = time.monotonic() + seconds
    while not (value := condition()) and time.monotonic() < end:
        time.sleep(0.02)
    return value


def find(browser, selector):
    return browser.find_elements("css selector", selector)


def image_width(browser):
    return find(browser, "#viewer img")[0].rect["width"]


def test_the_browser_shows_every_claim_with_its_verdict_in_words(open_page, page, summary):
    browser = open_page(page)
    rows = find(browser, "table.claims tbody tr")
    claims = summary["claims"]
    words = [row.find_element("css selector", ".badge").text.lower() for row in rows]
    assert words == [claim["verdict"] for claim in claims]
    assert {HOLDS, FAILS, INCONCLUSIVE} == set(words)
    statements = [row.find_element("css selector", ".statement").text for row in rows]
    assert statements == [claim["statement"] for claim in claims]
    assert all(row.find_element("css selector", ".badge svg").size["width"] > 8 for row in rows)


def test_a_failed_claim_is_as_large_and_strong_as_one_that_holds(open_page, page):
    browser = open_page(page)
    script = """return [...document.querySelectorAll('tr[data-verdict]')].map(row => {
        const badge = getComputedStyle(row.querySelector('.badge'));
        const text = getComputedStyle(row.querySelector('.statement'));
        return [row.dataset.verdict, badge.fontSize, badge.fontWeight, text.fontSize, text.color]});"""
    styles = {verdict: rest for verdict, *rest in browser.execute_script(script)}
    assert styles[FAILS] == styles[HOLDS] == styles[INCONCLUSIVE]


def test_every_figure_is_visible_on_white(open_page, page, page_figures):
    browser = open_page(page, dark=True)
    pictures = find(browser, "figure img")
    assert len(pictures) == len(page_figures)
    for picture in pictures:
        assert picture.is_displayed()
        assert browser.execute_script("return arguments[0].naturalWidth", picture) > 100
        assert picture.size["width"] > 300
        assert picture.size["height"] > 100
    white = "return getComputedStyle(document.querySelector('button.picture')).backgroundColor"
    assert browser.execute_script(white) == "rgb(255, 255, 255)"
    ground = browser.execute_script("return getComputedStyle(document.body).backgroundColor")
    assert ground != "rgb(255, 255, 255)"


def test_a_figure_opens_by_click_and_closes_by_button_and_escape(open_page, page, page_figures):
    browser = open_page(page)
    (viewer,) = find(browser, "#viewer")
    first, second = find(browser, "button.picture")
    assert not viewer.is_displayed()
    second.click()
    assert until(viewer.is_displayed)
    assert find(browser, "#viewer-title")[0].text == f"Figure 2. {page_figures[1].title}"
    assert viewer.size == {"width": 1280, "height": 900}
    assert until(lambda: image_width(browser) > 600)
    find(browser, "#viewer [data-act=close]")[0].click()
    assert until(lambda: not viewer.is_displayed())
    first.send_keys("\ue007")  # Enter: the button works without a pointer
    assert until(viewer.is_displayed)
    browser.switch_to.active_element.send_keys("\ue00c")  # Escape
    assert until(lambda: not viewer.is_displayed())
    assert browser.switch_to.active_element == first  # the reader is back where they were


def test_an_open_figure_zooms_by_buttons_keys_and_wheel_and_pans_by_dragging(open_page, page):
    from selenium.webdriver import ActionChains
    from selenium.webdriver.common.actions.wheel_input import ScrollOrigin

    browser = open_page(page)
    find(browser, "button.picture")[0].click()
    (stage,), (image,) = find(browser, ".viewer-stage"), find(browser, "#viewer img")
    assert until(lambda: image_width(browser) > 600)
    fitted = image.rect
    find(browser, "[data-act=in]")[0].click()
    assert image.rect["width"] == pytest.approx(1.5 * fitted["width"], rel=1e-3)
    browser.switch_to.active_element.send_keys("-")
    assert image.rect["width"] == pytest.approx(fitted["width"], rel=1e-3)
    wheel = ActionChains(browser).scroll_from_origin(ScrollOrigin.from_element(stage), 0, -400)
    wheel.perform()
    assert until(lambda: image_width(browser) > 1.9 * fitted["width"])  # exp(300/400) = 2.1
    before = image.rect
    ActionChains(browser).drag_and_drop_by_offset(stage, 80, 0).perform()
    assert image.rect["x"] - before["x"] == pytest.approx(80, abs=2)  # whole pixels
    assert image.rect["width"] == before["width"]
    find(browser, "[data-act=fit]")[0].click()
    assert image.rect == fitted


def test_an_open_figure_zooms_by_pinching(open_page, page):
    browser = open_page(page, width=375, height=812)
    find(browser, "button.picture")[0].click()
    assert until(lambda: image_width(browser) > 300)
    fitted = image_width(browser)

    def touch(kind, gap):
        points = [
            {"x": 187 + side * gap, "y": 400, "id": number} for number, side in enumerate((-1, 1))
        ]
        event = {"type": kind, "touchPoints": [] if kind == "touchEnd" else points}
        browser.execute_cdp_cmd("Input.dispatchTouchEvent", event)

    touch("touchStart", 30)
    for gap in (40, 60, 90):
        touch("touchMove", gap)
    touch("touchEnd", 90)
    # The fingers end three times as far apart as they began.
    assert until(lambda: image_width(browser) == pytest.approx(3 * fitted, rel=0.02))


@pytest.mark.parametrize("width", [320, 375, 768, 1280])
def test_the_page_never_overflows_sideways(open_page, page, width):
    browser = open_page(page, width=width, height=812)
    root = "document.documentElement"
    assert browser.execute_script("return innerWidth") == width  # nothing made the phone zoom out
    assert browser.execute_script(f"return {root}.scrollWidth") <= width
    apart = ".scroll, pre, .hidden, .skip, dialog, thead"  # these scroll or are out of sight
    inside = f"""return [...document.querySelectorAll("body *")].filter(e => !e.closest("{apart}")
        && e.getBoundingClientRect().right > innerWidth + 1).map(e => e.outerHTML.slice(0, 80))"""
    assert browser.execute_script(inside) == []
    size = browser.execute_script("return parseFloat(getComputedStyle(document.body).fontSize)")
    assert size >= 16


def test_on_a_phone_a_claim_is_a_card_that_names_its_values(open_page, page):
    browser = open_page(page, width=375)
    cell = find(browser, "td[data-label=Measured]")[0]
    assert browser.execute_script("return getComputedStyle(arguments[0]).display", cell) == "grid"
    label = "return getComputedStyle(arguments[0], '::before').content"
    assert browser.execute_script(label, cell) == '"Measured"'


def test_script_that_slipped_in_would_not_run(open_page, page):
    browser = open_page(page)
    added = """const s = document.createElement('script'); s.textContent = 'window.ran = true';
        document.body.append(s); return window.ran === undefined;"""
    assert browser.execute_script(added)
    blocked = browser.get_log("browser")  # the refusal is logged; read it, so it fails no test
    assert any("Content Security Policy" in line["message"] for line in blocked)


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
