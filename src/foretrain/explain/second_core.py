"""A second process for a long explanation: it trains corners from the last one on, on a core of its own, and stores them.

Both processes describe the same training and have the same folder of curves; each takes a corner by a file there before it
trains it. The curves have the same bits wherever they are made.
"""

import json
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from foretrain.engine.cores import pin, take_cores
from foretrain.explain.simulated import Corner, Simulator

WORTH_S = 60.0  # seconds of an explanation from which a second process is worth its start
_LOOK_S = 0.2


def pin_with_another() -> int | None:
    """Pin this process to one core, before JAX starts; returns the number of another that no other worker has, or None."""
    own, other = take_cores(2)
    pin(own.number)
    return None if other.shared or other.number == own.number else other.number


def start(
    core: int, files: dict[str, Any], folder: Path, starts: int, substeps: int, *, from_zero: bool
) -> subprocess.Popen:
    """Start the second process; it ends with this one.

    Args:
        core: Number of its core.
        files: Arguments of `foretrain.explain.model_file.described_files`.
        folder: Folder of curves.
        starts, substeps, from_zero: As of the explanation.
    """
    process = subprocess.Popen(
        [sys.executable, "-P", "-m", "foretrain.explain.second_process"],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    told = {"core": core, "files": files, "folder": str(folder), "starts": starts}
    told |= {"substeps": substeps, "from_zero": from_zero}
    assert process.stdin is not None
    with suppress(OSError):  # it is dead already: all corners are left to this process
        process.stdin.write(json.dumps(told, default=str) + "\n")
        process.stdin.flush()
    return process


def in_turn(
    simulator: Simulator,
    asked: Sequence[Corner],
    substeps: int,
    second: subprocess.Popen | None,
) -> Iterator[Corner]:
    """Corners that this process is to train or to read, those that the second one is training last; ends it at the end."""
    left = list(asked)
    try:
        while left:
            other = None if second is None or second.poll() is not None else second.pid
            one = next((one for one in left if simulator.take(one, substeps, other)), None)
            if one is None:
                time.sleep(_LOOK_S)
                continue
            left.remove(one)
            yield one
    finally:
        if second is not None:
            second.kill()
            second.communicate()  # closes the pipe, too
