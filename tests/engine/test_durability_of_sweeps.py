"""Sweeps that are killed, starved and disturbed: nothing finished is lost, nothing runs twice, no bit changes."""

import os
import random
import shutil
import signal
import time

import numpy as np
import pytest
import toy_sweep as toy
from altered_files import flip

from foretrain.dynamics.program import CONVERGED, DIVERGED, FAILED, OUTCOMES, STALLED
from foretrain.engine import checkpoint, coordinator
from foretrain.errors import FolderError, ForetrainError
from foretrain.plans import catalogue
from foretrain.plans.plan import grid
from foretrain.results.folding import Layout, fold_all
from foretrain.results.manifest import read_manifest

SEEDS = 12
LONG = {"shortest": 1000, "longest": 30_000}
ORPHANS_END_S = 60  # on a busy machine; they notice at once


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    """The same sweep without any disturbance, and the seconds it took."""
    folder = tmp_path_factory.mktemp("undisturbed")
    began = time.monotonic()
    toy.sweep(folder, seeds=SEEDS, parameters=LONG, workers=1)
    return folder, time.monotonic() - began


def disturb(folder, due, whom):
    """Start the sweep with one worker, and kill its coordinator or its worker once `due()`; returns the runs that are done."""
    process = toy.start(folder, seeds=SEEDS, parameters=LONG, workers=1, checkpoint_every=0.1)
    while not due() and process.poll() is None:
        time.sleep(0.01)
    workers = toy.children(process.pid)
    if whom == "coordinator":
        process.kill()
        process.communicate()
    else:
        for worker in workers:
            os.kill(worker, signal.SIGKILL)
        code, _, err = toy.finish(process, timeout=100)
        assert code == 0, err
        assert FAILED not in {run.outcome for run in toy.by_identity(folder).values()}
    until = time.monotonic() + ORPHANS_END_S
    while any(map(toy.alive, workers)):
        assert time.monotonic() < until, f"workers outlive their coordinator by {ORPHANS_END_S} s"
        time.sleep(0.05)
    return set(toy.by_identity(folder))


def check_end(folder, whole, before):
    """Go on with a sweep, and compare it with the undisturbed one."""
    done = toy.sweep(folder, seeds=SEEDS, parameters=LONG, workers=0)
    assert toy.disagreements(folder, whole, already=before) == []
    assert (done.stored, done.ran) == (len(before), SEEDS - len(before))


def test_a_sweep_killed_with_runs_under_way_goes_on_from_their_checkpoint_as_if_it_had_not_been(
    tmp_path, undisturbed, monkeypatch
):
    whole, _ = undisturbed
    shutil.copy(whole / "manifest.json", tmp_path)
    before = disturb(tmp_path, lambda: checkpoint.find(tmp_path), "coordinator")
    seconds = [read_manifest(folder)["seconds"] for folder in (whole, tmp_path)]
    assert seconds[0] < seconds[1]  # those of the killed one are counted up to its last checkpoint
    riding, taken = set(checkpoint.find(tmp_path)) - before, set()
    read = checkpoint.read

    def watched(*request):
        options = read(*request)
        taken.update(options)
        return options

    monkeypatch.setattr(checkpoint, "read", watched)
    check_end(tmp_path, whole, before)
    assert riding
    assert taken == riding


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(1, 23))
def test_a_sweep_killed_at_a_random_moment_ends_as_if_it_had_not_been(tmp_path, undisturbed, seed):
    whole, seconds = undisturbed
    until = time.monotonic() + random.Random(seed).uniform(0.2, 1.0) * seconds
    shutil.copy(whole / "manifest.json", tmp_path)
    whom = "coordinator" if seed % 2 else "worker"
    check_end(tmp_path, whole, disturb(tmp_path, lambda: time.monotonic() > until, whom))


@pytest.mark.slow
def test_bits_do_not_depend_on_the_number_of_workers_at_the_manifest_s_lane_count(
    tmp_path, undisturbed
):
    shutil.copy(undisturbed[0] / "manifest.json", tmp_path)
    toy.sweep(tmp_path, seeds=SEEDS, parameters=LONG, workers=2)
    assert toy.disagreements(tmp_path, undisturbed[0]) == []


@pytest.mark.slow
def test_runs_end_for_their_reason_and_one_that_diverges_or_fails_changes_no_bit_of_others(
    tmp_path,
):
    results = []
    for name, parameters in (("calm", {}), ("wild", {"diverges": 1, "raises": 2})):
        (tmp_path / name).mkdir()
        (tmp_path / name / "manifest.json").write_text('{"lanes": {"default": 4}}')
        toy.sweep(tmp_path / name, seeds=6, parameters=parameters, workers=0)
        ended = toy.by_identity(tmp_path / name)
        runs = [ended[run.identity] for _, run in grid(toy.toy_plan(6, **parameters))]
        results.append([toy.run_bits(runs[seed]) for seed in (0, 3, 4, 5)])
    assert results[0] == results[1]
    assert runs[1].outcome == DIVERGED
    assert 0 < runs[1].steps_taken < 2000
    assert runs[2].outcome == FAILED
    assert "ValueError: the toy raises" in runs[2].note
    assert {runs[seed].outcome for seed in (0, 3, 4, 5)} <= {CONVERGED, STALLED}


@pytest.mark.slow
def test_a_run_that_kills_its_worker_three_times_fails_alone(tmp_path):
    assert toy.sweep(tmp_path, seeds=6, parameters={"kills": 4}, workers=1).ran == 6
    (failed,) = (run for run in toy.by_identity(tmp_path).values() if run.outcome == FAILED)
    assert "3 times" in failed.note


@pytest.mark.slow
def test_a_full_disk_stops_with_one_line_and_leaves_a_folder_that_resumes(tmp_path):
    process = toy.start(tmp_path, seeds=8, workers=1, environment={"TOY_FULL_AFTER": "1"})
    code, _, err = toy.finish(process, timeout=100)
    assert code == 2
    assert err.count("\n") == 1
    assert "No space left" in err or "full" in err
    toy.sweep(tmp_path, seeds=8, workers=0)
    assert len(toy.by_identity(tmp_path)) == 8
    assert set(toy.times_written(tmp_path).values()) == {1}


def test_a_second_process_on_the_same_folder_is_refused_with_host_and_process(tmp_path):
    first = toy.start(tmp_path, seeds=SEEDS, parameters=LONG, workers=1)
    try:
        while not (tmp_path / "sweep.lock").exists():
            assert first.poll() is None, first.communicate()
            time.sleep(0.01)
        with pytest.raises(FolderError, match=rf"in use by process {first.pid} on host"):
            toy.sweep(tmp_path, seeds=SEEDS, parameters=LONG, workers=1)
    finally:
        first.kill()
        first.communicate()


@pytest.mark.slow
def test_a_flipped_bit_in_a_segment_costs_its_runs_only(tmp_path, undisturbed):
    shutil.copytree(undisturbed[0], tmp_path, dirs_exist_ok=True)
    segments = sorted(tmp_path.glob("journal/*.npz"))
    victim = segments[len(segments) // 2]
    flip(victim)
    left = len(toy.by_identity(tmp_path))
    assert left < SEEDS
    again = toy.sweep(tmp_path, seeds=SEEDS, parameters=LONG, workers=0)
    assert (again.stored, again.ran) == (left, SEEDS - left)
    (line,) = toy.disagreements(tmp_path, undisturbed[0])
    assert line.startswith(f"{victim.name}: ")


@pytest.mark.slow
def test_failed_runs_are_trained_again_only_when_asked(tmp_path, monkeypatch):
    def broken(p, seed):
        if seed.number % 2:
            raise ValueError("no data today")
        return sound(p, seed)

    names = catalogue.load(toy.TOY).part("study")
    sound = names["inputs"]
    with monkeypatch.context() as patch:
        patch.setitem(names, "inputs", broken)
        toy.sweep(tmp_path, workers=0)
    assert toy.sweep(tmp_path, workers=0).ran == 0
    kept = {name: toy.run_bits(run) for name, run in toy.by_identity(tmp_path).items()}
    failed = {name for name, run in toy.by_identity(tmp_path).items() if run.outcome == FAILED}
    assert len(failed) == 2
    again = toy.sweep(tmp_path, workers=0, again=failed)
    assert (again.stored, again.ran) == (2, 2)
    assert FAILED not in {run.outcome for run in toy.by_identity(tmp_path).values()}
    assert set(toy.times_written(tmp_path).values()) == {1}
    answer = {name: toy.run_bits(run) for name, run in toy.by_identity(tmp_path).items()}
    assert sum(answer[name] == bits for name, bits in kept.items()) == 2


def test_a_result_too_large_to_fold_is_refused_before_training(tmp_path, monkeypatch):
    # Two observations of 8 numbers and 7 x 3 weights, of 4 bytes each, in 4 runs.
    least = 4 * 4 * (2 * 8 + 21)
    monkeypatch.setattr(coordinator, "physical_memory", lambda: least - 1)
    with pytest.raises(ForetrainError, match=r"would take at least .* GB of memory"):
        toy.sweep(tmp_path, workers=0)
    assert not toy.by_identity(tmp_path)
    # Runs that may take many more steps than they do are not refused.
    monkeypatch.setattr(coordinator, "physical_memory", lambda: least)
    assert toy.sweep(tmp_path, workers=0).ran == 4


def test_the_state_is_stored_when_asked_with_dims_of_its_own(tmp_path):
    toy.sweep(tmp_path, workers=0, keep_state="end")
    plan = toy.toy_plan()
    places = [(place, run.identity) for place, run in grid(plan)]
    result = fold_all(tmp_path, {"": Layout({}, plan.seeds, places, OUTCOMES)})[""]
    name, weights = "state_0_first", result["state_0_first"]
    assert {"state_0_second", "state_2", "state_3"} <= set(result)  # the random key and the counter
    assert weights.dims == ("seed", f"{name}_0", f"{name}_1")
    np.testing.assert_array_equal(weights, result["toy_weights"])
