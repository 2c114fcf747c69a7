"""A folder of results from somebody else, with code beside it: every door opens it, and none runs that code."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tiny_study import RUN, TINY, contents

import foretrain
from foretrain.cli import main
from foretrain.errors import FolderError
from foretrain.plans import catalogue
from foretrain.plans.named_before import _MOST_NAMES, is_known, remember
from foretrain.registry.measure import measure

FIGURES = """
def two(grid):
    from foretrain.figures import curves
    return curves.draw(grid, ["pair"])["pair"]

FIGURES = {"two": lab.drawn(two)}
CLAIMS ="""
THEORY = "# Decay\n\nIt halves $x$.\n\nJudged by `tiny/decays`.\n"
WORDS = "strength of the start"
HOSTILE = "import pathlib\npathlib.Path({mark!r}).touch()\n"
NAMES = ("html.py", "numpy.py", "sitecustomize.py", "usercustomize.py", "mine.py", "study.py")


@pytest.fixture(scope="module")
def sent(tmp_path_factory):
    """A folder of results, its study beside it; the study leaves a mark where it is run from now on, and so do other files."""
    base = tmp_path_factory.mktemp("sent")
    (base / "tiny.py").write_text(
        TINY.replace("\nCLAIMS =", FIGURES).replace('"scale", above', f'"{WORDS}", above')
    )
    (base / "theory.md").write_text(THEORY)
    assert main(["run", str(base / "tiny.py"), *RUN, "--out", str(base / "in" / "out")]) == 0
    evil = HOSTILE.format(mark=str(base / "mark"))
    (base / "tiny.py").write_text((base / "tiny.py").read_text() + evil)
    for folder in (base / "in", base / "in" / "out"):
        for name in NAMES:
            (folder / name).write_text(evil)
    return base


@pytest.fixture
def hostile(sent, tmp_path, monkeypatch):
    """A copy of the folder that has been sent, the current folder within it; no mark may be there at the end."""
    shutil.copytree(sent / "in", tmp_path / "in")
    monkeypatch.chdir(tmp_path / "in" / "out")
    monkeypatch.setenv("FORETRAIN_CACHE_DIR", str(tmp_path / "cache"))
    yield tmp_path / "in" / "out"
    assert not (sent / "mark").exists(), "code of somebody else was run"


def forged(folder, **entries):
    """Edit the summary of a folder."""
    file = folder / "summary.json"
    file.write_text(json.dumps({**json.loads(file.read_text()), **entries}))


DOORS = {
    "show": ["show", "."],
    "show-check": ["show", ".", "--check"],
    "show-json": ["show", ".", "--json"],
    "report": ["report", "."],
    "report-elsewhere": ["report", ".", "--out", "../page"],
    "index": ["report", ".."],
    "index-elsewhere": ["report", "..", "--out", "../index"],
    "compare": ["compare", ".", "."],
    "compare-page": ["compare", ".", ".", "--out", "../both"],
    "export": ["export", ".", "--to", "csv", "--out", "../table"],
    "list": ["list"],
}
QUICK = {"show", "report", "report-elsewhere", "index", "compare-page", "export"}


@pytest.mark.parametrize(
    "door", [pytest.param(item, marks=[] if item in QUICK else pytest.mark.slow) for item in DOORS]
)
def test_no_door_of_the_command_line_runs_code_of_the_folder(hostile, door, capsys):
    before = contents(hostile)
    assert main(DOORS[door]) == 0
    assert "Traceback" not in capsys.readouterr().err
    assert contents(hostile) == before


def test_a_study_that_the_summary_names_as_a_path_is_not_run(hostile, sent, capsys):
    for name in (str(sent / "tiny.py"), "./mine.py", "."):
        forged(hostile, study=name)
        assert main(["report", ".."]) == 0
        assert main(["compare", ".", ".", "--out", "../both"]) == 0


def test_no_door_of_python_runs_code_of_the_folder(hostile, capsys):
    result = foretrain.open(hostile)
    assert result.grid.parameters is None
    assert list(result.figures) == ["loss", "pair"]
    assert all(result.plot(name).axes for name in result.figures)
    assert capsys.readouterr().err.count("Opening a result runs no code") == 1
    with pytest.raises(FolderError, match="Opening a result runs no code"):
        foretrain.rebuild(hostile)


@pytest.mark.filterwarnings("always")
@pytest.mark.parametrize("door", ["show", "show-json", "report-elsewhere", "compare", "index"])
def test_no_text_of_a_folder_steers_a_terminal_or_costs_the_page(hostile, door, capsys, recwarn):
    bad = "\x1b]0;a\x07\x9b31m\u202eb\u2028"
    forged(hostile, citations=[bad], remarks=[bad], problems=[bad], study=f"tiny{bad}")
    (hostile / "results.zarr" / bad).mkdir()
    assert main(DOORS[door]) == 0
    assert recwarn.list == []
    pages = [page.read_text("utf-8") for page in hostile.parent.rglob("*.html")]
    assert not ({*bad} - {*"]0;a31mb"}) & {*"".join([*capsys.readouterr(), *pages])}


@pytest.mark.parametrize("long", ["x" * 3000, "yy " * 1000])
@pytest.mark.parametrize("door", ["show .", "show . -v --check", "compare ../in/out ."])
def test_no_long_text_of_a_folder_is_printed_whole(hostile, sent, door, long, capsys):
    summary = json.loads((hostile / "summary.json").read_text())
    texts = {name: long for name, value in summary.items() if isinstance(value, str)}
    texts |= {"config": {"scale": long}, "versions": {"numpy": long, long: "2"}}
    texts |= {name: [long] for name in ("problems", "remarks", "history")}
    words = dict.fromkeys(("statement", "reason", "why", "source", "note", "among", "unit"), long)
    forged(hostile, **texts, claims=[{**claim, **words} for claim in summary["claims"]])
    main([word.replace("../in", str(sent / "in")) for word in door.split()])
    lines = "".join(capsys.readouterr()).splitlines()
    assert max(map(len, lines)) < 1100
    assert not any("x" * 81 in line for line in lines)


def test_no_word_of_a_study_steers_a_terminal_in_its_help(study, capsys):
    file = study('"width", m', f'"\\x1b]0;a\\x07\\x9b31m\\u202e{"x" * 3000}", m')
    with pytest.raises(SystemExit, match="0"):
        main(["run", str(file), "--help"])
    text = "".join(capsys.readouterr().out.split())
    assert "\\x1b]0;a\\x07\\x9b31m\\u202e" in text
    assert "x" * 81 not in text


@pytest.mark.parametrize(
    "words",
    "--singular-value=-- --on=nonsense --shard=9/2 --checkpoint-every=inf --out=/etc/passwd "
    f"--out=/proc/x --out={Path(__file__).parent}".split(),
)
def test_options_are_checked_where_nothing_is_run_too(words, capsys):
    assert main(["run", "one-mode", words, "--explain"]) == 2
    assert "must" in capsys.readouterr().err
    assert main(["run", "one-mode", "--root-seed", "x" * 3000]) == 2
    assert len(capsys.readouterr().err) < 200


def test_a_study_that_is_named_is_run_and_then_known_until_a_file_beside_it_changes(
    study, tmp_path, monkeypatch
):
    foretrain.run(study(), out=tmp_path / "out", workers=0, quiet=True, seeds=2, steps=20)
    monkeypatch.setenv("FORETRAIN_CACHE_DIR", str(tmp_path / "of another user"))
    with pytest.raises(FolderError, match=rf"--study {tmp_path / 'tiny.py'}"):
        foretrain.rebuild(tmp_path / "out")
    foretrain.rebuild(tmp_path / "out", tmp_path / "tiny.py")
    foretrain.rebuild(tmp_path / "out")
    (tmp_path / "out" / "figures").rename(tmp_path / "figures")
    (tmp_path / "out" / "figures").symlink_to(tmp_path / "figures")
    with pytest.raises(FolderError, match="its `figures` is a link"):
        foretrain.rebuild(tmp_path / "out")
    (tmp_path / "out" / "figures").unlink()
    known = catalogue.load(tmp_path / "tiny.py")
    assert is_known(known)
    page = Path(__file__).parents[2] / "docs" / "security.md"
    assert f"more than {_MOST_NAMES:,} names" in page.read_text("utf-8")
    binary = "a/b/c.pyc deep/__init__.so __pycache__/x.pyc"
    for name in f"helper.py helpers/tool.py {binary} my-tools/2024.py".split():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("evil = True\n")
        assert not is_known(known), name
        remember(known)
        assert is_known(known)
        (tmp_path / name).write_text("evil = 1\n")
        assert not is_known(known), name
        (tmp_path / name).unlink()
    for name in ("notes.txt", "no.module/x.py", "__pycache__/tiny.cpython-311.pyc"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("it is not imported\n")
    assert is_known(known)
    (tmp_path / "helpers" / "tool.py").write_text("evil = 3\n")
    with pytest.raises(FolderError, match="Opening a result runs no code"):
        foretrain.rebuild(tmp_path / "out")


def test_neither_the_registry_nor_the_site_runs_code_that_a_folder_or_a_record_names(
    hostile, sent, capsys
):
    with pytest.raises(FolderError, match="Opening a result runs no code"):
        measure(hostile)
    record = next((Path(__file__).parents[2] / "registry" / "one-mode").glob("*.toml")).read_text()
    assert record.count('study = "one-mode"') == 1
    for name in (str(sent / "tiny.py"), "./mine.py"):
        place = hostile.parent / "registry" / "evil"
        place.mkdir(parents=True, exist_ok=True)
        text = record.replace('study = "one-mode"', f'study = "{name}"')
        (place / "default.toml").write_text(text)
        for words in (["registry", "list"], ["publish", "--out", "../site"]):
            assert main([*words, "--registry", str(place.parent)]) == 2
            assert "must be lower-case letters" in capsys.readouterr().err


def test_what_is_stored_makes_a_page_with_sentences_derivations_meanings_figures_and_curves(
    hostile, capsys
):
    assert main(["report", ".", "--out", "../page"]) == 0
    page = (hostile.parent / "page" / "report.html").read_text()
    for text in ("It decays.", "Bigger.", "It halves", "<math", 'data-name="two"', "uPlot", WORDS):
        assert text in page, text
    assert "not drawn anew. Opening a result runs no code" in capsys.readouterr().err
    for start, shown in (('<svg viewBox="0 0 9 9">', True), ("<svg>", False)):
        text = f"{start}<script>alert(1)</script></svg>"
        (hostile / "figures" / "two.svg").write_text(text)
        assert main(["report", ".", "--out", "../page"]) == 0
        page = (hostile.parent / "page" / "report.html").read_text()
        assert ('data-name="two"' in page) is shown
        assert "alert(1)" not in page  # but as an image, in base64


@pytest.mark.slow
def test_a_page_that_is_there_stays_and_one_that_is_not_is_made(hostile, capsys):
    before = (hostile / "report.html").read_bytes()
    (hostile / "report.html").unlink()
    assert main(["report", "."]) == 0
    assert "Nothing was judged or drawn anew." in capsys.readouterr().err
    assert "It decays." in (hostile / "report.html").read_text()
    (hostile / "report.html").write_bytes(before)
    assert main(["report", "."]) == 0
    assert (hostile / "report.html").read_bytes() == before


@pytest.mark.slow
@pytest.mark.parametrize("start", [["-m", "foretrain"], ["-P", "-m", "foretrain"]])
@pytest.mark.parametrize("door", ["show", "report-elsewhere", "index", "compare-page", "export"])
def test_a_command_that_is_started_in_the_folder_imports_nothing_of_it(hostile, start, door):
    environment = {name: text for name, text in os.environ.items() if name != "PYTHONPATH"}
    environment["PYTHONPATH"] = str(Path(foretrain.__file__).parents[1])
    done = subprocess.run(
        [sys.executable, *start, *DOORS[door]], capture_output=True, text=True, env=environment
    )
    assert done.returncode == 0, done.stderr
