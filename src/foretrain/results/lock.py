"""A lock on a folder of results, held by one process: a file that is created exclusively, and no lock of the file system.

So it holds on network file systems without `flock`, too (Lustre, NFS). A holder is known by host, id of the host's
installation, start of its system, namespace of process ids (containers of one host have several), process id and start of
the process. It is taken for dead only where that can be told: from the same namespace, or after its host has been started
anew. Hosts with the same name are told apart by the ids of their installations.

The lock of a dead process is removed by one process at a time, which holds a lock on that (``.<name>.lock.lock``) and
looks again: no process ever removes the lock of a living one.
"""

import contextlib
import functools
import os
import socket
import subprocess
import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec

from foretrain.errors import FolderError, StoreError
from foretrain.provenance.reading import read_file
from foretrain.results import decode
from foretrain.results.decode import Holder
from foretrain.results.files import disk_errors
from foretrain.words import duration, say

_ATTEMPTS = 5
_MOST_BYTES = 4096
_EMPTY_S = 0.1
_MACHINE_IDS = ("/etc/machine-id", "/var/lib/dbus/machine-id")  # of the installation


class LockedError(FolderError):
    """Another process, which lives or may live, holds the lock; `beyond` where it cannot be asked from here."""

    beyond = False


@contextlib.contextmanager
def lock(folder: Path, name: str, wait_s: float = 0.0) -> Iterator[Path]:
    """Hold ``<folder>/<name>.lock`` while the block runs.

    A lock whose process is dead, or whose process id now belongs to another process, is taken over.

    Args:
        folder: The folder of results, which must exist.
        name: What is locked, such as ``sweep`` or ``shard-3-of-8``.
        wait_s: Seconds to wait for its holder before it is refused; for what is held briefly. Where it cannot be asked
            whether the holder lives, a line on standard error says at once who it is.

    Raises:
        LockedError: a living process of this host holds the lock (named with host and process id), or one of another
            host or container does, whose life cannot be told from here.
    """
    path = Path(folder) / f"{name}.lock"
    content = msgspec.json.encode(_holder(os.getpid()))
    until, silent = time.monotonic() + wait_s, True
    with disk_errors(path):
        while True:
            try:
                _acquire(path, content)
                break
            except LockedError as error:
                if time.monotonic() >= until:
                    raise
                if error.beyond and silent:
                    silent = False
                    say(f"{error} Waiting for it, {duration(wait_s)} at most.")
                time.sleep(0.05)
    try:
        yield path
    finally:
        with contextlib.suppress(OSError, StoreError):
            if read_file(path, _MOST_BYTES) == content:
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


def _acquire(path, content):
    for _ in range(_ATTEMPTS):
        try:
            _create(path, content)
            return
        except FileExistsError:
            with contextlib.suppress(FileNotFoundError):  # it may be released at this moment
                _refuse_living(path)
                # Another process may have removed it since, and hold a new one of this name: look again, alone.
                with lock(path.parent, f".{path.name}"):
                    _refuse_living(path)
                    path.unlink()
    raise FolderError(f"Cannot take {path}: other processes keep taking it. Try again.")


def _create(path, content):
    """Create the lock with its content at once, so that nobody sees it empty; raises FileExistsError."""
    temporary = path.with_name(f".{path.name}.{uuid.uuid4().hex}.tmp")  # ids of processes recur
    try:
        temporary.write_bytes(content)
        try:
            os.link(temporary, path)
        except FileExistsError:
            # NFS may say so of a link that it has made, when it was asked a second time after its answer was lost.
            if os.stat(temporary).st_nlink != 2:
                raise
        except OSError:  # a file system without hard links
            with path.open("xb") as file:
                file.write(content)
    finally:
        temporary.unlink(missing_ok=True)


def _unreadable(path):
    return FolderError(
        f"{path.parent} is locked, but {path.name} cannot be read. "
        f"If no other process works on the folder, delete {path}."
    )


def _refuse_living(path):
    holder = _read(path)
    here, place = _holder(holder.pid), f"on host {holder.host}"
    if holder.host != here.host:
        raise _beyond(path, holder, place)
    if holder.boot != here.boot:
        # Its system has ended, and it with it, unless this is another host of the same name.
        if here.machine and holder.machine == here.machine:
            return
        raise _beyond(path, holder, f"{place}, another one of this name or started anew since")
    # Where ``/proc`` is another namespace's, it does not show the own process id.
    if holder.namespace != here.namespace or _link("/proc/self") not in ("", str(os.getpid())):
        raise _beyond(path, holder, f"{place}, in another container or namespace")
    if holder.started == here.started:
        living = f"{path.parent} is in use by process {holder.pid} {place}"
        raise LockedError(f"{living}. Wait for it, or stop it.")


def _read(path):
    """The holder of a lock; where files cannot be linked, its file is empty for a moment."""
    until = time.monotonic() + _EMPTY_S
    try:
        while not (content := read_file(path, _MOST_BYTES)) and time.monotonic() < until:
            time.sleep(0.01)
        return decode.decoded(decode.HOLDER, content, path, "a lock")
    except StoreError:
        raise _unreadable(path) from None


def _beyond(path, holder, place):
    error = LockedError(
        f"{path.parent} is in use by process {holder.pid} {place}, which cannot be asked from here. "
        f"If that process is gone, delete {path}."
    )
    error.beyond = True
    return error


def _holder(pid) -> Holder:
    """Return the content of a lock of the process `pid` of this host and namespace."""
    boot, machine = _id_in("/proc/sys/kernel/random/boot_id"), _id_in(*_MACHINE_IDS)
    namespace = _link("/proc/self/ns/pid")
    return Holder(socket.gethostname(), pid, _started(pid), boot, namespace, machine)


@functools.cache
def _id_in(*paths: str) -> str:
    """Id in the first of some files that can be read, "" where none can."""
    for path in paths:
        with contextlib.suppress(OSError, UnicodeDecodeError):
            return Path(path).read_text().strip()[:64]
    return ""


def _link(path: str) -> str:
    """The target of a link, "" where there is none."""
    try:
        return os.readlink(path)
    except OSError:
        return ""


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
    answer = subprocess.run(
        ["ps", "-o", "stat=,lstart=", "-p", str(pid)], capture_output=True, text=True, check=False
    )
    state, _, start = answer.stdout.strip().partition(" ")
    return None if not state or state.startswith("Z") else start.strip()
