"""Files as they are read, whoever made them: regular ones alone, and none without a bound."""

import contextlib
import errno
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from foretrain.errors import StoreError

_AT_ONCE = getattr(os, "O_NONBLOCK", 0)  # how to open what may be a pipe
_BLOCK = 2**20  # bytes
MOST_TEXT = 2**24  # bytes of a page or of a source


@contextlib.contextmanager
def regular_file(path: Path) -> Iterator[tuple[BinaryIO, int]]:
    """Open a regular file and give it with its size; what never ends, such as a pipe or a device, is not read.

    Raises `OSError` where it is not there, is no regular file, or cannot be read.
    """
    with open(path, "rb", opener=lambda name, flags: os.open(name, flags | _AT_ONCE)) as file:
        status = os.fstat(file.fileno())
        if not stat.S_ISREG(status.st_mode):
            raise OSError(errno.EINVAL, "it is no regular file")
        yield file, status.st_size


def read_file(path: Path, most: int | None) -> bytes:
    """The content of a regular file.

    Args:
        path: The file.
        most: Largest size in bytes that a file of its kind can have; None where there is none.

    Raises:
        OSError: it is not there, is no regular file, or cannot be read.
        StoreError: it is larger than `most`.
    """
    with regular_file(path) as (file, size):
        if most is not None and size > most:
            raise StoreError(
                f"{path} is not foretrain's: it has {size} bytes, but at most {most} are known."
            )
        return file.read(size)


def blocks(path: Path, begin: int = 0, end: int = 0) -> Iterator[bytes]:
    """Yield the bytes of a regular file in blocks, from `begin`, or so many before its end, and without the last `end`."""
    with regular_file(path) as (file, size):
        rest = size - end - file.seek(max(0, size + begin if begin < 0 else begin))
        while rest > 0 and (block := file.read(min(rest, _BLOCK))):
            rest -= len(block)
            yield block
