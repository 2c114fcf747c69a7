"""A lock on a folder of results, held by one process.

A holder is known by host, start of the host's system, world of process ids (containers of one host have several), process
id and start of the process. It is taken for dead only where that can be told: from the same world of process ids, or
after its host has been started anew. Hosts that share a folder must have different names.
"""

import contextlib
import functools
import os
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec

from foretrain.errors import FolderError, StoreError
from foretrain.results import decode
from foretrain.results.decode import Holder
from foretrain.results.files import read_file, refused

_ATTEMPTS = 5
_MOST_BYTES = 4096


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
            host or container does, whose life cannot be told from here.
    """
    path = Path(folder) / f"{name}.lock"
    content = msgspec.json.encode(_holder(os.getpid()))
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
            if path.read_bytes() == content:
                path.unlink()


def refuse_living(folder: Path, names: Callable[[str], bool]) -> None:
    """Raise `LockedError` if a lock of the folder whose name `names` accepts is held by a process that may live."""
    for path in sorted(Path(folder).glob("*.lock")):
        if names(path.name.removesuffix(".lock")):
            try:
                _refuse_living(path)
            except FileNotFoundError:  # it has been released at this moment
                continue
            except FolderError:
                raise
            except OSError as error:
                raise _unreadable(path) from error


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
    temporary.write_bytes(content)
    try:
        os.link(temporary, path)
    except FileExistsError:
        raise
    except OSError:  # a file system without hard links
        descriptor = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o644)
        with open(descriptor, "wb") as file:
            file.write(content)
    finally:
        temporary.unlink()


def _unreadable(path):
    return FolderError(
        f"{path.parent} is locked, but {path.name} cannot be read. "
        f"If no other process works on the folder, delete {path}."
    )


def _refuse_living(path):
    try:
        holder = decode.holder(read_file(path, _MOST_BYTES), path)
    except StoreError:
        raise _unreadable(path) from None
    here, place = _holder(holder.pid), f"on host {holder.host}"
    if holder.host != here.host:
        raise _beyond(path, holder, place)
    if holder.boot != here.boot:  # its system has ended, and it with it
        return
    if holder.namespace != here.namespace or not _own_ids_are_seen():
        raise _beyond(path, holder, f"{place}, in another container or namespace")
    if holder == here:
        raise LockedError(
            f"{path.parent} is in use by process {holder.pid} {place}. Wait for it, or stop it."
        )


def _beyond(path, holder, place):
    return LockedError(
        f"{path.parent} is in use by process {holder.pid} {place}, which cannot be asked from here. "
        f"If that process is gone, delete {path}."
    )


def _holder(pid) -> Holder:
    """What a lock of the process `pid` of this host and namespace says."""
    return Holder(socket.gethostname(), pid, _started(pid), _boot(), _namespace())


@functools.cache
def _boot() -> str:
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return ""


def _namespace() -> str:
    try:
        return os.readlink("/proc/self/ns/pid")
    except OSError:
        return ""


def _own_ids_are_seen() -> bool:
    """Whether ``/proc``, where there is one, shows the process ids of this process's own namespace."""
    try:
        return os.readlink("/proc/self") == str(os.getpid())
    except OSError:
        return True


def _started(pid):
    """A text that tells this process from any other that has or will have its id; None if it is dead."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return None if Path("/proc/self/stat").exists() else _started_by_ps(pid)
    # The second field is the command in parentheses, which may itself hold blanks and parentheses.
    fields = stat.rpartition(")")[2].split()
    state, start = fields[0], fields[19]
    return None if state in "ZX" else start


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
