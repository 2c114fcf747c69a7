"""The cells of the tutorial and of every page of theory run in order and say what the page says."""

import ast
import re
from pathlib import Path

import pytest
from legible import troubles
from matplotlib.figure import Figure

DOCS = Path(__file__).parents[1] / "docs"
PAGES = sorted([DOCS / "tutorial.md", *DOCS.glob("theory/*.md")])
CELL = re.compile(r"^```\{code-cell\} ipython3\n(.*?)^```$", re.MULTILINE | re.DOTALL)
SLOW = {"learning-coefficients", "lazy-perceptron"}  # they take seconds
# What cells say that the prose says, too, or where rounding alone must be left.
SAID = {
    "tutorial": ["1 more: 1 holds", r"residual [\d.]+e-1\d", r"predicted loss [\d.]+e-1\d"],
    "connectivity": ["zero: 61;", "mixed: 52.5", "any pairs: one half at 29 .* 0.13", "23 .* 0.23"],
    "deep-linear": [
        r"half learned at \[1.334.* a / s is \[0.5 0.5 0.5\]",
        r"0.01 is off .*e-02\n.* 0.001 is .*e-03",
        r"two by \de-1\d",
    ],
    "gated-networks": [r"0.35355339\] 0.25", r"e-1\d True", r"Attainable\(loss=0.0"],
    "grokking": [
        r"\[3, 7, 70\]",
        r"30. +, 31.27, 36.55, 38.38",
        r"labels: [\d.]+e-1\d",
        "held: True",
        r"in 0.[67]\d",
    ],
    "interaction-basis": [r"(\[[^]]*\])\n \1\n \1", "identity: .*e-1[1-5]", "1. .* 0.5"],
    "landscapes": [r"λ_Z (0.1552), mean of λ\(ε\) \1", r"λ_Z (0.2145), .* \1"],
    "lazy-perceptron": [r"alpha = 1: 8\d%", r"69\d\d steps later\nln\(2\).* 6931"],
    "learning-coefficients": ["trusted", "exactly 4.69, and 5 in the limit"],
    "masked-rank-one": [
        r"is ([\d.]+),.*\n.*\1.*\n.*\1.*0.4520\d\d\n",
        "0.127",
        "0.353",
        "0.626",
        "told: .*e-1",
    ],
    "ridge-grokking": [r"descent by .*e-1[2-5]", r"fitted at \d+, generalised at \d{5}\n"],
    "routing": [r"0.5 0.5 0.5 0.5", r"1.0006\n.*1.0005\n.*0.9965\n.*0.9916\n.*0.980.\n.*0.9497"],
    "s-curves": [r"differ by .*e-1[3-6]", r"flow +0.4\d\d to 1.2\d\d\nin.* 0.4\d\d to 1.2\d\d"],
}


def run(cell: str, name: str, names: dict):
    """Run a cell and print or return its last expression, as a notebook does."""
    tree = ast.parse(cell, name)
    last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, name, "exec"), names)
    return None if last is None else eval(compile(ast.Expression(last.value), name, "eval"), names)


@pytest.mark.parametrize(
    "page", [pytest.param(p, id=p.stem, marks=[pytest.mark.slow] * (p.stem in SLOW)) for p in PAGES]
)
def test_the_cells_of_a_page_run_and_say_what_it_says(page, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    text = page.read_text("utf-8")
    assert text.startswith("---\nfile_format: mystnb\nkernelspec:\n  name: python3\n---\n")
    names: dict = {"__name__": "__main__"}
    for number, cell in enumerate(CELL.findall(text), 1):
        shown = run(cell, f"{page.name}, cell {number}", names)
        if isinstance(shown, Figure):
            assert not troubles(shown)
            assert shown._repr_png_().startswith(b"\x89PNG")
        elif shown is not None:
            print(repr(shown))
    words = capsys.readouterr().out
    for pattern in SAID[page.stem]:
        assert re.search(pattern, words), f"{pattern} is not in\n{words}"


def test_every_block_of_a_notebook_that_is_marked_as_a_cell_is_found():
    assert {page.stem for page in PAGES} == set(SAID)
    for page in PAGES:
        text = page.read_text("utf-8")
        assert text.count("{code-cell}") == len(CELL.findall(text)) > 0, page.name
