"""Several results: two side by side, and an index over a folder of them. Summaries are made up, pages are of one real run."""

import json
import shutil

import pytest
from made_claims import sample
from matplotlib import pyplot

from foretrain.cli import main
from foretrain.errors import FolderError
from foretrain.figures.overlaid import overlaid
from foretrain.laboratory.compare import compare
from foretrain.laboratory.index import results_below, write_index
from foretrain.results.summary import Summary, write_summary


def stored(folder, claims, **fields):
    folder.mkdir(parents=True)
    known = {"config": {"init_scale": 0.1, "steps": 5}, "seeds": 3, "runs": {"converged": 3}}
    write_summary(folder, Summary("routing", claims=tuple(claims), **known | fields))
    return folder


@pytest.fixture
def pair(tmp_path):
    first = stored(tmp_path / "a", [sample("x", 1.0), sample("y", 1.0), sample("gone", 1.0)])
    second = stored(
        tmp_path / "b",
        [sample("x", 1.0), sample("y", 3.0)],
        config={"init_scale": 0.2, "steps": 5},
        seeds=4,
    )
    return first, second


def test_what_was_asked_differently_is_told_and_nothing_else(pair, tmp_path):
    assert compare(*pair).differences == (("init_scale", "0.1", "0.2"), ("seeds", "3", "4"))
    assert compare(pair[0], pair[0]).differences == ()
    left = [sample("x", [1.0], (-9, 0), reason="one seed says nothing")]
    same = str(compare(*(stored(tmp_path / name, left) for name in "cd")))
    assert "Nothing was asked differently." in same
    assert same.count("one seed says nothing") == 1


def test_verdicts_that_differ_come_first_and_are_counted(pair, capsys):
    comparison = compare(*pair)
    assert comparison.changed == ["y", "gone"]
    lines = [line.split() for line in str(comparison).splitlines()]
    assert " ".join(lines[0]) == "2 verdicts of 3 differ."
    place = next(n for n, words in enumerate(lines) if words[:1] == ["claim"])
    assert lines[place + 1][:4] == ["*", "y", "holds", "fails"]
    assert lines[place + 2][:4] == ["*", "gone", "holds", "-"]
    assert lines[place + 3][:3] == ["x", "holds", "holds"]
    narrow = comparison.answer().text(40)
    assert max(len(line) for line in narrow.splitlines() if str(pair[0].parent) not in line) <= 40
    words = " ".join(narrow.split())
    assert "* y: first holds, second fails, value first 1, value second 3 * gone:" in words
    assert main(["compare", *map(str, pair), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["changed"] == ["y", "gone"]
    (ax,) = comparison.plot().axes
    assert [label.get_text() for label in ax.get_yticklabels()] == ["y", "gone", "x"]
    assert [line.get_label() for line in ax.lines if line.get_marker() == "o"].count("second") == 2


def test_a_folder_without_results_is_refused(tmp_path, pair):
    with pytest.raises(FolderError):
        compare(pair[0], tmp_path / "nothing")
    assert main(["compare", str(pair[0]), str(tmp_path)]) == 2
    assert main(["compare", *map(str, pair), "--step-column", "epoch"]) == 2


def curves(axis, values, height):
    drawn = [[[{"mean": [height, n], "seeds": []}]] for n in range(len(values))]
    cells = {str(n): {"xlabel": "Step", "x": [0, n + 1], "curves": c} for n, c in enumerate(drawn)}
    return {
        "axes": [[axis, values]],
        "variables": [{"name": "loss", "label": "Loss", "lines": [""]}],
        "cells": cells,
    }


def test_curves_are_laid_over_each_other_where_labels_are_equal():
    joined = overlaid(curves("rate", ["1", "2"], 7), curves("rate", ["2", "3"], 9), ["a", "b"])
    assert joined["variables"][0]["lines"] == ["a", "b"]
    assert list(joined["cells"]) == ["1"]  # rate 2 alone is in both
    cell = joined["cells"]["1"]
    assert cell["x"] == [0, 1, 2]
    assert cell["curves"][0] == [{"mean": [7, None, 1]}, {"mean": [9, 0, None]}]
    assert overlaid(curves("rate", ["1"], 7), curves("rate", ["3"], 9), ["a", "b"]) is None


@pytest.mark.slow
def test_the_page_of_two_results_shows_both(routing_folder, tmp_path, browser, open_page):
    other = shutil.copytree(routing_folder, tmp_path / "other")
    answer = compare(routing_folder, other).answer()
    assert "routing" in answer._repr_html_()
    open_page(answer.write(tmp_path / "out")[-1])
    assert len(browser.find_elements("css selector", ".strip")) == 2
    claims = json.loads((other / "summary.json").read_text())["claims"]
    rows = browser.find_elements("css selector", "table.claims tbody tr")
    assert len(rows) == len({claim["id"] for claim in claims})
    assert browser.find_elements("css selector", ".curves-plot canvas")
    assert browser.execute_script("return document.documentElement.scrollWidth") <= 1280


def test_an_index_has_a_card_per_result_and_names_what_it_could_not_read(
    routing_folder, tmp_path, pair, browser, open_page
):
    shutil.copytree(routing_folder, tmp_path / "deep" / "er")
    for picture in tmp_path.rglob("*.svg"):
        pyplot.imsave(picture, [[0.0] * 160] * 120)
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "summary.json").write_text("{")
    assert [path.name for path in results_below(tmp_path)] == ["a", "b", "broken", "er"]
    assert main(["report", str(tmp_path)]) == 0
    open_page(tmp_path / "index.html")
    cards = browser.find_elements("css selector", ".card")
    assert len(cards) == 3
    assert "steps 5, 4 seeds" in cards[1].text
    (image,) = browser.find_elements("css selector", ".card img")
    width = "return arguments[0].complete && arguments[0].naturalWidth"
    assert browser.execute_script(width, image) > 100
    assert "broken" in browser.find_element("css selector", "section").text
    with pytest.raises(FolderError, match="must hold results"):
        write_index(tmp_path / "a" / "nothing")
