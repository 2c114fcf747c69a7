"""The journal against what really happens: processes killed in mid-writing, and disks that fill up."""

import os
import subprocess
import sys
import textwrap
import time

import numpy as np
import pytest

from foretrain.errors import FolderError
from foretrain.results.files import LOG, append_log
from foretrain.results.journal import Writer, scan
from foretrain.results.segment import FinishedRun

APPEND = textwrap.dedent(
    """
    import sys
    import numpy as np
    from foretrain.results.journal import Writer
    from foretrain.results.segment import FinishedRun
    writer, number = Writer(sys.argv[1], "w"), int(sys.argv[2])
    while True:
        number += 1
        loss = np.full(20_000, number, float)
        steps = np.arange(20_000)
        writer.append([FinishedRun(str(number), 1, 1, steps, {"loss": loss})])
        print(number, flush=True)
    """
)


def append_until_killed(folder, first, seconds):
    """Append runs in another process, kill it after some time, and return the number of the last append that returned."""
    process = subprocess.Popen(
        [sys.executable, "-c", APPEND, str(folder), str(first)], stdout=subprocess.PIPE, text=True
    )
    process.stdout.readline()
    time.sleep(seconds)
    process.kill()
    words, _ = process.communicate()
    return max([first + 1, *map(int, words.split())])


def test_killed_at_any_moment_no_appended_run_is_lost_and_no_segment_is_torn(tmp_path):
    last = 0
    for seconds in np.random.default_rng(0).uniform(0, 0.1, size=5):
        last = append_until_killed(tmp_path, last, seconds)
        result = scan(tmp_path)
        assert result.damaged == {}
        done = set(map(int, result.identities))
        assert done >= set(range(1, last + 1))
        last = max(done)


@pytest.mark.slow
def test_a_full_disk_keeps_what_was_finished_and_goes_on_when_there_is_room(small_disk):
    disk = small_disk(2**18)
    writer, done, ballast = Writer(disk, "w"), [], disk / "ballast"
    ballast.write_bytes(bytes(100_000))

    def append():
        number = len(done)
        loss = np.full(1000, number, float)
        writer.append([FinishedRun(str(number), 1, 1, np.arange(1000), {"loss": loss})])
        done.append(str(number))

    def fill():  # a segment has 16 kB, so that the disk is full after ten at most
        while len(done) <= 10:
            append()

    with pytest.raises(FolderError, match=r"^The disk that holds .* is full\.[^\n]*$"):
        fill()
    assert done
    result = scan(disk)
    assert (result.identities, result.damaged) == (done, {})
    assert not [path for path in (disk / "journal").iterdir() if path.name.startswith(".")]
    ballast.unlink()
    append()
    assert scan(disk).identities == done


def test_a_log_that_is_a_pipe_stops_nothing(tmp_path):
    os.mkfifo(tmp_path / LOG)
    append_log(tmp_path, "a line")
