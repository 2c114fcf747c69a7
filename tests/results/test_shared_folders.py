"""Folders of somebody else: what cannot be read or written has its line, nothing is trained again or made poorer."""

import errno
import os
import tempfile
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
import xarray as xr

from foretrain.cli import main
from foretrain.errors import FolderError
from foretrain.laboratory import conduct, stored_page  # noqa: F401 (of which the other user may not read the file)
from foretrain.plans.plan import make_plan
from foretrain.results.journal import Writer, scan
from foretrain.results.manifest import write_manifest
from foretrain.results.result import make_tree
from foretrain.results.root import doubts
from foretrain.results.segment import FinishedRun
from foretrain.results.store import begin_tree
from foretrain.results.summary import Summary, write_summary

OTHER = 12345


@contextmanager
def somebody_else():
    """Another user than the one who made the files; only the superuser can become one."""
    if os.geteuid() != 0:
        pytest.skip("only the superuser can be somebody else")
    os.seteuid(OTHER)
    try:
        yield
    finally:
        os.seteuid(0)


@pytest.fixture
def folder(tmp_path):
    plan = make_plan("one-mode", {}, seeds=2)
    whole = tmp_path / "run"
    whole.mkdir()
    write_manifest(whole, {"plan": plan.as_dict()})
    run = FinishedRun("0" * 32, 2, 1, np.arange(1), curves={"loss": np.zeros(1)})
    Writer(whole, "w").append([run])
    loss = xr.Dataset({"outcome": ("seed", np.zeros(2, np.int8))})
    begin_tree(whole, make_tree(simulation=loss))()
    write_summary(whole, Summary(study="one-mode"))
    theirs = Path(tempfile.gettempdir())
    for place in (tmp_path, *tmp_path.parents):  # pytest keeps them to itself
        if place != theirs and place.is_relative_to(theirs):
            os.chmod(place, 0o755)
    return whole


@pytest.mark.parametrize("what", ["journal", "segment"])
def test_a_journal_that_cannot_be_read_is_no_empty_one(folder, what):
    place = folder / "journal"
    os.chmod(place if what == "journal" else next(place.iterdir()), 0o000)
    with somebody_else(), pytest.raises(FolderError, match=r"Cannot read .*journal.*denied"):
        scan(folder)


def test_an_error_of_the_disk_is_no_damaged_segment(folder, monkeypatch):
    def fail(path, most):
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr("foretrain.results.journal.read_file", fail)
    with pytest.raises(FolderError, match=r"Cannot read .*npz: Input/output error"):
        scan(folder)


@pytest.mark.parametrize("verb", ["show", "report", "compare"])
def test_a_folder_that_is_closed_to_others_has_its_line(folder, verb, capsys):
    os.chmod(folder, 0o700)
    with somebody_else():
        assert main([verb, *[str(folder)] * (1 + (verb == "compare"))]) == 2
    text = capsys.readouterr().err
    assert "Cannot read" in text or "cannot be written to" in text
    assert "holds none" not in text
    assert len(text.strip().splitlines()) == 1


def test_a_folder_that_is_read_only_can_be_shown_and_keeps_all_that_it_holds(folder, capsys):
    (folder / "report.html").write_text("a page")
    main(["show", str(folder)])  # imports what the other user may not read
    with somebody_else():
        assert main(["show", str(folder)]) == 0
        with pytest.raises(FolderError, match="`folder` must be a folder that can be written to"):
            conduct.rebuild(folder)
        assert main(["report", str(folder)]) == 2
    assert (folder / "report.html").read_text() == "a page"
    assert "Traceback" not in capsys.readouterr().err


def test_a_store_that_cannot_be_read_is_neither_altered_nor_absent(folder, capsys):
    main(["show", str(folder)])  # imports what the other user may not read
    os.chmod(folder / "results.zarr", 0o700)
    with somebody_else():
        (line,) = doubts(folder)
        assert main(["show", str(folder)]) == 0
    assert "Cannot read" in line
    assert "not as foretrain wrote it" not in line
