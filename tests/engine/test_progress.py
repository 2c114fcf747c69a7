import sys
from pathlib import Path

from foretrain.engine.progress import Progress, describe, terminal_progress

sys.path.insert(0, str(Path(__file__).parent))
import toy_sweep


def test_what_is_to_be_done_is_said_with_the_number_of_programs():
    start = Progress("starting", groups=3, workers=2, total=120, found=20, predicted_steps=3.2e6)
    assert describe(start) == (
        "100 runs, about 3.2e+06 steps, 3 programs to compile, 2 workers (20 runs were found done)."
    )
    known = Progress("running", groups=1, workers=1, total=5, remaining_s=200.0)
    assert describe(known).endswith("1 program to compile, 1 worker; about 3 min 20 s.")


def test_a_log_hears_what_is_to_be_done_and_of_long_sweeps_how_long_it_takes(capsys):
    tell = terminal_progress()  # under pytest standard error is no terminal
    tell(Progress("starting", 1, 1, 10, predicted_steps=1e7))
    said = capsys.readouterr().err
    assert said == "10 runs, about 1e+07 steps, 1 program to compile, 1 worker.\n"
    tell(Progress("starting", 1, 1, 10, predicted_steps=1e4))
    tell(Progress("running", 1, 1, 10, elapsed_s=2, remaining_s=3.0))
    tell(Progress("done", 1, 1, 10))
    assert capsys.readouterr().err == ""
    tell(Progress("running", 1, 1, 10, elapsed_s=2, remaining_s=9000.0))  # too early to know
    tell(Progress("running", 1, 1, 10, elapsed_s=40, remaining_s=3000.0))
    tell(Progress("running", 1, 1, 10, elapsed_s=41, remaining_s=2999.0))
    tell(Progress("running", 1, 1, 10, finished=4, elapsed_s=90, remaining_s=2300.0))
    tell(Progress("running", 1, 1, 10, finished=4, elapsed_s=170, remaining_s=2200.0))
    lines = capsys.readouterr().err.splitlines()
    assert lines == ["0 of 10 runs done, 50 min left.", "4 of 10 runs done, 38 min 20 s left."]


def test_a_sweep_says_how_many_programs_before_it_starts_and_then_how_far_it_is(tmp_path):
    heard = []
    done = toy_sweep.sweep(
        tmp_path,
        seeds=3,
        parameters={"width": (2, 3), "longest": 40},
        workers=1,
        progress=heard.append,
    )
    first, last = heard[0], heard[-1]
    assert (first.phase, first.groups, first.total, first.finished) == ("starting", 2, 6, 0)
    assert first.predicted_steps > 0
    assert (last.phase, last.finished, last.riding) == ("done", 6, 0)
    assert last.outcomes == done.outcomes
    assert last.steps == done.steps > 0
    counts = [now.finished for now in heard]
    assert counts == sorted(counts)
