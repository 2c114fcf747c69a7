"""Looks at a page in a browser as a person would, and uses every control that stands on it.

Each function returns what is wrong, a line each. The browser is one that the fixture `open_page` opened.
"""

import time

SIZES = {1400: 900, 390: 844}  # of the two screens that pages are made for

_LOOK = r"""
const [width, height] = arguments, found = [], root = document.documentElement;
const name = (e) => e.outerHTML.slice(0, 90).replaceAll("\n", " ");
const box = (e) => e.getBoundingClientRect();
const seen = (e) => e.checkVisibility({ visibilityProperty: true }) && !e.closest(".hidden, .skip, dialog, thead");
if (innerWidth !== width) found.push(`the browser zoomed out to ${innerWidth} pixels`);
if (root.scrollWidth > width) found.push(`the body is ${root.scrollWidth} pixels wide`);
const all = [...document.body.querySelectorAll("*")];
const held = /auto|scroll|hidden/;
const scrolls = (e) => e && e !== document.body && (held.test(getComputedStyle(e).overflowX) || scrolls(e.parentElement));
for (const e of all) {
  const beyond = box(e).width && (box(e).right > width + 1 || box(e).left < -1);
  if (beyond && seen(e) && !scrolls(e.parentElement)) found.push(`sticks out: ${name(e)}`);
}
for (const e of document.querySelectorAll(".scroll")) {
  if (e.scrollWidth > e.clientWidth + 1) found.push(`a table is ${e.scrollWidth} pixels wide in ${e.clientWidth}: ${name(e)}`);
}
for (const image of document.images) {
  if (image.closest("dialog")) continue;
  if (!image.naturalWidth && image.loading !== "lazy") found.push(`no picture: ${name(image)}`);
  if (!image.alt) found.push(`a picture without words: ${name(image)}`);
}
const ids = all.map((e) => e.id).filter(Boolean);
found.push(...ids.filter((id, n) => ids.indexOf(id) < n).map((id) => `the id ${id} is twice there`));
for (const link of document.querySelectorAll("a[href]")) {
  const to = link.getAttribute("href");
  if (to.startsWith("#") ? !document.getElementById(decodeURIComponent(to.slice(1))) : to.startsWith("javascript")) {
    found.push(`a link to nowhere: ${to}`);
  }
}
// Words of a small plot: inside of its cell, none on another.
for (const plot of document.querySelectorAll("svg.forest")) {
  const words = [...plot.querySelectorAll("text")].filter((e) => e.textContent.trim()).map((e) => [e, box(e)]);
  words.forEach(([e, one], n) => {
    for (const [other, two] of words.slice(n + 1)) {
      if (one.left < two.right - 1 && two.left < one.right - 1) found.push(`${e.textContent} on ${other.textContent}`);
    }
  });
}
// Contrast of words with what they stand on, as WCAG has it.
const numbers = (colour) => (colour.match(/[\d.]+/g) || []).map(Number);
const light = ([r, g, b]) => [r, g, b].map((v) => v / 255)
  .map((v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4))
  .reduce((sum, v, n) => sum + v * [0.2126, 0.7152, 0.0722][n], 0);
function ground(e) {
  for (; e; e = e.parentElement) {
    const colour = numbers(getComputedStyle(e).backgroundColor);
    if (colour.length === 3 || colour[3] > 0) return colour;
  }
  return [255, 255, 255];
}
const pale = new Set();
for (const e of all) {
  if (![...e.childNodes].some((node) => node.nodeType === 3 && node.textContent.trim()) || !seen(e) || !box(e).width) continue;
  const style = getComputedStyle(e), ink = numbers(e instanceof SVGElement ? style.fill : style.color);
  const [high, low] = [light(ink), light(ground(e))].sort((a, b) => b - a);
  if ((high + 0.05) / (low + 0.05) < 4.5) pale.add(`${((high + 0.05) / (low + 0.05)).toFixed(1)}: ${name(e)}`);
}
found.push(...[...pale].slice(0, 5).map((line) => `pale words, ${line}`));
// The first screen.
for (const first of ["h1", ".lead", ".strip", "header figure img"]) {
  const e = document.querySelector(first);
  if (!e || !document.getElementById("claims")) continue;
  // A tall picture is as large as its words need: half of it is seen.
  const end = (e.closest(".tall") ? (box(e).top + box(e).bottom) / 2 : box(e).bottom) + scrollY;
  if (end > height) {
    found.push(`${first} ends at ${Math.round(end)}, below the first screen`);
  }
}
return found;
"""
_KEPT = """window.kept = []; URL.createObjectURL = (blob) => { kept.push(blob.size); return "blob:none"; };
HTMLAnchorElement.prototype.click = function () { kept.push(this.download); };"""
_VALUES = "return [...document.querySelectorAll('.u-series:not([hidden]) .u-value')].map((e) => e.innerText)"
_SWITCHES = r"""
// Of every variable: its curves are drawn, whatever is switched on and off.
const found = [], act = (name) => document.querySelector(`#curves-board [data-act=${name}]`), choice = act("variable");
for (const option of choice ? choice.options : [{ value: "0", text: "the only one" }]) {
  if (choice) { choice.value = option.value; choice.dispatchEvent(new Event("change")); }
  const rows = () => document.querySelectorAll(".u-series:not([hidden]) .u-label").length;
  if (rows() < 2) found.push(`${option.text} has no curve`);
  const before = rows();
  for (const name of ["logx", "logy", "seeds", "theory", "logx", "logy", "seeds", "theory"]) {
    act(name).click();
    const area = document.querySelector(".curves-plot");
    if (!area.querySelector("canvas") && !area.innerText) found.push(`${name} takes the curves of ${option.text} away`);
  }
  if (rows() !== before) found.push(`${option.text} has other curves after all switches were set back`);
}
return found;
"""
SET = """const [e, value, event] = arguments;
if (typeof value === "boolean") { if (e.checked !== value) e.click(); return; }
e.value = value; e.dispatchEvent(new Event(event, { bubbles: true }));"""


def find(browser, selector):
    return browser.find_elements("css selector", selector)


def until(condition, seconds=5.0):
    """Wait until `condition()` is true; its last value."""
    end = time.monotonic() + seconds
    while not (value := condition()) and time.monotonic() < end:
        time.sleep(0.02)
    return value


def troubles(browser, width):
    """Troubles of what stands there: widths, links, pictures, contrast, the first screen."""
    ready = (
        "return [...document.images].every((image) => image.complete || image.loading === 'lazy')"
    )
    until(lambda: browser.execute_script(ready))
    # What the first screen of another size would hold is not said.
    return browser.execute_script(_LOOK, width, SIZES.get(width, 1e9))


def use_everything(browser, width):
    """Use every control; what did not do what it is for, and what is wrong with the page afterwards."""
    browser.execute_script(_KEPT)
    result = [*_skip(browser), *_links(browser), *_folds(browser), *_viewer(browser)]
    result += [*_saving(browser), *_curves(browser)]
    return [*result, *troubles(browser, width)]


def _skip(browser):
    if not (links := find(browser, ".skip")):
        return
    browser.execute_script("scrollTo(0, 0); document.activeElement.blur();")
    find(browser, "body")[0].send_keys("\ue004")  # Tab
    if browser.switch_to.active_element != links[0] or links[0].rect["x"] < 0:
        yield "the first Tab does not show the link that skips"
    browser.switch_to.active_element.send_keys("\ue007")  # Enter
    if browser.execute_script("return location.hash") != "#content":
        yield "the link that skips does not"


def _links(browser):
    """Those to places of the page: the first and the last of each list are followed; all have their target, see `troubles`."""
    for listed in find(browser, ".strip, nav ul"):
        links = listed.find_elements("css selector", "a")
        for link in links[:1] + links[1:][-1:]:
            target = link.get_attribute("hash")
            link.click()
            top = "return document.querySelector(arguments[0]).getBoundingClientRect().top"
            here = browser.execute_script(top, target)
            if not -1 <= here < browser.execute_script("return innerHeight"):
                yield f"a link to {target} leads {here} pixels away from it"


def _folds(browser):
    rest = """return [...document.querySelectorAll("details")].filter((fold) => {
        if (!fold.open) fold.querySelector("summary").click();
        return !fold.open; }).map((fold) => fold.innerText.slice(0, 60))"""
    for words in browser.execute_script(rest):
        yield f"a fold stays shut: {words}"


def _viewer(browser):
    pictures = find(browser, "button.picture")
    for number in sorted({0, len(pictures) - 1} if pictures else ()):
        (viewer,), (image,) = find(browser, "#viewer"), find(browser, "#viewer img")
        pictures[number].click()
        if not until(lambda image=image: image.rect["width"] > 200):
            yield "a figure does not open"
        before = image.rect["width"]
        for act, larger in (("in", True), ("out", False), ("in", True), ("fit", False)):
            find(browser, f"#viewer [data-act={act}]")[0].click()
            if (image.rect["width"] > 1.2 * before) != larger:
                yield f"the button {act} of an open figure does not"
        browser.switch_to.active_element.send_keys("\ue00c")  # Escape
        if not until(lambda viewer=viewer: not viewer.is_displayed()):
            yield "Escape does not close a figure"
        if browser.switch_to.active_element != pictures[number]:
            yield "who closes a figure is elsewhere than before"


def _saving(browser):
    request = """return [...document.querySelectorAll("button[data-save]")].map((e) => {
        e.click(); return `${e.closest("figure").dataset.name}.${e.dataset.save}`; })"""
    names = browser.execute_script(request)
    got = "return kept.filter((e) => typeof e === 'string')"
    until(lambda: len(browser.execute_script(got)) >= len(names), 20)
    if sorted(browser.execute_script(got)) != sorted(names):
        yield f"asked to save {names}, saved {browser.execute_script(got)}"
    if any(size < 20 for size in browser.execute_script("return kept.filter(Number)")):
        yield "an empty file was saved"


def _curves(browser):
    from selenium.webdriver import ActionChains

    if not (boards := find(browser, "#curves-board")):
        return
    (board,) = boards
    browser.execute_script("arguments[0].scrollIntoView()", board)
    for slider in board.find_elements("css selector", "[data-axis], [data-explore]"):
        seen = set()
        last = int(slider.get_attribute("max"))
        for place in [*range(last + 1), 0]:
            browser.execute_script(SET, slider, str(place), "input")
            seen.add(slider.find_element("xpath", "following-sibling::output").text)
        if len(seen) != last + 1:
            yield f"a slider of {last + 1} values says {sorted(seen)}"
    if find(browser, ".curves-plot[hidden]"):  # theory alone, in numbers
        return
    if not until(lambda: find(browser, ".curves-plot canvas")):
        yield "no curve is drawn"
    (over,) = find(browser, ".u-over")
    for across in (0, 0.3):
        aside = int(across * over.rect["width"])
        ActionChains(browser).move_to_element_with_offset(over, aside, 0).perform()
    values = browser.execute_script(_VALUES)
    if not any(any(letter.isdigit() for letter in value) for value in values[1:]):
        yield f"no value is under the pointer: {values}"
    yield from browser.execute_script(_SWITCHES)
    browser.execute_script(
        "kept.length = 0; arguments[0].click()", find(browser, "#curves-board [data-act=csv]")[0]
    )
    if not browser.execute_script("return kept.some((e) => String(e).endsWith('.csv'))"):
        yield "the numbers of the curves are not saved"
