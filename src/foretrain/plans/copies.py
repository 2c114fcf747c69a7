"""Copies of a process that the code of a study forks: one that comes back into foretrain ends there, and says so once."""

import contextlib
import functools
import mmap
import os
from collections.abc import Callable, Iterator
from typing import Any

_SAID = mmap.mmap(-1, 1)  # shared by a process and its copies
_LINE = (
    b"foretrain: A process that the study forked came back from the study and was ended. Try `multiprocessing` or "
    b"`subprocess`, whose processes end by themselves.\n"
)


@contextlib.contextmanager
def without_copies() -> Iterator[None]:
    """Call the code of a study: a copy of this process that comes back from there ends at once."""
    here = os.getpid()
    try:
        yield
    finally:
        if os.getpid() != here:
            if not _SAID[0]:
                _SAID[0] = 1
                os.write(2, _LINE)
            os._exit(0)


def alone(function: Callable[..., Any]) -> Callable[..., Any]:
    """The same function of a study, from which no copy of the process returns."""

    @functools.wraps(function)
    def called(*arguments: Any, **named: Any) -> Any:
        with without_copies():
            return function(*arguments, **named)

    return called
