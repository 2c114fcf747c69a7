"""An answer has five faces, and each shows all that it has to."""

import importlib
import json
import pickle
import sys

import numpy as np
import pytest
from matplotlib.figure import Figure

from foretrain.errors import ArgumentError, FolderError
from foretrain.figures import Drawing
from foretrain.figures.style import panels
from foretrain.report.answer import Answer, Table, plain

DATA = """
from dataclasses import dataclass
from foretrain.report.answer import Finding

@dataclass(frozen=True, repr=False)
class Count(Finding):
    many: int
"""
WORDS = """
from foretrain.report.answer import Answer, Table

def answer(count):
    return Answer("count", "A count", [f"There are {count.many}."], [], {}, numbers={"many": count.many})
"""


def draw():
    figure, ax = panels()
    ax.plot([0, 1], [2.0, 3.5], label="loss")
    return Drawing(figure, "A line", "It <rises>.")


MANY = tuple((f"row {n}", f"{n}.5") for n in range(20))
FEW = Table("Few", ("thing", "size"), [("a", "1"), ("bb", "200")], notes=["Below few."])
LONG = Table("Long", ("thing", "size"), MANY, MANY[:2], reading=["Size: how large."])
ANSWER = Answer(
    name="found",
    title="What was <found>",
    head=["It is 3.", "It was 2."],
    tables=[FEW, LONG, Table("Nothing here", ("a", "b"), [])],
    drawings={"line": draw, "cloud": None},
    doubts=["One number is a guess & a bad one."],
    numbers={"x": np.arange(2.0), "bad": np.nan, "of": {1: (True, None, np.float32(0.5))}},
)


def test_text_holds_every_line_once_numbers_flush_right():
    assert ANSWER.text().splitlines() == [
        "It is 3.",
        "It was 2.",
        "",
        "Few",
        "thing  size",
        "a         1",
        "bb      200",
        "Below few.",
        "",
        "Long",
        "thing  size",
        "row 0   0.5",
        "row 1   1.5",
        "",
        "Nothing here",
        "",
        "Trust",
        "One number is a guess & a bad one.",
    ]
    assert str(ANSWER) == ANSWER.text()
    narrow = ANSWER.text(12)
    assert max(map(len, narrow.splitlines())) <= 12
    assert narrow.split() == ANSWER.text().split()


@pytest.mark.parametrize(
    "cell", ["0.42", "-3", "1,234", "1.5e-12", "19.9 ± 0.2", "∞", "5 s", "88% (15 to 111)"]
)
def test_a_cell_that_begins_with_a_number_is_flush_right(cell):
    assert Table("", ("name", "a very long heading"), [("x", cell)]).lines()[-1] == f"x{cell:>24}"


@pytest.mark.parametrize("cell", ["0, 1, 2", "a 3", "4x4", "10-6"])
def test_a_cell_of_words_is_flush_left(cell):
    assert Table("", ("name", "a long heading"), [("x", cell)]).lines()[-1] == f"x     {cell}"


def test_a_prompt_shows_the_sentences_and_counts_what_is_doubted():
    assert ANSWER.brief() == (
        "What was <found>\n  It is 3.\n  It was 2.\n  1 line on trust; print() shows the tables, .plot() the picture."
    )


def test_numbers_are_those_of_json():
    assert json.loads(json.dumps(ANSWER.as_dict(), allow_nan=False)) == {
        "x": [0, 1],
        "bad": None,
        "of": {"1": [True, None, 0.5]},
    }
    assert plain(FEW)["rows"] == [["a", "1"], ["bb", "200"]]


def test_the_picture_is_the_first_and_stands_in_the_place_of_axes():
    assert ANSWER.plot().axes[0].lines[0].get_ydata().tolist() == [2.0, 3.5]
    figure = Figure()
    _, right = figure.subplots(1, 2)
    ANSWER.plot(right)
    assert figure.subfigs[0].axes[0].lines[0].get_label() == "loss"
    with pytest.raises(ArgumentError, match="`ax` must be axes made by `subplots`"):
        ANSWER.plot(3)


def test_a_notebook_shows_sentences_doubts_picture_and_short_tables():
    face = ANSWER._repr_html_()
    for text in ("What was &lt;found&gt;", "It was 2.", "a guess &amp; a bad one", "row 1"):
        assert text in face
    assert "row 2" not in face
    assert face.count("data:image/png;base64,") == 1
    assert face.count("<details") == 3


def test_a_folder_gets_numbers_pictures_and_a_page_and_loses_pictures_of_before(tmp_path):
    folder = tmp_path / "deep" / "er"
    folder.mkdir(parents=True)
    for name in ("cloud.svg", "cloud.csv", "other.svg"):
        (folder / name).write_text("")
    written = ANSWER.write(folder)
    assert [path.name for path in written] == ["found.json", "line.svg", "found.html"]
    names = {"found.json", "line.svg", "line.csv", "other.svg", "found.html"}
    assert {path.name for path in folder.iterdir()} == names
    assert json.loads(written[0].read_text("utf-8")) == ANSWER.as_dict()
    page = written[-1].read_text("utf-8")
    for text in (
        "<title>What was &lt;found&gt; - foretrain</title>",
        '<p class="lead">It is 3.</p>',
        "It was 2.",
        "a guess &amp; a bad one",
        "It &lt;rises&gt;.",
        "Below few.",
        "row 19",
        "Size: how large.",
    ):
        assert text in page
    assert "Nothing here" not in page
    assert page.count("data:image/svg+xml;base64,") == 1
    assert page.count("<details>") == 1  # the long table
    assert "http" not in page.replace("http-equiv", "").partition("</style>")[2]
    own = Answer("own", "Own", [], [], {"line": draw}, sections=lambda: "<section>mine</section>")
    assert "<section>mine</section>" in own.write(folder)[-1].read_text("utf-8")


def test_a_folder_that_cannot_be_made_is_refused_in_a_line(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(FolderError, match="Cannot write"):
        ANSWER.write(tmp_path / "file")


def test_words_of_a_finding_stand_beside_its_module_also_after_pickling(tmp_path, monkeypatch):
    (tmp_path / "counts_found.py").write_text(DATA)
    (tmp_path / "counts_found_words.py").write_text(WORDS)
    monkeypatch.syspath_prepend(tmp_path)
    count = importlib.import_module("counts_found").Count(3)
    assert "counts_found_words" not in sys.modules
    again = pickle.loads(pickle.dumps(count))
    assert again.answer().title == "A count"
    assert str(again) == "There are 3."
    assert repr(again).splitlines()[0] == "A count"
    assert again.as_dict() == {"many": 3}
