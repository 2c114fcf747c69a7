"""One core per process that runs JAX.

XLA on the CPU can deadlock when two batched LAPACK calls (qr, svd, eigh, inv, cholesky) of one process run at once on
two cores. A process that is pinned to one core before JAX starts has one thread for such calls and cannot.
"""

import os
import platform


def available_cores() -> list[int]:
    """Numbers of the cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return sorted(os.sched_getaffinity(0))
    return list(range(os.cpu_count() or 1))


def pin_to_one_core(number: int = 0) -> None:
    """Pin this process to the core `number` (modulo those available). To be called before JAX starts.

    Where the system cannot pin (macOS), XLA is told to use one thread instead.
    """
    if hasattr(os, "sched_setaffinity"):
        cores = available_cores()
        os.sched_setaffinity(0, {cores[number % len(cores)]})
        return
    flags = os.environ.get("XLA_FLAGS", "")
    single = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
    os.environ["XLA_FLAGS"] = f"{flags} {single}".strip()


def device() -> str:
    """What JAX computes on, in words: kind, processor, number of cores, system."""
    import jax

    backend, kind = jax.default_backend(), jax.devices()[0].device_kind
    if backend == "cpu":
        kind = f"{_processor()}, {os.cpu_count()} cores"
    return f"{backend}: {kind}; {platform.system()} {platform.machine()}"


def _processor() -> str:
    try:
        with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as told:
            for line in told:
                if line.startswith("model name"):
                    return " ".join(line.partition(":")[2].split())
    except OSError:  # no Linux
        pass
    return platform.processor() or "unknown processor"
