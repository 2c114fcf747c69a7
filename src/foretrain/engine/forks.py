"""Forks of a worker: a process that the code of a study forks has no part in the worker's answers."""

import contextlib
import ctypes
import os
import signal
import sys


def guard(answers: int) -> None:
    """Let what this process forks from now on have no part in its answers, and end when it ends (on Linux).

    A copy that kept the pipe with the descriptor `answers` open would leave the coordinator waiting for its end.
    """
    libc = ctypes.CDLL(None) if sys.platform == "linux" else None

    def in_child() -> None:
        with contextlib.suppress(OSError):
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, answers)
            os.close(nowhere)
        if libc is not None:
            libc.prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG

    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=in_child)
