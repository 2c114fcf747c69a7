import os
import signal
import subprocess
import sys
import time

import pytest
import xarray as xr

import foretrain
from foretrain.dynamics import cluster
from foretrain.errors import ForetrainError
from foretrain.plans.plan import make_plan
from foretrain.results import journal

SWEEP = """study = "one-mode"
seeds = 4
[parameters]
steps = 600000
observe_every = 20000
[axes]
singular_value = {from = 0.1, to = 1.0, number = 8}
"""


def test_sbatch_script_runs_every_shard_once(tmp_path):
    script = cluster.sbatch_script("routing", tmp_path / "a b.toml", tmp_path / "out", 12, cores=2)
    assert script.startswith("#!/bin/bash\n")
    assert "#SBATCH --array=1-12\n" in script
    assert "--shard ${SLURM_ARRAY_TASK_ID}/12 --workers 2" in script
    assert f"'{tmp_path}/a b.toml'" in script
    done = subprocess.run(["bash", "-n"], input=script, text=True, capture_output=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.filterwarnings("ignore")
def test_a_scheduler_that_does_not_answer_is_named_within_ten_seconds(tmp_path):
    pytest.importorskip("distributed")
    began = time.monotonic()
    with pytest.raises(
        ForetrainError, match=r"`scheduler` must be .* but tcp://127\.0\.0\.1:9 does not answer"
    ):
        cluster.execute_on("tcp://127.0.0.1:9", make_plan("one-mode", {}), tmp_path)
    assert time.monotonic() - began < 10


def test_shards_are_refused_outside_their_range(tmp_path):
    with pytest.raises(ForetrainError, match="`shards` must be at least 1, but is 0"):
        cluster.sbatch_script("routing", tmp_path, tmp_path, 0)


def sweep(config, out, *options):
    command = [
        sys.executable,
        "-m",
        "foretrain",
        "sweep",
        str(config),
        "--out",
        str(out),
        "--quiet",
    ]
    return subprocess.Popen([*command, *options], stdout=subprocess.PIPE, stderr=subprocess.PIPE)


@pytest.mark.slow
@pytest.mark.timeout(560)
@pytest.mark.filterwarnings("ignore")
def test_killed_workers_and_clients_lose_nothing_and_change_no_bit(tmp_path):
    distributed = pytest.importorskip("distributed")
    config = tmp_path / "sweep.toml"
    config.write_text(SWEEP)
    plain = sweep(config, tmp_path / "plain", "--workers", "1")
    assert plain.wait(timeout=200) == 0, plain.stderr.read()

    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None
    ) as local:
        first = sweep(config, tmp_path / "out", "--scheduler", local.scheduler_address)
        wait_for_segments(tmp_path / "out", first)
        assert unfinished(tmp_path / "out")
        first.send_signal(signal.SIGKILL)
        first.wait()
        second = sweep(config, tmp_path / "out", "--scheduler", local.scheduler_address)
        time.sleep(2)
        assert unfinished(tmp_path / "out")  # else nothing would be lost with the worker
        victim = next(iter(local.workers.values()))
        os.kill(victim.pid, signal.SIGKILL)
        assert second.wait(timeout=240) == 0, second.stderr.read()

    ours, theirs = (foretrain.open(tmp_path / name).simulation for name in ("plain", "out"))
    xr.testing.assert_identical(ours, theirs)


def unfinished(folder):
    """Number of runs that the folder does not hold yet."""
    return 32 - len(journal.scan(folder).identities)


def wait_for_segments(folder, process, seconds=120):
    """Wait until some runs are durable, so that the kill comes in the middle."""
    for _ in range(10 * seconds):
        if process.poll() is not None:
            raise AssertionError(process.stderr.read().decode())
        if list(folder.glob("journal/*.npz")):
            return
        time.sleep(0.1)
    raise AssertionError("nothing was finished in time")
