"""The cores and the memory that this process may use: those of the machine, its affinity, and the limits of its cgroups."""

import math
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath

_MEMBERSHIP = Path("/proc/self/cgroup")
_MOUNT = Path("/sys/fs/cgroup")
# File of a limit, file of the use, entry of `memory.stat` that the kernel gives back when asked: version 2, then version 1.
_MEMORY = (
    ("memory.max", "memory.current", "inactive_file"),
    ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"),
)


def available_cores() -> list[int]:
    """Numbers of the cores this process may use; the system keeps to the affinity and to a cgroup's `cpuset` by itself."""
    if hasattr(os, "sched_getaffinity"):
        return sorted(os.sched_getaffinity(0))
    return list(range(os.cpu_count() or 1))


def usable_cores() -> int:
    """Number of cores' time that this process may use: its cores, or less where a cgroup limits the time (at least 1)."""
    return max(1, math.ceil(min(len(available_cores()), *_quotas(), math.inf)))


def physical_memory() -> float:
    """Bytes of the machine's memory, or of a cgroup's where that is less; inf where neither is known."""
    return min(_of_machine(), *(limit for limit, _ in _memory_limits()), math.inf)


def free_memory() -> float:
    """Bytes that this process may still take of the machine and of each of its cgroups; inf where nothing is known."""
    free = _listed("/proc/meminfo", "MemAvailable", _of_machine())
    return min(free, *(max(0, limit - used) for limit, used in _memory_limits()), math.inf)


@contextmanager
def memory_limited(spare: float) -> Iterator[None]:
    """Context in which this process gets a `MemoryError` once it takes so many bytes more; on Linux, and nothing elsewhere."""
    data = _listed("/proc/self/status", "VmData")
    if not data or math.isinf(spare):
        yield
        return
    import resource

    before = resource.getrlimit(resource.RLIMIT_DATA)
    limits = [limit for limit in before if limit != resource.RLIM_INFINITY]
    resource.setrlimit(resource.RLIMIT_DATA, (min([int(data + spare), *limits]), before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_DATA, before)


def peak_memory() -> float:
    """Bytes of memory that this process had at most; 0 where the system, which is not Linux, does not say."""
    return _listed("/proc/self/status", "VmHWM")


def _listed(file: str, name: str, default: float = 0.0) -> float:
    """Bytes of an entry such as ``VmHWM: 12 kB`` in a file of ``/proc``; the default where there is none."""
    entries = (line.split() for line in (_text(Path(file)) or "").splitlines())
    return next((1024.0 * int(words[1]) for words in entries if words[0] == f"{name}:"), default)


def _of_machine() -> float:
    try:
        return float(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    except (AttributeError, ValueError, OSError):
        return math.inf


def _quotas() -> Iterator[float]:
    for folder in _cgroups("cpu"):
        text = _text(folder / "cpu.max")  # "max 100000" or "150000 100000"
        if text is None:
            text = f"{_text(folder / 'cpu.cfs_quota_us')} {_text(folder / 'cpu.cfs_period_us')}"
        quota, _, period = text.partition(" ")
        if quota.isdecimal() and period.isdecimal() and int(period):  # -1 is no limit
            yield int(quota) / int(period)


def _memory_limits() -> Iterator[tuple[int, int]]:
    """Limit and use, in bytes, of each cgroup that limits memory; what only buffers files is not in use."""
    for folder in _cgroups("memory"):
        for limit_in, use_in, buffered_in in _MEMORY:
            limit, used = _text(folder / limit_in), _text(folder / use_in)
            if limit and used and limit.isdecimal() and used.isdecimal():
                lines = (_text(folder / "memory.stat") or "").splitlines()
                stat = dict(line.split()[:2] for line in lines)
                yield int(limit), int(used) - int(stat.get(buffered_in, 0))


def _cgroups(controller: str) -> Iterator[Path]:
    """Folders of the cgroups that this process is in, and of those above them.

    A container may show its own cgroup as the root, so that a path from outside does not exist in it: the root is tried, too.
    """
    for line in (_text(_MEMBERSHIP) or "").splitlines():
        _, controllers, path = line.split(":", 2)
        if not controllers:  # version 2
            tops = (_MOUNT, _MOUNT / "unified")
        elif controller in controllers.split(","):
            tops = (_MOUNT / controller,)
        else:
            continue
        own = PurePosixPath(path)
        for folder in (own, *own.parents):
            yield from (top / str(folder).lstrip("/") for top in tops)


def _text(path: Path) -> str | None:
    try:
        return path.read_text().strip()
    except OSError:
        return None


def cache_folder() -> Path:
    """``$FORETRAIN_CACHE_DIR``, else ``foretrain`` in ``$XDG_CACHE_HOME`` or ``~/.cache``."""
    if chosen := os.environ.get("FORETRAIN_CACHE_DIR"):
        return Path(chosen)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "foretrain"
