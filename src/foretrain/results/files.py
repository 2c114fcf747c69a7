"""Files that are either whole or absent, one clear line where a disk refuses them, and the log of a folder."""

import contextlib
import errno
import json
import os
import uuid
import warnings
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

from foretrain.errors import ArgumentError, FolderError, file_argument

LOG = "log.txt"
FULL = {errno.ENOSPC, errno.EDQUOT}


def write_atomic(path: Path, content: bytes) -> Path:
    """Write a file so that it is whole and durable on return, and absent or as it was if anything goes wrong.

    The content goes to a temporary file beside it (a dot name ending in ``.tmp``), which is synced and renamed; then
    the folder is synced. Costs two syncs, about a millisecond on a local disk.

    Raises:
        FolderError: the disk is full or refuses the file; the temporary file has been removed.
    """
    temporary = path.parent / f".{path.name}.{os.getpid()}-{uuid.uuid4().hex[:8]}.tmp"
    try:
        with open(temporary, "xb", buffering=0) as file:
            rest = memoryview(content)
            while rest:
                rest = rest[file.write(rest) :]
            os.fsync(file.fileno())
        os.replace(temporary, path)
        sync(path.parent)
    except BaseException as error:
        with contextlib.suppress(OSError):
            temporary.unlink()
        if isinstance(error, OSError):
            raise refused(path, error) from error
        raise
    return path


def json_bytes(content: dict) -> bytes:
    """A JSON object as it is written: a number that is not finite is an error, what UTF-8 cannot hold becomes ``?``."""
    text = json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False)
    return text.encode("utf-8", "replace") + b"\n"


def sync(path: Path) -> None:
    """Make a file, or the names in a folder, durable, where the system can."""
    if os.name == "nt":  # Windows cannot sync a folder; its journal keeps renames in order
        return
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def written_at(path: Path) -> int:
    """Time at which a file was written, in nanoseconds; 0 where it is gone."""
    try:
        return path.stat().st_mtime_ns
    except OSError:
        return 0


def refused(path: Path, error: OSError) -> FolderError:
    """The one line for a file that could not be written."""
    if error.errno in FULL:
        return FolderError(
            f"The disk that holds {path.parent} is full. What was finished is kept: "
            "free some space and run the same command again."
        )
    return FolderError(f"Cannot write {path}: {error.strerror or error}.")


@contextlib.contextmanager
def disk_errors(path: Path) -> Iterator[None]:
    """Raise what the disk refuses within the block as the `FolderError` of `refused`."""
    try:
        yield
    except FolderError:
        raise
    except OSError as error:
        raise refused(path, error) from error


def unreadable(path: Path, error: OSError) -> FolderError:
    """The one line for a file that could not be read."""
    return FolderError(f"Cannot read {path}: {error.strerror or error}.")


def append_log(folder: Path, text: str) -> None:
    """Add a text, such as the traceback of what the page says a line of, to the log; a disk that refuses it stops nothing."""
    with contextlib.suppress(OSError, ArgumentError):
        with file_argument("log", Path(folder) / LOG).open("a", encoding="utf-8") as file:
            file.write(f"{datetime.now(UTC).isoformat(timespec='seconds')} {text.rstrip()}\n\n")


@contextlib.contextmanager
def warnings_logged(folder: Path) -> Iterator[None]:
    """Write warnings, such as NumPy's of a run that diverged, into the log and not to the terminal."""

    def log(message, category, filename, lineno, file=None, line=None) -> None:
        append_log(folder, f"{category.__name__}: {message} ({filename}, line {lineno})")

    shown = warnings.showwarning
    warnings.showwarning = log
    try:
        yield
    finally:
        warnings.showwarning = shown
