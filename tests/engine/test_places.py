"""Groups of runs go where trials say that they are faster; nothing here needs a GPU, which is faked by its name."""

from pathlib import Path
from typing import ClassVar

import pytest
import toy_sweep as toy
from toy_study import Parameters

from foretrain.engine import coordinator, places
from foretrain.engine.dispatch import SMALL_S, Group, Worker, choose_backend, next_group
from foretrain.engine.places import CPU, GPU, described, environment, take_places
from foretrain.engine.sweep import check_options
from foretrain.errors import ArgumentError
from foretrain.machine import usable_cores
from foretrain.results import journal
from foretrain.results.manifest import read_manifest


@pytest.fixture
def with_gpu(tmp_path, monkeypatch):
    """Let the machine have a GPU by name, and locks of its own."""
    (tmp_path / "locks").mkdir()
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path / "locks"))
    monkeypatch.setattr(places, "backends", lambda: (CPU, GPU))


def given_back(taken):
    for place in taken:
        place.give_back()
    return [place.backend for place in taken]


def test_there_are_no_more_workers_than_runs():
    assert [len(given_back(take_places(n, 2))) for n in (0, 1, 9)] == [1, 1, 2]
    assert take_places(4, 0) == []


def test_a_gpu_is_beside_the_cores_unless_one_of_them_is_asked_for(with_gpu):
    assert given_back(take_places(2, 100)) == [CPU, CPU, GPU]
    assert given_back(take_places(None, 3000)) == max(1, usable_cores() - 1) * [CPU] + [GPU]
    assert given_back(take_places(2, 100, CPU)) == [CPU, CPU]
    assert given_back(take_places(None, 100, GPU)) == [GPU]
    # What is computed on the host stays on the cores.
    assert given_back(take_places(2, 100, trains=False)) == [CPU, CPU]


def test_a_second_sweep_leaves_the_gpu_to_the_first(with_gpu):
    first = take_places(1, 100)
    assert described(first).startswith("1 worker and 1 on the GPU")
    assert given_back(take_places(1, 100)) == [CPU]
    given_back(first)
    assert given_back(take_places(1, 100)) == [CPU, GPU]


def test_jax_starts_on_the_gpu_or_does_not_start_and_cores_do_not_see_it(with_gpu, monkeypatch):
    monkeypatch.setenv("JAX_PLATFORMS", "")
    assert environment(CPU)["JAX_PLATFORMS"] == "cpu"
    assert environment(GPU) == {"JAX_PLATFORMS": "cuda,cpu"}


def test_a_backend_that_is_not_there_is_refused(monkeypatch):
    monkeypatch.setattr(places, "backends", lambda: (CPU,))
    how = {"workers": None, "checkpoint_every": 60.0, "keep_state": "no"}
    check_options(on=CPU, **how)
    for on in (GPU, "tpu"):
        with pytest.raises(ArgumentError, match=f"is .?{on}"):
            check_options(on=on, **how)


@pytest.fixture
def three():
    """A group of 1000 runs of a million steps in all, two workers on cores and one on the GPU, all idle."""
    group = Group(Parameters(), "g", count=1000, steps=1e6)
    group.waiting.extend(range(1000))
    return group, [Worker(None), Worker(None), Worker(None, backend=GPU)]


def test_a_group_goes_to_the_gpu_only_where_it_is_faster_than_the_cores(three):
    group, workers = three
    group.trials[GPU] = 1024, 1999.0
    assert choose_backend(group, [group], workers) is None  # the cores are not known
    group.trials[CPU] = 16, 1000.0  # of each of two workers
    assert choose_backend(group, [group], workers) == CPU
    group.trials[GPU] = 1024, 2001.0
    assert choose_backend(group, [group], workers) == GPU
    # Beside a second group it would have one core.
    other = Group(Parameters(), "other", count=1, steps=1.0)
    other.waiting.append(0)
    group.trials[GPU] = 1024, 1001.0
    assert choose_backend(group, [group, other], workers) == GPU


def test_a_tiny_group_stays_on_the_cores_and_a_large_one_awaits_the_gpu_only_while_it_is_free(
    three,
):
    group, workers = three
    group.trials[CPU] = 16, 1e6 / SMALL_S / 2 * 1.01
    assert choose_backend(group, [group], workers) == CPU
    group.trials[CPU] = 16, 1e6 / SMALL_S / 2 * 0.99
    assert choose_backend(group, [group], workers) is None
    workers[2].entered.add(1)
    assert choose_backend(group, [group], workers) == CPU
    assert choose_backend(group, [group], workers[:2]) == CPU
    assert choose_backend(group, [group], workers[2:]) == GPU


def test_no_worker_waits_at_a_group_that_is_on_trial_elsewhere(three):
    group, workers = three
    assert next_group([group], workers, GPU) is group
    group.trials[CPU] = 16, 1.0
    assert next_group([group], workers, CPU) is None
    assert next_group([group], workers, GPU) is group
    group.backend = GPU
    assert next_group([group], workers, CPU) is None


class Scripted:
    """A worker that computes nothing: it answers at once with the speed of its backend, and ends runs as they come."""

    rates: ClassVar[dict] = {}
    entered: ClassVar[dict] = {}
    dies = False

    def __init__(self, number, setup, answers, place):
        self.number, self.answers, self.backend = number, answers, place.backend
        self.writer = journal.Writer(Path(setup["folder"]), setup["worker"], "code", place.backend)
        self.say(say="ready", device=f"{self.backend}: of the test")

    def say(self, **message):
        self.answers.put((self.number, message))

    def send(self, message):
        if self.backend == GPU and self.dies:
            self.answers.put((self.number, None))
        elif message["do"] == "group":
            rate = self.rates[self.backend] if message["trial"] else 0.0
            lanes = message["lanes"] or {CPU: 3, GPU: 5}[self.backend]
            self.say(say="lanes", group=message["group"], lanes=lanes, bytes=(0, 0), rate=rate)
        else:
            rows = message["runs"]
            numbers = [number for number, *_ in rows]
            self.say(say="moved", entered=numbers, left=numbers, steps=0)
            for _, identity, *_ in rows:
                self.entered[identity] = self.backend
            self.say(say="durable", runs=[[number, 0, 1] for number in numbers])

    def stop(self):
        pass

    wait = kill = stop

    def reason(self):
        return "no GPU"


@pytest.fixture
def scripted(with_gpu, monkeypatch):
    monkeypatch.setattr(coordinator, "Process", Scripted)
    monkeypatch.setattr(Scripted, "entered", {})
    return Scripted


WIDTHS = {"width": [2, 3, 4]}


@pytest.mark.parametrize("speed", [1e-3, 1e3])
def test_all_runs_of_a_sweep_are_made_where_they_are_faster(scripted, tmp_path, monkeypatch, speed):
    monkeypatch.setattr(scripted, "rates", {CPU: 1.0, GPU: speed})
    done = toy.sweep(tmp_path / "out", seeds=20, parameters=WIDTHS, workers=2)
    assert len(scripted.entered) == done.ran == 60
    backend = GPU if speed > 1 else CPU
    result = list(scripted.entered.values())
    stored = read_manifest(tmp_path / "out")["lanes"]
    groups = ["width=2", "width=3", "width=4"]
    if backend == CPU:
        assert done.backends == (CPU,)
        assert set(result) == {CPU}
        assert stored == dict.fromkeys(groups, 3)
    else:
        # The GPU gets the group that it tries first; the cores do others meanwhile. A group has one backend.
        assert GPU in done.backends
        assert result.count(GPU) in (20, 40, 60)
        assert sorted(name.removeprefix("gpu: ") for name in stored) == groups
        assert {lanes for name, lanes in stored.items() if name.startswith("gpu: ")} == {5}
    assert not list((tmp_path / "out").glob("*.lock"))


def test_a_gpu_that_cannot_begin_is_left_out_and_said(scripted, tmp_path, monkeypatch):
    monkeypatch.setattr(scripted, "dies", True)
    monkeypatch.setattr(scripted, "rates", {CPU: 1.0, GPU: 1.0})
    remarks = set()
    heard = {"progress": lambda now: remarks.add(now.remark)}
    done = toy.sweep(tmp_path / "out", seeds=20, parameters=WIDTHS, workers=1, **heard)
    assert (done.ran, done.backends) == (60, (CPU,))
    line = "The GPU is left out, its worker ended before its first run (no GPU)."
    assert remarks - {""} == {line}


@pytest.mark.slow
def test_a_machine_whose_gpu_jax_cannot_use_goes_on_with_its_cores(with_gpu, tmp_path):
    remarks = set()
    done = toy.sweep(tmp_path / "out", workers=1, progress=lambda now: remarks.add(now.remark))
    assert (done.ran, done.backends) == (4, (CPU,))
    # The sweep may be over before the worker of the GPU has ended.
    assert all("GPU" in remark for remark in remarks - {""})
    assert journal.scan(tmp_path / "out").backends == {CPU: 4}


def test_a_folder_keeps_the_backend_of_a_group(scripted, tmp_path, monkeypatch):
    monkeypatch.setattr(scripted, "rates", {CPU: 1.0, GPU: 1e3})
    folder = tmp_path / "out"
    folder.mkdir()
    (folder / "manifest.json").write_text('{"lanes": {"gpu: width=2": 7, "width=3": 3}}')
    toy.sweep(folder, seeds=20, parameters={"width": [2, 3]}, workers=2)
    assert list(scripted.entered.values()).count(GPU) == 20
