"""Folders of commands that are refused, stopped or repeated."""

import contextlib
import errno
import json
import os
import re
import shutil
import signal
import subprocess
import sys

import numpy as np
import pytest
from pseudo_terminal import in_terminal
from tiny_study import TINY

import foretrain
from foretrain.engine import coordinator
from foretrain.engine.sweep import execute
from foretrain.errors import ArgumentError, FolderError, StoreError, TooLarge
from foretrain.laboratory import conduct
from foretrain.laboratory.conduct import rebuild
from foretrain.laboratory.opened import opened
from foretrain.laboratory.stages import Stage
from foretrain.plans.options import Options
from foretrain.plans.plan import make_plan
from foretrain.results.files import disk_errors
from foretrain.results.lock import LockedError, lock
from foretrain.results.summary import read_summary

SMALL = {"steps": 40, "observe_every": 20, "quiet": True}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A finished folder of two short runs."""
    out = tmp_path_factory.mktemp("finished") / "a"
    foretrain.run("one-mode", seeds=2, workers=0, out=out, **SMALL)
    return out


@pytest.mark.parametrize(
    "options",
    [
        {"workers": -1},
        {"checkpoint_every": 0.0},
        {"keep_state": "sometimes"},
        {"shard": "3/2"},
        {"shard": 1},
        {"shard": (3, 2)},
        {"retrain": True, "keep": True},
        {"data_dir": b"here"},
    ],
)
def test_a_refused_command_changes_nothing(folder, tmp_path, options):
    before = (folder / "manifest.json").read_bytes()
    with pytest.raises(ArgumentError):
        foretrain.run("one-mode", seeds=9, out=folder, **SMALL, **options)
    assert (folder / "manifest.json").read_bytes() == before
    with pytest.raises(ArgumentError):
        foretrain.run("one-mode", out=tmp_path / "new", **SMALL, **options)
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize(
    ("present", "wanted", "overlap"),
    [
        ("sweep", (1, 2), True),
        ("shard-1-of-2", (1, 1), True),
        ("shard-1-of-3", (2, 2), True),
        ("shard-1-of-2", (2, 2), False),
    ],
)
def test_parts_that_overlap_exclude_each_other(tmp_path, present, wanted, overlap):
    plan = make_plan("one-mode", {"steps": 20, "observe_every": 20}, seeds=2)
    with lock(tmp_path, present):
        if overlap:
            with pytest.raises(LockedError):
                execute(plan, tmp_path, workers=1, shard=wanted)
        else:
            execute(plan, tmp_path, workers=0, shard=wanted)


def test_a_locked_folder_and_a_plan_that_is_too_large_leave_the_one_before(folder, monkeypatch):
    before = json.loads((folder / "manifest.json").read_text())
    with lock(folder, "sweep"), pytest.raises(LockedError):
        foretrain.run("one-mode", seeds=5, out=folder, workers=1, **SMALL)
    assert json.loads((folder / "manifest.json").read_text()) == before
    monkeypatch.setattr(coordinator, "physical_memory", lambda: 100)
    with pytest.raises(TooLarge, match="would take at least"):
        foretrain.run("one-mode", seeds=50, out=folder, workers=1, **SMALL)
    assert json.loads((folder / "manifest.json").read_text())["plan"] == before["plan"]


@pytest.mark.parametrize("when", ["Judging", "Drawing"])
def test_who_is_interrupted_after_training_has_results_and_is_not_done(folder, monkeypatch, when):
    def interrupt(stage):
        if stage.name == when:
            raise KeyboardInterrupt

    monkeypatch.setattr(conduct, "stages", lambda **_: contextlib.nullcontext(interrupt))
    with pytest.raises(KeyboardInterrupt):
        rebuild(folder)
    assert not (folder / "report.html").exists()
    assert bool(opened(folder).claims) == bool(read_summary(folder).claims) == (when == "Drawing")
    monkeypatch.setattr(conduct, "conclude", lambda *_, **__: "judged again")
    plan = make_plan("one-mode", {"steps": 40, "observe_every": 20}, seeds=2)
    assert conduct.conduct(plan, Options(out=folder, workers=1)) == "judged again"


def test_a_damaged_summary_is_written_anew_and_every_stage_of_it_is_told(folder, monkeypatch):
    (folder / "summary.json").write_text("{")
    with pytest.raises(StoreError):
        read_summary(folder)
    message: list[Stage] = []
    monkeypatch.setattr(conduct, "stages", lambda **_: contextlib.nullcontext(message.append))
    rebuild(folder)
    assert (folder / "summary.json").read_text().startswith("{\n")
    names = list(dict.fromkeys(stage.name for stage in message))
    assert names == ["Reading", "Predicting", "Judging", "Drawing"]
    assert [(stage.done, stage.total) for stage in message if stage.name == "Judging"] == [(0, 1)]
    assert {"loss", "strength"} <= {stage.note for stage in message}


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="signals and terminals of POSIX")
def test_a_stopped_job_leaves_lock_and_terminal_as_they_were_and_goes_on_later(tmp_path):
    out = tmp_path / "a"
    command = ["-m", "foretrain", "run", "one-mode", "--seeds", "3", "--workers", "1"]
    command += ["--steps", "500000000", "--out", str(out)]

    def stop(screen, job):
        if shown := screen.current.startswith("Training "):
            assert (out / "sweep.lock").exists()
            job.send_signal(signal.SIGTERM)
        return shown

    code, screen, _ = in_terminal(command, then=stop)
    assert code == 130
    *first, last = screen.left
    assert re.fullmatch("9 runs, about [^ ]+ steps, [^.]+[.]", " ".join(first))
    assert last == "foretrain: interrupted; the same command goes on from here."
    assert not (out / "sweep.lock").exists()


@pytest.mark.slow
def test_ctrl_c_at_any_stage_leaves_nothing_of_the_bar(tmp_path):
    # Every stage lasts long enough to be shown, and interrupted, on a fast machine too.
    sleep = "__import__('time').sleep(4)"
    text = f"{TINY}\nFIGURES = {{'lasting': lab.drawn(lambda grid: {sleep})}}\n"
    # Theory, too, waits for the end of the runs: what raises beside them is asked again.
    alone = "assert __import__('threading').current_thread().name == 'MainThread'"
    for head in ("inputs(p, seed)", "predict(p, step, seed)", "decays(c)"):
        text = text.replace(f"def {head}:\n", f"def {head}:\n    {alone}; {sleep}\n")
    (tmp_path / "lasting.py").write_text(text)
    study, out = str(tmp_path / "lasting.py"), str(tmp_path / "a")
    command = ["-m", "foretrain", "run", study, "--seeds", "1", "--workers", "1", "--out", out]
    for stage in ("Training", "Predicting", "Judging", "Drawing"):

        def interrupt(screen, job, stage=stage):
            return screen.current.startswith(stage) and b"\x03"

        code, screen, _ = in_terminal(command, 120, then=interrupt)
        assert code == 130, stage
        assert screen.left[-1] == "foretrain: interrupted; the same command goes on from here."
        assert len(screen.left) <= 2, "beside what was to be done, or was found done"
    code, screen, whole = in_terminal(command, 120)
    assert code == 0
    assert "Drawing" in whole
    assert screen.left[0].endswith("found done, nothing was trained.")
    assert any(re.match("holds +It decays", line) for line in screen.left)


@pytest.mark.parametrize("out", [b"bytes", "a\0b", "a" * 300, 3])
def test_a_folder_that_is_no_path_is_refused_in_one_line(out):
    with pytest.raises((ArgumentError, FolderError), match=r"`out`|too long") as refusal:
        foretrain.run("one-mode", out=out, **SMALL)
    assert "\n" not in str(refusal.value)


@pytest.mark.parametrize(
    "values", [np.array([0.1, 0.2]), np.linspace(0.1, 0.2, 2), {0.2, 0.1}, iter((0.1, 0.2))]
)
def test_anything_that_holds_several_values_makes_an_axis(values):
    assert make_plan("one-mode", {"init_scale": values}).axes == {"init_scale": (0.1, 0.2)}
    assert make_plan("one-mode", {"steps": range(100, 300, 100)}).axes == {"steps": (100, 200)}
    assert make_plan("rank-one", {"weight_decay": None}) == make_plan("rank-one", {})


@pytest.mark.slow
def test_python_that_skips_assertions_is_refused_in_one_line(tmp_path):
    command = [sys.executable, "-O", "-m", "foretrain", "run", "one-mode", "--out", tmp_path / "a"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr.startswith("foretrain: Results cannot be written or read under python -O")
    assert not (tmp_path / "a").exists()


def test_a_disk_that_is_full_while_figures_are_drawn_costs_none_of_them(folder, monkeypatch):
    def save(drawings, place):
        with disk_errors(place / "a.svg"):
            raise OSError(errno.ENOSPC, "no space is left")

    shutil.rmtree(folder / "figures")
    with monkeypatch.context() as patch:
        patch.setattr("foretrain.figures.save", save)
        with pytest.raises(FolderError, match=r"figures is full\. What was finished is kept"):
            rebuild(folder)
    foretrain.run("one-mode", seeds=2, workers=0, out=folder, **SMALL)
    assert list((folder / "figures").glob("*.svg"))


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no device that is always full")
def test_an_output_that_is_full_ends_in_one_line(folder):
    command = [sys.executable, "-m", "foretrain", "show", folder]
    own = {"env": {**os.environ, "PYTHONUNBUFFERED": ""}, "text": True, "check": False}
    with open("/dev/full", "w") as full:
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, **own)
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
