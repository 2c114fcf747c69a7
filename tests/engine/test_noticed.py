"""Files and environment variables that a study reads besides what its runs are known by are named, and no others."""

import os
import tempfile
from pathlib import Path

import numpy as np
import pytest
from tiny_study import RUN, TINY

from foretrain import engine
from foretrain.cli import main
from foretrain.engine.noticed import Noticed
from foretrain.results.summary import read_summary

LINE = "def inputs(p, seed):\n"


def noticed(tmp_path, call):
    result = Noticed(tmp_path / "results")
    with result.watching():
        call()
    return result.new()


def test_a_file_that_is_read_while_the_study_is_called_is_named_by_its_path_and_once(
    tmp_path, monkeypatch
):
    np.save(tmp_path / "x.npy", np.zeros(3))
    monkeypatch.chdir(tmp_path)
    result = Noticed(tmp_path / "results")
    for number, expected in enumerate(([], [str(tmp_path / "x.npy")], [])):
        np.load("x.npy")
        with result.watching():
            number and np.load("x.npy")
        np.load("x.npy")
        assert result.new() == expected
    assert "reading" not in type(os.environ).__getitem__.__qualname__


def test_files_of_results_packages_the_system_and_those_it_wrote_or_named_are_left_out(tmp_path):
    (tmp_path / "results").mkdir()
    (tmp_path / "results" / "a.txt").write_text("1")
    (tmp_path / "named.txt").write_text("1")
    (tmp_path / "mine.py").write_text("1")
    places = [tmp_path / "results" / "a.txt", Path(np.__file__), Path("/etc/hosts")]
    places += [Path(engine.__file__).parents[1] / "references.bib", tmp_path / "mine.py"]

    def call():
        for place in places:
            if place.exists():
                place.read_bytes()
        with tempfile.NamedTemporaryFile("w", dir=tmp_path) as file:
            Path(file.name).read_text()
        (tmp_path / "own.txt").write_text("1")
        (tmp_path / "own.txt").read_text()
        (tmp_path / "named.txt").read_text()

    result = Noticed(tmp_path / "results")
    result.know([tmp_path / "named.txt", None])
    with result.watching():
        call()
    assert result.new() == []


def test_of_many_files_a_hundred_are_named(tmp_path):
    for number in range(120):
        (tmp_path / f"{number}.txt").touch()
    names = noticed(tmp_path, lambda: [file.read_text() for file in tmp_path.glob("*.txt")])
    assert len(names) == 100


@pytest.mark.parametrize(
    "read", [lambda n: os.environ[n], os.environ.get, os.getenv, lambda n: n in os.environ]
)
def test_a_variable_that_the_study_reads_is_named_and_not_what_it_holds(
    tmp_path, monkeypatch, read
):
    monkeypatch.setenv("SOME_THING", "secret")
    assert noticed(tmp_path, lambda: read("SOME_THING")) == ["$SOME_THING"]


def test_what_python_packages_and_foretrain_read_is_left_out(tmp_path, monkeypatch):
    monkeypatch.setattr("matplotlib.get_cachedir", lambda: str(tmp_path / "fonts"))
    (tmp_path / "fonts").mkdir()
    (tmp_path / "fonts" / "list.json").touch()

    def call():
        (tmp_path / "fonts" / "list.json").read_text()
        Path("~").expanduser()
        tempfile.mkdtemp(dir=tmp_path)
        np.show_config(mode="dicts")
        os.environ.get("FORETRAIN_DATA_DIR")

    assert noticed(tmp_path, call) == []


@pytest.fixture
def study(tmp_path):
    def write(body):
        (tmp_path / "x.npy").exists() or np.save(tmp_path / "x.npy", np.ones(1))
        (tmp_path / "tiny.py").write_text(TINY.replace(LINE, f"{LINE}    {body}\n"))
        return tmp_path / "tiny.py"

    return write


def remarks(file, name="out"):
    out = file.parent / name
    assert main(["run", str(file), *RUN, "--out", str(out)]) == 0
    return read_summary(out).remarks


def test_page_and_show_name_what_a_study_reads_and_its_verdicts_stay(study, tmp_path, capsys):
    body = f"np.load({str(tmp_path / 'x.npy')!r}); import os; os.environ.get('SOME_THING')"
    files, variables = remarks(study(body))
    assert str(tmp_path / "x.npy") in files
    assert "foretrain.study.data" in files
    assert "environment variables, SOME_THING:" in variables
    assert str(tmp_path / "x.npy") in (tmp_path / "out" / "report.html").read_text()
    capsys.readouterr()
    assert main(["show", str(tmp_path / "out")]) == 0
    assert "SOME_THING" in capsys.readouterr().out


@pytest.mark.slow
def test_what_a_study_reads_in_a_worker_or_as_it_is_imported_is_named_unless_it_is_its_data(
    study, tmp_path
):
    place = str(tmp_path / "x.npy")
    file = study(f"np.load(lab.data({place!r}))")
    assert len(remarks(file)) == 1, "it is not among what the study reads"
    named = f"def reads(p):\n    return [{place!r}]\n\n\n"
    file.write_text(file.read_text().replace(LINE, named + LINE))
    assert remarks(file, "other") == ()
    file = study("pass")
    file.write_text(file.read_text().replace("SOURCE =", f"DATA = np.load({place!r})\nSOURCE ="))
    words = ["run", str(file), "--seeds", "2", "--workers", "1", "--quiet"]
    assert main([*words, "--out", str(tmp_path / "top")]) == 0
    assert len(read_summary(tmp_path / "top").remarks) == 1


@pytest.mark.slow
@pytest.mark.parametrize("name", ["one-mode", "mask-spectrum"])
def test_of_studies_of_the_catalogue_nothing_is_named(name, tmp_path):
    assert main(["run", name, *RUN, "--out", str(tmp_path / "out")]) == 0
    assert read_summary(tmp_path / "out").remarks == ()
