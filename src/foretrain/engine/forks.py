"""Processes that the code of a study forks off a worker: they say nothing in its name, write nothing, and end with it."""

import contextlib
import ctypes
import os
import signal
import sys

_PR_SET_PDEATHSIG = 1


def guard(answers: int) -> None:
    """See to it that what this process forks from now on has no part in its answers, and ends when it ends (on Linux).

    A copy that kept the pipe with the descriptor `answers` open would leave the coordinator waiting for its end.
    """
    if not hasattr(os, "register_at_fork"):
        return
    libc = ctypes.CDLL(None) if sys.platform == "linux" else None

    def in_child() -> None:
        with contextlib.suppress(OSError):
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, answers)
            os.close(nowhere)
        if libc is not None:
            libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)

    os.register_at_fork(after_in_child=in_child)
