"""Opening a result runs no code but foretrain's and that of studies which this user has named before."""

import os
import subprocess
import sys

import pytest

import foretrain
from foretrain.cli import main
from foretrain.errors import FolderError

MARK = "\n\nimport pathlib\n\npathlib.Path(__file__).with_suffix('.ran').touch()\n"


@pytest.fixture
def result(tmp_path, monkeypatch):
    """A folder of results of a study that leaves a mark where it is run, opened by a user who has named nothing yet."""
    monkeypatch.setenv("FORETRAIN_CACHE_DIR", str(tmp_path / "first"))
    mine = tmp_path / "own" / "mine.py"
    mine.parent.mkdir()
    assert main(["new", str(mine)]) == 0
    mine.write_text(mine.read_text() + MARK)
    foretrain.run(mine, out=tmp_path / "out", workers=0, quiet=True, seeds=2, steps=20)
    mark = mine.with_suffix(".ran")
    assert mark.exists()
    mark.unlink()
    monkeypatch.setenv("FORETRAIN_CACHE_DIR", str(tmp_path / "second"))
    sys.modules.pop("mine", None)
    return tmp_path / "out", mine, mark


def fresh(*words, cwd=None):
    """The command line in a process of its own."""
    line = [sys.executable, "-P", "-m", "foretrain", *words]
    return subprocess.run(line, capture_output=True, text=True, check=False, cwd=cwd, timeout=250)


@pytest.mark.slow
def test_no_way_to_open_a_result_runs_a_study_that_was_not_named(result):
    folder, _, mark = result
    for words in (["show"], ["report"], ["export", "--to", "csv"]):
        done = fresh(words[0], str(folder), *words[1:])
        assert "Traceback" not in done.stderr
        assert not mark.exists(), words
    script = (
        f"import foretrain; r = foretrain.open({str(folder)!r}); print(len(r.figures)); r.plot()"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=250
    )
    assert "not been named by you" in done.stderr
    assert not mark.exists()


def test_a_study_that_was_not_named_here_is_refused_with_what_to_do(result):
    folder, mine, mark = result
    with pytest.raises(FolderError, match=rf"--study {mine}"):
        foretrain.rebuild(folder)
    assert not mark.exists()


def test_a_study_that_is_named_is_run_and_then_known_until_a_file_beside_it_changes(result):
    folder, mine, _ = result
    foretrain.rebuild(folder, mine)
    foretrain.rebuild(folder)
    (mine.parent / "helper.py").write_text("evil = True\n")
    with pytest.raises(FolderError, match="Opening a result runs no code"):
        foretrain.rebuild(folder)


@pytest.mark.slow
def test_a_file_of_the_current_folder_never_stands_for_a_module_of_python_or_of_a_package(tmp_path):
    for name in ("html.py", "numpy.py"):
        (tmp_path / name).write_text("raise SystemExit('executed')\n")
    words = ["run", "one-mode", "--steps", "20", "--observe-every", "10", "--seeds", "1"]
    done = fresh(*words, "--workers", "1", "--out", str(tmp_path / "out"), cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "executed" not in done.stderr + "".join(os.listdir(tmp_path))
