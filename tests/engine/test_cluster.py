import asyncio
import os
import shlex
import signal
import socket
import subprocess
import sys
import threading
import time

import pytest
import xarray as xr

import foretrain
from foretrain.cli import main
from foretrain.engine import cluster
from foretrain.errors import ForetrainError
from foretrain.laboratory.sbatch import sbatch_script
from foretrain.results import journal

SWEEP = """study = "one-mode"
seeds = 4
[parameters]
steps = 600000
observe_every = 20000
[axes]
singular_value = {from = 0.1, to = 1.0, number = 8}
"""


def log_of(script):
    """Name of the log as SLURM reads it: quotes and backslashes first, then the doubled percent signs."""
    line = next(line for line in script.splitlines() if line.startswith("#SBATCH --output="))
    (argument,) = shlex.split(line.removeprefix("#SBATCH "))
    return argument.removeprefix("--output=").replace("%%", "%")


def test_sbatch_script_runs_every_shard_once_with_its_log_beside_any_folder(tmp_path):
    folder = tmp_path / "50% of 'it', \"so\" #1"
    script = sbatch_script("routing", tmp_path / "a b.toml", folder, 12)
    assert script.startswith("#!/bin/bash\n")
    assert "#SBATCH --array=1-12\n" in script
    assert "--shard ${SLURM_ARRAY_TASK_ID}/12 --workers 4" in script
    assert f"'{tmp_path}/a b.toml'" in script
    done = subprocess.run(["bash", "-n"], input=script, text=True, capture_output=True)
    assert done.returncode == 0, done.stderr
    assert log_of(script) == f"{folder}.slurm-%A-%a.log"
    assert f"--out {shlex.quote(str(folder))}" in script
    script = sbatch_script("routing", tmp_path / "a.toml", tmp_path / "not" / "yet", 2)
    assert log_of(script) == f"{tmp_path}/yet.slurm-%A-%a.log"
    assert not (tmp_path / "not").exists()


@pytest.mark.parametrize(
    ("name", "shards", "message"),
    [
        ("a\\b", 2, "`out` must have no backslash and no line break"),
        ("a\nb", 2, "`out` must have no backslash and no line break"),
        ("a", 0, "`shards` must be at least 1, but is 0"),
    ],
)
def test_a_log_that_slurm_cannot_name_and_no_shards_are_refused(tmp_path, name, shards, message):
    with pytest.raises(ForetrainError, match=message):
        sbatch_script("routing", tmp_path / "a.toml", tmp_path / name, shards)


def test_options_beside_emit_sbatch_go_into_the_script(tmp_path, capsys):
    (tmp_path / "a.toml").write_text(SWEEP)
    command = ["sweep", f"{tmp_path}/a.toml", "--out", f"{tmp_path}/out", "--emit-sbatch", "3"]
    for arguments, passed in (
        ("--keep-state no --checkpoint-every 60", ""),
        ("--yes --retry-failed --keep-state all", "--yes --keep-state all --retry-failed "),
    ):
        assert main([*command, *arguments.split()]) == 0
        assert f" --out {tmp_path}/out {passed}--shard $" in capsys.readouterr().out


@pytest.fixture
def stranger():
    """Starts servers that send some bytes to whoever connects and then say no more; gives their addresses."""
    sockets = []

    def answer(server, message):
        while True:
            try:
                peer, _ = server.accept()
            except OSError:
                return
            sockets.append(peer)
            peer.sendall(message)

    def start(message):
        server = socket.create_server(("127.0.0.1", 0))
        sockets.append(server)
        threading.Thread(target=answer, args=(server, message), daemon=True).start()
        return f"tcp://127.0.0.1:{server.getsockname()[1]}"

    yield start
    for each in sockets:
        each.close()


# Half a second is granted to answer, and one more to give up.
@pytest.mark.parametrize(
    "address",
    [
        *("nonsense", "http://127.0.0.1:9", "tcp://127.0.0.1:9", "tcp://no.such.invalid:1"),
        *("tls://a:1", b"", b"HTTP/1.0 400 Bad Request\r\n\r\n", bytes(64)),
    ],
)
def test_an_address_that_does_not_answer_or_speaks_no_dask_is_named(stranger, address, capfd):
    pytest.importorskip("distributed")
    address = stranger(address) if isinstance(address, bytes) else address
    began, threads = time.monotonic(), threading.active_count()

    async def notebook():  # asks from within an event loop
        cluster.connected(address, timeout=0.5)

    with pytest.raises(ForetrainError, match="`scheduler` must be the address of a") as caught:
        asyncio.run(notebook())
    assert time.monotonic() - began < 3
    assert f"but {address} does not answer (" in str(caught.value)
    assert len(str(caught.value).splitlines()) == 1
    assert threading.active_count() <= threads
    assert capfd.readouterr() == ("", "")
    assert main(["run", "one-mode", "--explain", f"--scheduler={address}"]) == 2


@pytest.mark.filterwarnings("ignore")
def test_a_client_of_a_scheduler_is_kept_and_a_worker_is_refused():
    distributed = pytest.importorskip("distributed")
    with distributed.LocalCluster(
        n_workers=1, threads_per_worker=1, processes=False, protocol="tcp", dashboard_address=None
    ) as local:
        with cluster.connected(local.scheduler_address) as client:
            assert sum(client.nthreads().values()) == 1
        with pytest.raises(ForetrainError, match=r"\(it is a Worker, not a scheduler\)"):
            cluster.connected(local.workers[0].address)


def sweep(config, out, *options):
    command = [sys.executable, "-m", "foretrain", "sweep", str(config), "--out", str(out)]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    return subprocess.Popen([*command, "--quiet", *options], **pipes)


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
        while not list(
            (tmp_path / "out").glob("journal/*.npz")
        ):  # so that the kill comes in the middle
            assert first.poll() is None, first.stderr.read().decode()
            time.sleep(0.1)
        assert unfinished(tmp_path / "out")
        first.send_signal(signal.SIGKILL)
        first.wait()
        second = sweep(config, tmp_path / "out", "--scheduler", local.scheduler_address)
        time.sleep(2)
        assert unfinished(tmp_path / "out")  # else nothing would be lost with the worker
        os.kill(next(iter(local.workers.values())).pid, signal.SIGKILL)
        assert second.wait(timeout=240) == 0, second.stderr.read()

    ours, theirs = (foretrain.open(tmp_path / name).simulation for name in ("plain", "out"))
    xr.testing.assert_identical(ours, theirs)


def unfinished(folder):
    return 32 - len(journal.scan(folder).identities)
