"""Time and memory are told by a trial of the plan's own runs, and grow as the runs that are left."""

import dataclasses
from dataclasses import replace

import jax.numpy as jnp
import numpy as np
import pytest
from tiny_study import one_line

from foretrain.cli import main
from foretrain.dynamics.program import Completed
from foretrain.engine import estimate as module
from foretrain.engine.capacity import choose_lanes
from foretrain.engine.dispatch import Group
from foretrain.engine.estimate import COPIES, HERE, Trial, estimate
from foretrain.engine.lanes import Passenger
from foretrain.engine.sizes import bytes_per_lane
from foretrain.machine import memory_limited
from foretrain.plans.plan import make_plan, runs

COUNTS = '''"""Counting takes time in proportion to what is counted."""

import time
from dataclasses import dataclass

from foretrain.study import Run, declare, parameter

AXES = {"number": (2, 6)}
declare(total="What was counted.")


@dataclass(frozen=True)
class Parameters(Run):
    """Numbers."""

    number: int = parameter(2, "hundredths of a second", minimum=1)


def estimate(p):
    return p.number


def measure(p, seed):
    began = time.process_time()
    while time.process_time() < began + p.number / 100:
        pass
    return {"total": p.number}
'''


def of(monkeypatch, trial, *, workers=2):
    """The estimate of three runs of ten steps of each of three networks, with a made-up trial."""
    plan = make_plan("one-mode", {"steps": 10}, seeds=3)
    monkeypatch.setattr(module, "_trials", lambda *_: ({0: trial}, False))
    return estimate(plan, list(runs(plan)), workers=workers, conclude_s=3.0)


def test_seconds_are_those_of_all_rounds_of_lanes_and_memory_that_of_four_copies(monkeypatch):
    memory = {"kept": 1e6, "observed": 5e6, "peak": 3e8}
    trial = Trial(abreast=2, step_s=1.0, inputs_s=2.0, open_s=8.0, compile_s=100.0, **memory)
    text = of(monkeypatch, trial)
    assert text.run_s == pytest.approx((2 * 10 * 3 + 9 * 2.0) / 2, rel=0.01)
    assert text.open_s == pytest.approx(8.0 + module.START_S), "what was tried is compiled"
    assert text.seconds == text.run_s + text.open_s + 3.0
    assert text.core_s == pytest.approx(2 * (text.run_s + text.open_s) + 3.0)
    assert (text.worker, text.here) == (3e8 + 5e6, HERE + COPIES * 9e6)
    assert "for each of 2 workers" in text.memory
    assert of(monkeypatch, trial, workers=1).run_s == pytest.approx(5 * 10 + 9 * 2.0, rel=0.01)


def test_a_size_that_was_not_tried_lies_on_a_power_law_between_its_neighbours():
    parameters = dataclasses.make_dataclass("Parameters", ["width"])
    groups = [Group(parameters(width), "", count=1) for width in (4, 8, 16)]
    trials = {0: Trial(step_s=1.0, kept=100.0), 2: Trial(step_s=16.0, kept=100.0)}
    between = module._interpolated(groups, trials, 1)
    assert between.step_s == pytest.approx(4.0)
    assert between.kept == pytest.approx(100.0)


def test_a_trial_tells_observations_and_seconds_of_a_run_as_they_are():
    kept = []
    for stride in (10, 5):
        plan = make_plan("one-mode", {"steps": 1000, "observe_every": stride}, seeds=3)
        left = list(runs(plan))
        text = estimate(plan, left, workers=1)
        kept.append((text.here - HERE) / COPIES / len(left))
    assert (text.tried, text.kinds) == (1, 1)
    assert 1e8 < text.worker < 2e9
    assert 0 < text.run_s < 60
    observation = (kept[1] - kept[0]) / 100
    assert observation == round(observation)
    assert 8 <= observation < 200, "a loss and a few numbers more"


def test_runs_on_the_host_take_their_part_of_the_predicted_steps(tmp_path):
    (tmp_path / "counts.py").write_text(COUNTS)
    plan = make_plan(tmp_path / "counts.py", {}, seeds=5)
    text = estimate(plan, list(runs(plan)), workers=1)
    assert text.run_s == pytest.approx(5 * (0.02 + 0.06), rel=0.3)
    assert text.kinds == 1


def test_a_run_and_a_sweep_tell_time_and_memory_alike_before_they_run(tmp_path, capsys):
    (tmp_path / "counts.py").write_text(COUNTS)
    (tmp_path / "sweep.toml").write_text('study = "./counts.py"\nseeds = 3\n')
    for words in (["sweep", str(tmp_path / "sweep.toml")], ["run", str(tmp_path / "counts.py")]):
        assert main([*words, "--out", str(tmp_path / "a"), "--explain", "--workers", "1"]) == 0
        message = capsys.readouterr().out
        assert "  time        about " in message
        assert "on 1 idle core: " in message
        assert "by a trial of 1 kind of runs" in message
        assert "  memory      at most " in message
    assert not (tmp_path / "a").exists()
    (tmp_path / "counts.py").write_text(COUNTS.replace("    began", "    1 / 0\n    began"))
    assert main([*words, "--explain"]) == 2
    one_line(capsys.readouterr().err.split("\n", 1)[1], "counts.py, line 24: ZeroDivisionError")


def test_what_is_beyond_the_memory_of_a_worker_is_refused_before_it_is_made():
    with memory_limited(1e6), pytest.raises(MemoryError):
        np.ones(10**8)
    assert np.ones(10**6).all()


def test_the_largest_product_of_a_step_is_counted_and_a_step_that_fills_a_core_gets_few_lanes():
    program = Completed(
        init=lambda inputs: inputs["w"],
        step=lambda inputs, w: w - (inputs["x"].T @ (inputs["x"] @ w)),
        observe=lambda inputs, w: {},
        done=lambda inputs, w, observed: np.int8(0),
        finish=lambda inputs, w: {},
        observe_every=1,
        precision="float32",
    )
    inputs = {"x": jnp.zeros((1000, 3)), "w": jnp.zeros((3, 50))}
    product = 4 * (1000 * 3 + 3 * 50 + 1000 * 50)
    whole = bytes_per_lane(program, inputs, {}, 5)
    assert whole - bytes_per_lane(replace(program, in_turn=True), inputs, {}, 5) == product
    for rows, many, lanes in ((100, 15, 15), (1000, 15, 3), (100, 12, 8)):
        sample = Passenger("", {"x": jnp.zeros((rows, 3)), "w": inputs["w"], "max_steps": 9})
        assert choose_lanes(program, sample, {}, runs=many, steps=0.0, workers=1) == (lanes, 0.0)
