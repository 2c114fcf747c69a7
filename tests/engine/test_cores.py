"""Every worker has a core of its own while there are enough, and a dead holder's core is free at once."""

import os
import signal
import subprocess
import sys

import pytest

from foretrain import machine
from foretrain.engine.cores import take_cores
from foretrain.machine import available_cores

pytestmark = pytest.mark.skipif(
    not hasattr(os, "sched_setaffinity"), reason="cores cannot be chosen here"
)
# Takes cores on the whole machine, says which they are and whether they are shared, and keeps them until it is ended.
HOLDER = """
import os, sys
os.sched_setaffinity(0, range(os.cpu_count()))
from foretrain.engine.cores import take_cores
print([(place.core, place.shared) for place in take_cores(int(sys.argv[1]))], flush=True)
sys.stdin.read()
"""


@pytest.fixture
def hold(tmp_path, monkeypatch):
    """Start processes that take cores; they are ended with the test."""
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    started = []

    def start(count):
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
        process = subprocess.Popen([sys.executable, "-c", HOLDER, str(count)], text=True, **pipes)
        started.append(process)
        return process, eval(process.stdout.readline())

    yield start
    for process in started:
        process.kill()
        process.communicate()


def test_two_processes_take_different_cores_and_a_killed_one_gives_its_core_back(hold):
    machine_cores = os.cpu_count()
    _, ours = hold(machine_cores - 1)
    second, others = hold(1)
    assert sorted(number for number, _ in ours + others) == list(range(machine_cores))
    assert not any(shared for _, shared in ours + others)
    third, ((_, shared),) = hold(1)
    assert shared  # every core is taken
    third.kill()
    third.wait()
    os.kill(second.pid, signal.SIGKILL)
    second.wait()
    assert hold(1)[1] == others


def test_workers_beyond_the_cores_share_them_evenly_and_cores_are_given_back(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    number = len(available_cores())
    taken = take_cores(2 * number)
    assert [place.core for place in taken] == 2 * available_cores()
    assert [place.shared for place in taken] == number * [False] + number * [True]
    for place in taken:
        place.give_back()
    again = take_cores(1)[0]
    assert (again.core, again.shared) == (taken[0].core, False)
    again.give_back()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a folder away")
def test_a_folder_of_somebody_else_is_not_used(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    (tmp_path / "foretrain").mkdir()
    os.chown(tmp_path / "foretrain", 12345, 12345)
    place = take_cores(1)[0]
    assert (place.shared, place.locks) == (True, ())
    assert not list((tmp_path / "foretrain").iterdir())


@pytest.fixture
def cgroups(tmp_path, monkeypatch):
    """Write the files of cgroups, path to text, and the membership of this process."""

    def write(membership, **files):
        (tmp_path / "membership").write_text(membership)
        for name, text in files.items():
            path = tmp_path / name.replace("__", "/")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.with_name(path.name.replace("_DOT_", ".")).write_text(f"{text}\n")

    monkeypatch.setattr(machine, "_MEMBERSHIP", tmp_path / "membership")
    monkeypatch.setattr(machine, "_MOUNT", tmp_path)
    monkeypatch.setattr(machine, "available_cores", lambda: list(range(16)))
    return write


def test_the_least_limit_of_time_among_all_cgroups_decides_rounded_up(cgroups):
    cgroups("0::/job/step", job__step__cpu_DOT_max="max 100000", job__cpu_DOT_max="250000 100000")
    assert machine.usable_cores() == 3
    cgroups("3:cpu,cpuacct:/job\n0::/", cpu__job__cpu_DOT_cfs_quota_us="50000")
    assert machine.usable_cores() == 16  # a quota without its period is none
    cgroups("3:cpu,cpuacct:/job\n0::/", cpu__job__cpu_DOT_cfs_period_us="100000")
    assert machine.usable_cores() == 1
    # A container shows its own cgroup as the root, under another path than the one outside.
    cgroups("4:cpu:/outside\n", cpu__cpu_DOT_cfs_quota_us="-1", cpu__cpu_DOT_cfs_period_us="100000")
    assert machine.usable_cores() == 16


def test_memory_that_only_buffers_files_is_free(cgroups):
    cgroups(
        "0::/job",
        job__memory_DOT_max="5000000",
        job__memory_DOT_current="4000000",
        job__memory_DOT_stat="anon 1000000\ninactive_file 3000000",
    )
    assert (machine.physical_memory(), machine.free_memory()) == (5e6, 4e6)
    cgroups("5:memory:/b", memory__b__memory_DOT_limit_in_bytes="7000000")
    assert machine.physical_memory() > 7e6  # nobody says how much is in use
    cgroups("5:memory:/b", memory__b__memory_DOT_usage_in_bytes="6000000")
    assert (machine.physical_memory(), machine.free_memory()) == (7e6, 1e6)
