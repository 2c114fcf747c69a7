"""Processes that take a lock, look if another process is inside, and leave or die.

``python stress_lock.py FOLDER PROCESSES TURNS [nolink]`` prints how often the lock was taken while none was there, how
often after one that was, how often it was refused, and how often another process was inside.
"""

import errno
import os
import random
import signal
import sys
import time
from pathlib import Path

from foretrain.errors import FolderError
from foretrain.results.lock import lock


def turn(folder: Path, draw: random.Random) -> None:
    """Take the lock once, unless another process has it: leave a byte in a file of what was seen inside."""
    stale, inside = (folder / "sweep.lock").exists(), folder / "inside"
    try:
        with lock(folder, "sweep"):
            try:
                os.close(os.open(inside, os.O_CREAT | os.O_EXCL))
            except FileExistsError:
                note(folder / "met")
            note(folder / ("after" if stale else "taken"))
            time.sleep(draw.choice([0, 0, 1e-4]))
            inside.unlink(missing_ok=True)
            if draw.random() < 0.7:
                os.kill(os.getpid(), signal.SIGKILL)  # the lock stays, and nobody is inside
    except FolderError:
        note(folder / "refused")


def note(file: Path) -> None:
    with file.open("ab", buffering=0) as out:
        out.write(b".")


def main(folder: Path, processes: int, turns: int) -> None:
    """Keep so many processes at it, each of which lives until it is killed, for so many turns in all."""
    living: set[int] = set()
    for number in range(turns):
        if len(living) == processes:
            living.discard(os.wait()[0])
        child = os.fork()
        if child == 0:
            draw = random.Random(number)
            for _ in range(20):
                turn(folder, draw)
            os._exit(0)
        living.add(child)
    for _ in living:
        os.wait()
    files = {name: folder / name for name in ("taken", "after", "refused", "met")}
    sizes = {name: file.stat().st_size if file.exists() else 0 for name, file in files.items()}
    print(", ".join(f"{name} {size}" for name, size in sizes.items()))


def refuse(*args) -> None:
    """Stand for `os.link` on a file system without hard links."""
    raise OSError(errno.EPERM, "Operation not permitted")


if __name__ == "__main__":
    if "nolink" in sys.argv:
        os.link = refuse
    main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
