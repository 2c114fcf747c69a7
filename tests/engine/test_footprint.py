"""The memory that a sweep says beforehand grows with what its lanes and its result hold, and with its programs."""

import pytest

from foretrain.cli import main
from foretrain.engine.dispatch import make_groups
from foretrain.engine.footprint import COPIES, HERE, PROGRAM, WORKER, footprint
from foretrain.plans.plan import make_plan, runs


def of(workers=2, seeds=4, **values):
    plan = make_plan("one-mode", values, seeds=seeds)
    wanted = list(runs(plan))
    return footprint(plan.study, wanted, make_groups(wanted, plan.study.estimate), workers), len(
        wanted
    )


def test_a_result_takes_every_observation_of_every_run():
    """Each run has its observations, so many more as the stride is shorter, and its finals."""
    found = {}
    for seeds, stride in ((4, 10), (4, 5), (8, 10)):
        one, number = of(seeds=seeds, steps=1000, observe_every=stride)
        found[seeds, stride] = (one.here - HERE) / COPIES / number
    assert found[8, 10] == pytest.approx(found[4, 10])  # by run
    observation = (found[4, 5] - found[4, 10]) / 100
    assert observation == pytest.approx(round(observation), abs=1e-6)
    assert 8 <= observation < 200  # of a loss and a few numbers more, in float64


def test_a_worker_holds_a_program_and_as_many_lanes_as_it_may_have_runs():
    few, _ = of(workers=1, seeds=3)
    many, _ = of(workers=1, seeds=6)
    assert WORKER + PROGRAM < few.worker < many.worker
    assert (many.worker - WORKER - PROGRAM) == pytest.approx(2 * (few.worker - WORKER - PROGRAM))


def test_a_run_and_a_sweep_say_time_and_memory_before_they_run(tmp_path, capsys):
    (tmp_path / "sweep.toml").write_text('study = "one-mode"\nseeds = 3\n')
    said = []
    for asked in (["sweep", str(tmp_path / "sweep.toml")], ["run", "one-mode", "--seeds", "3"]):
        assert main([*asked, "--out", str(tmp_path / "a"), "--explain"]) == 0
        (line,) = [x for x in capsys.readouterr().out.splitlines() if x.startswith("  memory")]
        said.append(line)
    assert said[0] == said[1]
    assert "at most " in line
    assert line.endswith("to judge and draw")
    assert not (tmp_path / "a").exists()


def test_the_time_that_is_said_grows_with_the_steps_that_are_left(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("foretrain.laboratory.explain.seconds_here", lambda cost: 100.0)
    for seeds, words in ((10, "about 1 min 40 s here"), (5, "about 50 s here")):
        asked = ["run", "one-mode", "--seeds", f"{seeds}", "--out", str(tmp_path / "a")]
        assert main([*asked, "--explain"]) == 0
        assert words in capsys.readouterr().out
