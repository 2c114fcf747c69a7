import json
import os
import re
import shutil
import socket
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from foretrain.errors import FolderError
from foretrain.results.lock import LockedError, lock, refuse_living

HOLD = textwrap.dedent(
    """
    import sys
    from foretrain.results.lock import lock
    with lock(sys.argv[1], "sweep"):
        print("held", flush=True)
        sys.stdin.read()
    """
)


def start(code, folder, *prefix):
    return subprocess.Popen(
        [*prefix, sys.executable, "-c", code, str(folder)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


@pytest.fixture
def holder(tmp_path):
    """Another process that holds the lock of the folder."""
    with start(HOLD, tmp_path) as process:
        assert process.stdout.readline() == "held\n"
        yield process
        process.kill()


def edited(folder, **odd):
    """The lock of the folder, with other entries."""
    path = folder / "sweep.lock"
    path.write_text(json.dumps({**json.loads(path.read_text()), **odd}))
    return path


def assert_taken(folder):
    with lock(folder, "sweep") as path:
        assert json.loads(path.read_text())["pid"] == os.getpid()


def assert_refused(folder, message):
    with pytest.raises(LockedError, match=message), lock(folder, "sweep"):
        pass
    assert (folder / "sweep.lock").exists()


def test_a_second_process_is_refused_with_host_and_process_id(tmp_path, holder):
    assert_refused(tmp_path, f"in use by process {holder.pid} on host {socket.gethostname()}")


@pytest.mark.parametrize("waited", [True, False])
def test_a_lock_of_a_killed_process_is_taken_over_though_nobody_waited_for_it(
    tmp_path, holder, waited
):
    holder.kill()
    os.waitid(os.P_PID, holder.pid, os.WEXITED | os.WNOWAIT)  # leaves it a zombie
    if waited:
        holder.wait()
    assert (tmp_path / "sweep.lock").exists()
    assert_taken(tmp_path)


@pytest.mark.parametrize("other", [{"started": "1"}, {"boot": "an earlier one"}])
def test_a_lock_of_another_process_of_that_id_or_of_an_earlier_start_is_taken_over(
    tmp_path, holder, other
):
    if "boot" in other and not json.loads((tmp_path / "sweep.lock").read_text())["machine"]:
        pytest.skip("this host has no machine id")
    edited(tmp_path, **other)
    assert_taken(tmp_path)


@pytest.mark.parametrize(
    ("other", "message"),
    [
        ({"namespace": "pid:[1]"}, r"process \d+ on host .*container or namespace"),
        ({"host": "elsewhere", "pid": 7}, "process 7 on host elsewhere"),
        *(
            ({"boot": "of another host", "machine": id}, "another one of this name or started anew")
            for id in ("another", "")
        ),
    ],
)
def test_a_lock_of_another_world_of_process_ids_or_host_is_refused_and_says_how_to_remove_it(
    tmp_path, holder, other, message
):
    edited(tmp_path, **other)
    assert_refused(tmp_path, message + r".*delete [^\n]*sweep\.lock\.$")


UNSHARE = ["unshare", "--pid", "--fork"]


def _unshare_works():
    if shutil.which("unshare") is None:
        return False
    done = subprocess.run([*UNSHARE, "--mount-proc", "true"], capture_output=True, check=False)
    return done.returncode == 0


@pytest.mark.skipif(not _unshare_works(), reason="`unshare --pid` is not permitted here")
@pytest.mark.parametrize("mount", [["--mount-proc"], []], ids=["own proc", "proc of the host"])
def test_of_two_containers_that_share_a_folder_one_gets_the_lock(tmp_path, holder, mount):
    """Whoever holds it: a process of the host, or one of another container whose process id is 1, as is the asker's."""
    once = "import sys; from foretrain.results.lock import lock\nwith lock(sys.argv[1], 'sweep'): print('held')"

    def asks():
        command = [*UNSHARE, *mount, sys.executable, "-c", once, str(tmp_path)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        return done.stdout + done.stderr

    assert "container or namespace, which cannot be asked from here" in asks()
    holder.communicate("", timeout=20)
    assert asks() == "held\n"
    with start(HOLD, tmp_path, *UNSHARE, *mount) as other:
        assert other.stdout.readline() == "held\n"
        assert "container or namespace, which cannot be asked from here" in asks()
        assert_refused(tmp_path, "cannot be asked from here")
        other.communicate("", timeout=20)
    assert_taken(tmp_path)


HOLDER = {"host": socket.gethostname(), "pid": 1, "started": "1"}


@pytest.mark.parametrize(
    "content",
    [
        *(None, "", "{", "[]", '{"pid": 3}', "[" * 3000, "x" * 10**5),
        *(json.dumps(HOLDER | odd) for odd in ({"pid": -1}, {"pid": 10**30}, {"pid": "1"})),
        *(json.dumps(HOLDER | odd) for odd in ({"host": 3}, {"started": 1}, {"boot": []})),
    ],
)
def test_an_unreadable_lock_or_a_folder_in_its_place_is_refused_and_says_how_to_remove_it(
    tmp_path, content
):
    path, message = tmp_path / "sweep.lock", r"^[^\n]*cannot be read.*delete .*sweep\.lock"
    if content is None:
        path.mkdir()
        message = r"^[^\n]*sweep\.lock[^\n]*$"
    else:
        path.write_text(content)
    for attempt in (lock(tmp_path, "sweep").__enter__, lambda: refuse_living(tmp_path, bool)):
        with pytest.raises(FolderError, match=message):
            attempt()


def test_a_lock_is_gone_after_the_block_unless_another_has_taken_it(tmp_path):
    assert_taken(tmp_path)
    assert os.listdir(tmp_path) == []
    with lock(tmp_path, "sweep") as path:
        path.write_text("of another")
    assert path.read_text() == "of another"
    with lock(tmp_path, "shard") as path:
        path.unlink()
        os.mkfifo(path)
    assert path.is_fifo()


def test_a_missing_folder_is_named(tmp_path):
    with pytest.raises(FolderError, match=r"Cannot write .*gone/sweep\.lock"):
        lock(tmp_path / "gone", "sweep").__enter__()


RACE = textwrap.dedent(
    """
    import sys, time
    from foretrain.errors import FolderError
    from foretrain.results.lock import lock
    print("ready", flush=True)
    sys.stdin.readline()
    try:
        with lock(sys.argv[1], "sweep"):
            print("held", flush=True)
            sys.stdin.readline()
    except FolderError as error:
        print(error, flush=True)
        sys.stdin.readline()
    """
)


def test_of_processes_that_race_for_a_stale_lock_one_wins(tmp_path):
    with lock(tmp_path, "sweep") as path:
        stale = {**json.loads(path.read_text()), "pid": 2**22 + 1, "started": "long ago"}
    path.write_text(json.dumps(stale))
    racers = [start(RACE, tmp_path) for _ in range(4)]
    for racer in racers:
        assert racer.stdout.readline() == "ready\n"
    for racer in racers:
        racer.stdin.write("\n")
        racer.stdin.flush()
    answers = [racer.stdout.readline() for racer in racers]
    for racer in racers:
        racer.communicate("\n", timeout=20)
    assert answers.count("held\n") == 1
    assert sum("in use by process" in answer for answer in answers) == 3


def test_a_patient_lock_waits_for_what_is_held_briefly(tmp_path):
    holder = start(HOLD.replace("sys.stdin.read()", "import time; time.sleep(0.5)"), tmp_path)
    assert holder.stdout.readline() == "held\n"
    with pytest.raises(LockedError, match="in use by process"), lock(tmp_path, "sweep"):
        pass
    with lock(tmp_path, "sweep", 30) as path:
        assert path.exists()
    holder.communicate()


STRESS = Path(__file__).parent / "stress_lock.py"


@pytest.mark.parametrize("file_system", [[], ["nolink"]], ids=["links", "no links"])
@pytest.mark.parametrize(
    ("processes", "turns"), [(3, 10), pytest.param(8, 1500, marks=pytest.mark.slow)]
)
def test_a_lock_that_dying_processes_leave_behind_is_never_held_by_two(
    tmp_path, processes, turns, file_system
):
    command = [sys.executable, STRESS, tmp_path, str(processes), str(turns), *file_system]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=380)
    counts = {name: int(number) for name, number in map(str.split, done.stdout.split(","))}
    assert counts["met"] == 0
    assert counts["after"] > 0  # from dead processes


def test_a_process_killed_while_it_removes_a_dead_lock_keeps_nobody_out(tmp_path, holder):
    dead = edited(tmp_path, started="1").read_text()
    for name in ("sweep.lock", ".sweep.lock.lock", "..sweep.lock.lock.lock"):
        (tmp_path / name).write_text(dead)
    with lock(tmp_path, "sweep") as path:
        assert os.listdir(tmp_path) == [path.name]
    assert os.listdir(tmp_path) == []


def test_who_waits_for_a_process_of_another_host_is_told_at_once(tmp_path, capsys):
    (tmp_path / "fold.lock").write_text(json.dumps({"host": "elsewhere", "pid": 7, "started": "x"}))
    with pytest.raises(LockedError), lock(tmp_path, "fold", 0.2):
        pass
    (line,) = capsys.readouterr().err.splitlines()
    assert re.fullmatch(
        r".* in use by process 7 on host elsewhere.* delete .*fold\.lock\. Waiting for it, 0\.2 s at most\.",
        line,
    )
