"""A lock on a folder of results, held by one process and known by host, process id and start of the process."""

import contextlib
import json
import os
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from foretrain.errors import FolderError
from foretrain.results.files import refused

_ATTEMPTS = 5


class LockedError(FolderError):
    """Another process, which lives or may live, holds the lock."""


@contextlib.contextmanager
def lock(folder: Path, name: str) -> Iterator[Path]:
    """Hold ``<folder>/<name>.lock`` while the block runs.

    A lock whose process is dead, or whose process id now belongs to another process, is taken over.

    Args:
        folder: The folder of results, which must exist.
        name: What is locked, such as ``sweep`` or ``shard-3-of-8``.

    Raises:
        LockedError: a living process of this host holds the lock (named with host and process id), or one of another
            host does, whose life cannot be told from here.
    """
    path = Path(folder) / f"{name}.lock"
    content = json.dumps(_holder(os.getpid()))
    try:
        with _one_at_a_time(path.parent):
            _acquire(path, content)
    except FolderError:
        raise
    except OSError as error:
        raise refused(path, error) from error
    try:
        yield path
    finally:
        with contextlib.suppress(OSError):
            if path.read_text() == content:
                path.unlink()


def refuse_living(folder: Path, names: Callable[[str], bool]) -> None:
    """Raise `LockedError` if a lock of the folder whose name `names` accepts is held by a process that may live."""
    for path in sorted(Path(folder).glob("*.lock")):
        if names(path.name.removesuffix(".lock")):
            with contextlib.suppress(FileNotFoundError):  # it may be released at this moment
                _refuse_living(path)


@contextlib.contextmanager
def patient_lock(folder: Path, name: str, wait_s: float) -> Iterator[Path]:
    """A `lock` that waits for its holder up to `wait_s` seconds before it refuses; for what is held briefly."""
    until = time.monotonic() + wait_s
    with contextlib.ExitStack() as stack:
        while True:
            try:
                path = stack.enter_context(lock(folder, name))
                break
            except LockedError:
                if time.monotonic() > until:
                    raise
                time.sleep(0.05)
        yield path


def _acquire(path, content):
    for _ in range(_ATTEMPTS):
        try:
            _create(path, content)
            return
        except FileExistsError:
            with contextlib.suppress(FileNotFoundError):  # it may be released at this moment
                _refuse_living(path)
                path.unlink()
    raise FolderError(f"Cannot take {path}: other processes keep taking it. Try again.")


def _create(path, content):
    """Create the lock with its content at once, so that nobody sees it empty; raises FileExistsError."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    temporary.write_text(content)
    try:
        os.link(temporary, path)
    except FileExistsError:
        raise
    except OSError:  # a file system without hard links
        descriptor = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o644)
        with open(descriptor, "w") as file:
            file.write(content)
    finally:
        temporary.unlink()


def _refuse_living(path):
    """Raise if the lock's holder lives or cannot be told to be dead."""
    try:
        holder = json.loads(path.read_text())
        host, pid = holder["host"], int(holder["pid"])
    except (ValueError, KeyError, TypeError):
        raise FolderError(
            f"{path.parent} is locked, but {path.name} cannot be read. "
            f"If no other process works on the folder, delete {path}."
        ) from None
    if host != socket.gethostname():
        raise LockedError(
            f"{path.parent} is in use by process {pid} on host {host}, which cannot be asked from here. "
            f"If that process is gone, delete {path}."
        )
    if _holder(pid) == holder:
        raise LockedError(
            f"{path.parent} is in use by process {pid} on host {host}. Wait for it, or stop it."
        )


def _holder(pid):
    """What a lock of the living process `pid` of this host says; `started` is None if there is no such process."""
    return {"host": socket.gethostname(), "pid": pid, "started": _started(pid)}


def _started(pid):
    """A text that tells this process from any other that has or will have its id; None if it is dead."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return None if Path("/proc/self/stat").exists() else _started_by_ps(pid)
    # The second field is the command in parentheses, which may itself hold blanks and parentheses.
    fields = stat.rpartition(")")[2].split()
    state, start = fields[0], fields[19]
    return None if state in "ZX" else f"{boot} {start}"


def _started_by_ps(pid):
    asked = subprocess.run(
        ["ps", "-o", "stat=,lstart=", "-p", str(pid)], capture_output=True, text=True, check=False
    )
    state, _, start = asked.stdout.strip().partition(" ")
    return None if not state or state.startswith("Z") else start.strip()


@contextlib.contextmanager
def _one_at_a_time(folder):
    """Let one process at a time look at the locks of a folder, so that no two take over the same stale one.

    Where the system has no such thing (Windows, some network file systems), exclusive creation still holds.
    """
    with contextlib.ExitStack() as stack:
        with contextlib.suppress(ImportError, OSError):
            import fcntl

            descriptor = os.open(folder, os.O_RDONLY)
            stack.callback(os.close, descriptor)
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
