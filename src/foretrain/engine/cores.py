"""One core per process that runs JAX, and one that no other worker of this user has.

XLA on the CPU can deadlock when two batched LAPACK calls (qr, svd, eigh, inv, cholesky) of one process run at once on
two cores. A process that is pinned to one core before JAX starts has one thread for such calls and cannot.

A core is taken by a lock on a file in the user's run-time folder, which the system gives back when its holder dies.
"""

import contextlib
import os
import platform
import stat
import tempfile
from dataclasses import dataclass
from pathlib import Path

from threadpoolctl import threadpool_limits

from foretrain.lazy import jax
from foretrain.machine import available_cores

CPU, GPU = "cpu", "gpu"
_MOST_SHARING = 64


@dataclass(frozen=True)
class Place:
    """Place of a worker, until it is given back or this process ends: a backend, and a core."""

    backend: str  # "cpu" or "gpu"
    core: int  # the system's number of the core that it is pinned to, or that a GPU's worker has without being pinned
    shared: bool = False  # another worker has the core, or may have it since no lock can be made
    locks: tuple[int, ...] = ()  # descriptors of the locked files of core and GPU

    def give_back(self) -> None:
        """Let another worker have the core, and the GPU."""
        for lock in self.locks:
            os.close(lock)


def take_cores(count: int) -> list[Place]:
    """Take cores for so many workers: those that no worker of this user has, then those that the fewest workers share.

    Where a process cannot be pinned (macOS, Windows) nothing is locked.
    """
    numbers = available_cores()
    if not hasattr(os, "sched_setaffinity"):
        return [Place(CPU, numbers[slot % len(numbers)]) for slot in range(count)]
    taken: list[Place] = []
    with contextlib.suppress(OSError):  # no folder in which to lock
        folder = _folder()
        for turn in range(_MOST_SHARING):
            for number in numbers:
                if len(taken) == count:
                    return taken
                lock = _locked(folder / f"core-{number}-{turn}")
                if lock is not None:
                    taken.append(Place(CPU, number, turn > 0, (lock,)))
    left = range(len(taken), count)
    return [*taken, *(Place(CPU, numbers[slot % len(numbers)], shared=True) for slot in left)]


def take_gpu() -> tuple[int, ...]:
    """The descriptor of the lock of the first GPU that this process sees; () if another sweep of this user has it."""
    first = os.environ.get("CUDA_VISIBLE_DEVICES", "0").split(",")[0].replace("/", "-")
    try:
        lock = _locked(_folder() / f"gpu-{first}")
    except (ImportError, OSError):  # no folder in which to lock
        return ()
    return () if lock is None else (lock,)


def _folder() -> Path:
    """``foretrain`` in ``$XDG_RUNTIME_DIR``, else ``foretrain-<user>`` in the temporary folder; nobody else's."""
    runtime = Path(os.environ.get("XDG_RUNTIME_DIR") or "/nowhere")
    user = os.getuid()
    folder = runtime / "foretrain"
    if not runtime.is_dir():
        folder = Path(tempfile.gettempdir()) / f"foretrain-{user}"
    folder.mkdir(mode=0o700, exist_ok=True)
    seen = folder.lstat()
    if not stat.S_ISDIR(seen.st_mode) or seen.st_uid != user:
        raise PermissionError(f"{folder} is not this user's")
    return folder


def _locked(path: Path) -> int | None:
    """The descriptor of the file, locked; None if another has it."""
    import fcntl

    descriptor = os.open(path, os.O_CREAT | os.O_RDWR, 0o600)
    with contextlib.suppress(BlockingIOError):
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return descriptor
    os.close(descriptor)
    return None


def pin_to_one_core(number: int = 0) -> None:
    """Pin this process to one core, the one at place `number` (modulo their count) of those available; see `pin`."""
    cores = available_cores()
    pin(cores[number % len(cores)])


def pin_to_free_core() -> frozenset[int]:
    """Pin this process to a core that no worker of this user has, see `pin`; return the cores that it could use before."""
    before = frozenset(available_cores())
    (place,) = take_cores(1)
    pin(place.core)
    place.give_back()  # workers that this process starts are to have it, too
    return before


def pin(core: int) -> None:
    """Pin this process to the core that the system numbers `core`. To be called before JAX starts.

    NumPy gets one thread, since two on one core take ten times as long. Where the system cannot pin (macOS), XLA is told to
    use one thread instead.
    """
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {core})
        threadpool_limits(1)
        return
    single = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
    os.environ["XLA_FLAGS"] = f"{os.environ.get('XLA_FLAGS', '')} {single}".strip()


def device() -> str:
    """Return the device of JAX in words: kind, processor, number of cores, system."""
    backend, kind = jax.default_backend(), jax.devices()[0].device_kind
    if backend == "cpu":
        name = " ".join(processor("model name").split()) or "unknown processor"
        # Makers sell processors that round otherwise under one name.
        digits = [processor(field).strip() for field in ("cpu family", "model\t")]
        generation = " family {} model {}".format(*digits) if all(map(str.isdigit, digits)) else ""
        kind = f"{name}{generation}, {os.cpu_count()} cores"
    return f"{backend}: {kind}; {platform.system()} {platform.machine()}"


def processor(*fields: str) -> str:
    """Return the first of some fields of ``/proc/cpuinfo``; without one, as beside Linux, what Python knows."""
    try:
        with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as lines:
            return next(line.partition(":")[2] for line in lines if line.startswith(fields))
    except (OSError, StopIteration):
        return platform.processor()
