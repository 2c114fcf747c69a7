import io
import json
import re

import numpy as np
import pytest
from made_claims import sample
from matplotlib.image import imread
from tiny_study import RUN, TINY
from visited import SET, SIZES, find, troubles, until

from foretrain.claims.claim import FAILS, HOLDS, INCONCLUSIVE
from foretrain.cli import main
from foretrain.figures import explore
from foretrain.registry.publish import publish
from foretrain.registry.sizes import shipped
from foretrain.report.answer import Answer, Table
from foretrain.report.document import write_document
from foretrain.report.page import render

# As on the page: those that fail first, corrected forms beneath what they correct.
ORDER = ("winner", "gap", "lone", "doubling-time", "doubling-time.corrected", "balance")


def write(folder, *content):
    return write_document(folder / "report.html", render(*content))


@pytest.fixture
def page(tmp_path, summary, page_figures):
    return write(tmp_path, summary, page_figures)


def image_width(browser):
    return find(browser, "#viewer img")[0].rect["width"]


def test_the_browser_shows_every_claim_with_its_verdict_in_words(open_page, page, summary):
    browser = open_page(page)
    claims = [claim for id in ORDER for claim in summary["claims"] if claim.id == id]
    badges = find(browser, "table.claims .badge")
    own = [claim.verdict for claim in claims if not claim.corrects]
    assert [badge.text.lower() for badge in badges] == own
    assert {HOLDS, FAILS, INCONCLUSIVE} == set(own)
    statements = [statement.text for statement in find(browser, "table.claims .statement")]
    links = ["More exactly (holds): " if claim.corrects else "" for claim in claims]
    assert statements == [f"{link}{c.statement}" for link, c in zip(links, claims, strict=True)]
    assert all(find(badge, "svg")[0].size["width"] > 8 for badge in badges)


def test_a_failed_claim_is_as_large_and_strong_as_one_that_holds(open_page, page):
    browser = open_page(page)
    script = """return [...document.querySelectorAll('tr[data-verdict]:not(.corrected)')].map(row => {
        const badge = getComputedStyle(row.querySelector('.badge'));
        const text = getComputedStyle(row.querySelector('.statement'));
        const look = [badge.fontSize, badge.fontWeight, text.fontSize, text.color];
        return [row.dataset.verdict, ...look]});"""
    styles = {verdict: rest for verdict, *rest in browser.execute_script(script)}
    assert styles[FAILS] == styles[HOLDS] == styles[INCONCLUSIVE]


@pytest.mark.parametrize("dark", [False, True])
def test_every_figure_can_be_read_and_is_as_dark_as_its_page(open_page, page, page_figures, dark):
    browser = open_page(page, dark=dark)
    pictures = find(browser, "figure img")
    assert len(pictures) == len(page_figures)
    for picture in pictures:
        assert picture.is_displayed()
        assert browser.execute_script("return arguments[0].naturalWidth", picture) > 100
        assert picture.size["width"] > 300
        assert picture.size["height"] > 100
        assert_light(imread(io.BytesIO(picture.screenshot_as_png))[..., :3], dark)
    colour = "return getComputedStyle(document.querySelector(arguments[0])).backgroundColor"
    for where in ("button.picture", "body"):
        ground = [int(part) for part in re.findall(r"\d+", browser.execute_script(colour, where))]
        assert max(ground) < 50 if dark else min(ground) > 240
    pictures[0].click()
    (image,) = find(browser, "#viewer img")
    assert until(lambda: image.rect["width"] > 600)
    assert_light(imread(io.BytesIO(image.screenshot_as_png))[..., :3], dark)


def assert_light(pixels, dark):
    """Of a picture the ground has the lightness of the page, its text the other, and what is blue stays blue."""
    light = pixels.mean(2)
    ground, ink = (light.min(), light.max()) if dark else (light.max(), light.min())
    assert np.median(light) == pytest.approx(ground, abs=0.02)
    assert (ground < 0.12 and ink > 0.75) if dark else (ground > 0.95 and ink < 0.25)
    red, _, blue = pixels[np.unravel_index(np.ptp(pixels, axis=2).argmax(), light.shape)]
    assert blue - red > 0.25


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
    ActionChains(browser).scroll_from_origin(ScrollOrigin.from_element(stage), 0, -400).perform()
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
        points = [{"x": 187 + s * gap, "y": 400, "id": n} for n, s in enumerate((-1, 1))]
        event = {"type": kind, "touchPoints": [] if kind == "touchEnd" else points}
        browser.execute_cdp_cmd("Input.dispatchTouchEvent", event)

    touch("touchStart", 30)
    for gap in (40, 60, 90):
        touch("touchMove", gap)
    touch("touchEnd", 90)
    # The fingers end three times as far apart as they began.
    assert until(lambda: image_width(browser) == pytest.approx(3 * fitted, rel=0.02))


@pytest.mark.parametrize("width", [320, 768])
def test_the_page_never_overflows_sideways_nor_has_pale_or_small_words(open_page, page, width):
    browser = open_page(page, width=width, height=812, dark=width == 768)
    assert not troubles(browser, width)
    size = browser.execute_script("return parseFloat(getComputedStyle(document.body).fontSize)")
    assert size >= 16


def test_on_a_phone_a_claim_is_a_card_with_its_plot_below(open_page, page):
    row = find(open_page(page, width=390), "table.claims tbody tr")[0]
    message, against = (
        row.find_elements("css selector", name)[0] for name in (".statement", ".forest")
    )
    assert against.rect["y"] > message.rect["y"] + message.rect["height"]
    assert against.rect["width"] > 250


def test_a_forest_plot_stands_where_the_numbers_say(open_page, page):
    browser = open_page(page, width=1400)
    script = """return [...document.querySelectorAll('tr[data-verdict]')].map(row => {
        const [band, dot] = ['rect.allowed', '.forest circle'].map(
            name => row.querySelector(name)?.getBoundingClientRect());
        return [row.dataset.verdict, band && dot && dot.left + dot.width / 2 > band.left - 1
            && dot.left + dot.width / 2 < band.right + 1];});"""
    result = browser.execute_script(script)
    assert all(inside for verdict, inside in result if verdict == HOLDS)
    assert not any(inside for verdict, inside in result if verdict == FAILS)


EXPLORING = TINY.replace("SOURCE = ", 'EXPLORE = ("scale", "learning_rate")\nSOURCE = ').replace(
    "near=1, inside=(0, 9), ",
    'near=lambda c: c.p.scale, inside=(0, 99), rank="headline", domain=lambda c: "large" * (c.p.scale > 5), ',
)
EXPLORING += "def explore(*case):\n    return {'loss': predict(*case)['loss']}\n"


def test_every_control_of_the_curves_changes_what_is_drawn(open_page, tmp_path):
    (tmp_path / "tiny.py").write_text(EXPLORING)
    words = [str(tmp_path / "tiny.py"), *RUN, "--learning-rate", "0.1", "0.2"]
    assert main(["run", *words, "--out", str(tmp_path / "out")]) == 0
    names = "return [...document.querySelectorAll('.u-series:not([hidden]) .u-label')].map(e => e.innerText).slice(1)"
    took = "const t = performance.now(); arguments[0].dispatchEvent(new Event('input')); return performance.now() - t"
    for width in SIZES:
        browser = open_page(tmp_path / "out" / "report.html", width=width)
        (variable,), (axis,) = find(browser, "[data-act=variable]"), find(browser, "[data-axis]")
        browser.execute_script(SET, variable, "1", "change")
        find(browser, "[data-act=theory]")[0].click()
        assert browser.execute_script(names) == ["mode 0, mean", "mode 1, mean"]
        find(browser, "[data-act=theory]")[0].click()
        browser.execute_script(SET, variable, "0", "change")
        browser.execute_script(SET, axis, "1", "input")
        assert axis.get_attribute("aria-valuetext") == "learning_rate 0.2"
        # A slider of theory: at once, by keyboard, in the first cell, with words where the domain ends.
        scale, rate = find(browser, "[data-explore]")
        (value,), (status,) = find(browser, ".predicted output"), find(browser, "[role=status]")
        assert (value.text, status.text) == ("1", "")
        assert np.median([browser.execute_script(took, scale) for _ in range(9)]) < 50
        scale.send_keys("\ue010")  # End
        assert browser.execute_script(names) == ["loss, mean", "loss, theory of seed 0 at scale 10"]
        assert (value.text, axis.get_attribute("value")) == ("10", "0")
        assert status.text == "Not claimed here (large): Bigger."
        stored = "return JSON.parse(document.getElementById('curves-data').textContent)"
        board = browser.execute_script(stored)
        assert max(len(json.dumps(slider)) for slider in board["explore"]["sliders"]) < 40_000
        (first, pair), *_, (last, _) = board["explore"]["sliders"][0]["theory"][12:]
        assert (*first, pair) == (board["cells"]["0"]["curves"][0][0]["seeds"][0], [])
        assert np.allclose(last, 100 * np.array(first), rtol=2e-3)
        rate.send_keys("\ue011")  # Home
        assert (value.text, scale.get_attribute("value")) == ("1", "12")
        assert not troubles(browser, width)
    # A table of sliders is kept until the theory is another.
    table, other = tmp_path / "out" / "sliders.json", EXPLORING.replace("pair**2", "2 * pair**2")
    for code, is_kept in ((EXPLORING, True), (other, False)):
        (tmp_path / "tiny.py").write_text(code)
        before = table.stat().st_mtime_ns
        assert main(["report", str(tmp_path / "out"), "--study", words[0]]) == 0
        assert (table.stat().st_mtime_ns == before) is is_kept


def test_curves_of_any_size_are_drawn_on_either_scale(open_page, tmp_path, summary):
    sizes = {"tiny": [1e-64, 3e-40, 1e-20, 0], "huge": [1e30, None, 1e32, 3e33], "same": [2] * 4}
    sizes |= {"wide": [1e-300, 1e-9, 1, 1e9], "none": [0, 0, -1, None]}
    sizes["near"] = [1, 1.01, 1.02, 1.03]
    curves = [[{"mean": values}] for values in sizes.values()]
    variables = [{"name": name, "label": name, "lines": [""]} for name in sizes]
    cell = {"xlabel": "Step", "x": [0, 1e-30, 1, 2], "curves": curves}
    live = {"axes": [], "variables": variables, "cells": {"": cell}}
    browser = open_page(write(tmp_path, summary, (), live))
    script = """const [n] = arguments, select = document.querySelector("[data-act=variable]");
        select.value = n; select.dispatchEvent(new Event("change"));
        return ["logx", "logy", "logx", "logy"].map((act) => { document.querySelector(`[data-act=${act}]`).click();
            return Boolean(document.querySelector(".curves-plot canvas")); });"""
    for number, name in enumerate(sizes):
        drawn = browser.execute_script(script, number)
        assert drawn == ([True, False, False, True] if name == "none" else [True] * 4), name


def test_a_switch_that_would_change_nothing_is_not_shown(open_page, tmp_path, summary):
    bare = {"xlabel": "Step", "x": [0, 1], "curves": [[{"mean": [4, 3]}]]}
    variables = [{"name": "loss", "label": "Loss </script>", "lines": [""]}]
    live = {"axes": [], "variables": variables, "cells": {"": bare}}
    browser = open_page(write(tmp_path, summary, (), live))
    shown = [box.is_displayed() for box in find(browser, ".controls input")]
    assert shown == [False, False, True, True]


def test_a_slider_moves_numbers_where_theory_tells_no_curve(open_page, tmp_path, summary):
    columns = {"values": ["1", "2"], "theory": [[], []], "texts": [["3"], ["4"]]}
    slider = {"name": "beta", "words": "", "start": 0, "phrases": [""], "notes": [0, 0], **columns}
    table = {"of": [], "places": [], "seed": "", "headlines": ["More."], "sliders": [slider]}
    browser = open_page(write(tmp_path, summary, (), explore.EMPTY | {"explore": table}))
    (box,), (value,) = find(browser, "[data-explore]"), find(browser, ".predicted output")
    assert value.text == "3"
    box.send_keys("\ue010")  # End
    assert value.text == "4"
    assert not any(part.is_displayed() for part in find(browser, ".curves-plot, [data-act]"))


def test_a_table_of_many_columns_is_a_list_on_a_phone(open_page, tmp_path):
    rows = [(f"path {n}", *map(str, range(5))) for n in range(2)]
    table = Table("Modes", ("path", "mode", "S", "D", "share", "outcome"), rows)
    *_, path = Answer("many", "Many", ["Columns."], [table], {}).write(tmp_path)
    browser = open_page(path, width=390, height=812)
    assert not troubles(browser, 390)
    cells = find(browser, "tbody tr:first-child td")
    tops = [cell.rect["y"] for cell in cells]
    assert tops == sorted(set(tops))
    label = "return getComputedStyle(arguments[0], '::before').content"
    words = [browser.execute_script(label, cell) for cell in cells]
    assert words == ['"mode"', '"S"', '"D"', '"share"', '"outcome"']
    cells = find(open_page(path, width=1400), "tbody tr:first-child td")
    assert len({cell.rect["y"] for cell in cells}) == 1


def test_a_figure_and_its_numbers_can_be_saved(open_page, page):
    browser = open_page(page)
    kept = """window.kept = []; URL.createObjectURL = blob => { kept.push(blob); return 'blob:none'; };
        HTMLAnchorElement.prototype.click = function () { kept.push(this.download); };"""
    browser.execute_script(kept)
    for kind in ("svg", "png", "csv"):
        find(browser, f"button[data-save={kind}]")[0].click()
    names = "return kept.filter(e => typeof e == 'string')"
    assert until(lambda: len(browser.execute_script(names)) == 3)
    assert set(browser.execute_script(names)) == {"curves.svg", "curves.csv", "curves.png"}
    text = "return kept.find(e => e.type == 'text/csv').text()"
    assert browser.execute_script(text).startswith("panel,series,x,y")


def test_a_link_opens_what_it_points_into_and_printing_shows_all(open_page, tmp_path, summary):
    claims = [sample("a", rank="headline"), sample("b", rank="control")]
    browser = open_page(write(tmp_path, {**summary, "claims": claims}))
    shut = "return document.querySelectorAll('details:not([open])').length"
    folded = browser.execute_script(shut)
    (row,) = find(browser, "#claim-1")
    assert not row.is_displayed()
    find(browser, ".strip a")[1].click()
    assert until(row.is_displayed)
    find(browser, "nav a[href='#parameters']")[0].click()
    assert until(find(browser, "#parameters table")[0].is_displayed)
    assert browser.execute_script(shut) == folded - 2
    browser.execute_script("dispatchEvent(new Event('beforeprint'))")
    assert browser.execute_script(shut) == 0
    browser.execute_script("dispatchEvent(new Event('afterprint'))")
    assert browser.execute_script(shut) == folded - 2


def test_the_site_of_the_registry_is_short_and_its_search_opens_folds(open_page, tmp_path):
    publish(shipped(), tmp_path)
    for width in SIZES:
        browser = open_page(tmp_path / "routing.html", width=width)
        assert troubles(browser, width) == []
    browser = open_page(tmp_path / "index.html", width=1400)
    assert troubles(browser, 1400) == []
    assert browser.execute_script("return document.documentElement.scrollHeight") <= 5000
    find(browser, "input[type=search]")[0].send_keys("routing/half-times ")
    links = find(browser, ".verdicts tr[data-verdict]:not([hidden]) a")
    assert {link.text.removesuffix("-digits") for link in links} == {"routing/half-times"}


def test_script_that_slipped_in_would_not_run(open_page, page):
    browser = open_page(page)
    added = """const s = document.createElement('script'); s.textContent = 'window.ran = true';
        document.body.append(s); return window.ran === undefined;"""
    assert browser.execute_script(added)
    blocked = browser.get_log("browser")  # the refusal is logged; read it, so it fails no test
    assert any("Content Security Policy" in line["message"] for line in blocked)
