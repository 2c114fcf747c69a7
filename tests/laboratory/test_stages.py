"""Progress of a run: the bar of a terminal and of a notebook, and the lines of a log."""

import io
import os
import sys
import time
from types import SimpleNamespace

import pytest
from pseudo_terminal import in_terminal

from foretrain.engine.progress import Progress
from foretrain.laboratory import stages
from foretrain.laboratory.stages import Pace, Stage, line, sentence, training
from foretrain.words import say

JUDGING = Stage("Judging", 12, 36, "cells")
RUNNING = Stage("Training", 12, 40, "runs", "9 converged, 3 took all steps", "at most 2 h 5 min")


def test_a_bar_and_a_line_of_a_log_tell_what_is_known_of_a_stage():
    assert "".join(line(JUDGING, 60, 42.3)) == "Judging     ━━━━────────  12 of 36 cells, for 42 s"
    assert "".join(line(JUDGING, 60, 42.3, "ascii")).startswith("Judging     ####--------  12 of")
    assert "".join(line(Stage("Drawing"), 80, 3.0)) == "Drawing     for 3 s"
    message = line(RUNNING, 140, 60.0)[-1]
    assert message == "12 of 40 runs, at most 2 h 5 min left, 9 converged, 3 took all steps"
    assert sentence(JUDGING, 42.3) == "Judging: 12 of 36 cells, for 42 s."
    drawing = Stage("Drawing", 0, 1, "figures", "loss")
    assert sentence(drawing, 1.5) == "Drawing: 0 of 1 figure, loss, for 1 s."
    assert sentence(Stage("Reading", of="runs"), 3.0) == "Reading, for 3 s."
    assert sentence(RUNNING, 60.0).endswith("3 took all steps, at most 2 h 5 min left.")


def test_a_run_goes_on_where_nobody_can_be_told(monkeypatch):
    closed = io.StringIO()
    closed.close()
    for stream in (None, closed):
        monkeypatch.setattr("sys.stderr", stream)
        with stages.stages() as tell:
            tell(JUDGING)
        say("Nobody reads this.")


def lines_of(*lasting: float) -> list[tuple[float, int]]:
    """When a log hears of which of some stages, told every half second; each lasts so many seconds."""
    pace, now, heard = Pace(), 0.0, []
    for number, length in enumerate(lasting):
        began = now
        while now < began + length:
            now += 0.5
            if pace.due(now, str(number), now - began):
                heard.append((now, number))
    return heard


def test_a_log_hears_little_of_a_run_and_something_of_every_long_stage():
    assert lines_of(3, 2, 4) == []
    assert lines_of(100) == [(10.0, 0), (20.0, 0), (40.0, 0), (80.0, 0)]
    assert lines_of(100, 1, 5, 30, 3)[4:] == [(116.0, 3)]  # the short ones say nothing
    hours = lines_of(36_000, 3600, 600)
    assert len(hours) < 85
    assert {number for _, number in hours} == {0, 1, 2}


def test_a_log_hears_what_is_to_be_done_of_a_long_sweep_alone(capsys):
    heard = []
    hear = training(heard.append)
    hear(Progress("starting", 3, 120, 20, predicted_steps=3.2e6, places="2 workers"))
    assert capsys.readouterr().err == (
        "100 runs, about 3.2e+06 steps, 3 programs to compile, 2 workers (20 runs were found done).\n"
    )
    hear(Progress("starting", 1, 10, predicted_steps=1e4))
    hear(Progress("running", 1, 10))
    hear(Progress("running", 3, 10))
    ended = {"outcomes": {"out_of_steps": 3, "stalled": 1}, "steps": 9}
    hear(Progress("running", 1, 10, 2, 4, **ended, remaining_s=70, bound=True))
    hear(Progress("running", 3, 10, 2, 4, **ended, remaining_s=1, uncompiled=2, compile_s=19.6))
    hear(Progress("stopped", 1, 10, 2, 4, **ended))
    assert capsys.readouterr().err == ""
    assert [sentence(stage, 12.0) for stage in heard[2:]] == [
        "Training: 0 of 10 runs, compiling the program, for 12 s.",
        "Training: 0 of 10 runs, compiling the first of 3 programs, for 12 s.",
        "Training: 6 of 10 runs, 3 took all steps, 1 stalled, at most 1 min 10 s left.",
        "Training: 6 of 10 runs, 3 took all steps, 1 stalled, 2 programs to compile in about 20 s, 20 s left.",
        "Stopping, what is done is kept: 6 of 10 runs, for 12 s.",
    ]


def test_what_is_no_terminal_gets_lines_and_nobody_is_told_what_is_quiet(capsys, monkeypatch):
    monkeypatch.setattr(stages, "_FIRST_S", 0.0)
    for quiet in (True, False):
        with stages.stages(quiet=quiet) as tell:
            tell(JUDGING)
            time.sleep(0.0 if quiet else 0.8)
        assert capsys.readouterr().err == ("" if quiet else "Judging: 12 of 36 cells, for 0 s.\n")


def test_a_notebook_gets_a_bar_below_its_cell_and_no_words_in_red(capsys, monkeypatch):
    drawn: list[str] = []
    cell, shell = SimpleNamespace(update=drawn.append), SimpleNamespace(kernel="of a notebook")
    offers = {"display": lambda *_, **__: cell, "get_ipython": lambda: shell, "HTML": str}
    for name in ("IPython", "IPython.display"):
        monkeypatch.setitem(sys.modules, name, SimpleNamespace(**offers))
    monkeypatch.setattr(stages, "_PATIENCE_S", 0.0)
    with stages.stages() as tell:
        tell(JUDGING)
        time.sleep(0.8)
    say("Said below the cell.")
    bar = '<progress value="12" max="36"></progress> 12 of 36 cells, for 0 s'
    assert drawn == [f"<label>Judging {bar}</label>", ""]
    assert capsys.readouterr() == ("Said below the cell.\n", "")


HELD_UP = """
import sys, time
from foretrain.laboratory import stages
stages._PATIENCE_S = 0.0
try:
    with stages.stages() as tell:
        for name in ("Training", "Judging", "Drawing"):
            tell(stages.Stage(name, 1, 3, "cells", "\\xe9" * 300))
            print("heard", name, file=sys.stderr)
            time.sleep(0.2)
        time.sleep(60 if len(sys.argv) > 1 else 0)
except KeyboardInterrupt:
    print("ended")
"""


@pytest.mark.skipif(os.name == "nt", reason="terminals of POSIX")
@pytest.mark.parametrize("locale", ["C.UTF-8", "C"])
def test_a_terminal_is_left_as_it_was(locale):
    """The lines printed meanwhile stand above the bar, of which nothing is left, not even a hidden cursor."""
    heard = [f"heard {name}" for name in ("Training", "Judging", "Drawing")]
    options = {"LC_ALL": locale, "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    for columns, more in ((60, []), (140, ["wait"]))[: 1 if locale == "C" else 2]:

        def interrupt(screen, job, more=more):
            return bool(more) and screen.current.startswith("Drawing") and b"\x03"

        command = ["-c", HELD_UP, *more]
        code, screen, whole = in_terminal(command, columns, then=interrupt, environment=options)
        assert code == 0, whole
        assert screen.left == heard + ["ended"] * len(more)
        assert ("━" in whole, "#" in whole) == (locale != "C", locale == "C")
        assert "\x1b[?25l" not in whole
