"""Places of workers: each on a core of its own, and one on the GPU where there is one and the user leaves the choice."""

import importlib.util
import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from foretrain.engine.cores import CPU, GPU, Place, take_cores, take_gpu
from foretrain.machine import usable_cores


def environment(backend: str) -> dict[str, str]:
    """Variables under which JAX starts on a backend: a worker on a core does not see the GPU, and has one thread."""
    platforms = os.environ.get("JAX_PLATFORMS", "")
    if backend == GPU:
        # Without a name JAX would go on with the CPU where the GPU cannot be used.
        return {"JAX_PLATFORMS": platforms or "cuda,cpu"}
    threads = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
    own = CPU if GPU in backends() else platforms or CPU
    return {"JAX_PLATFORMS": own, **dict.fromkeys(threads, "1")}


def backends() -> tuple[str, ...]:
    """Return the backends of this machine: "cpu", and "gpu" where JAX would find one of NVIDIA; JAX is not started.

    The variable ``JAX_PLATFORMS`` restricts it as it restricts JAX.
    """
    platforms = [name for name in os.environ.get("JAX_PLATFORMS", "").split(",") if name]
    plugins = (f"jax_cuda{version}_plugin" for version in ("11", "12", "13"))
    plugin = any(map(importlib.util.find_spec, plugins))
    hidden = os.environ.get("CUDA_VISIBLE_DEVICES") in ("", "-1")
    present = plugin and not hidden and any(Path("/dev").glob("nvidia[0-9]*"))
    if not present or (platforms and platforms[0] not in ("cuda", GPU)):
        return (CPU,)
    return (CPU, GPU) if not platforms or CPU in platforms else (GPU,)


def take_places(
    workers: int | None,  # what the user asked for; None leaves the choice
    runs: int,  # number of runs to do
    on: str | None = None,  # the backend that the user asked for; None leaves the choice
    *,
    trains: bool = True,  # whether the runs are trained: others are computed on cores unless asked for
) -> list[Place]:
    """Take a place for each worker: on usable cores, no more than three runs each fill, and one beside them on the GPU.

    What the user asked for holds, but never more workers than runs. `workers` counts those on cores, or those on the GPU
    where all are to be there (1 by default). A GPU that another sweep has is left to it unless it is asked for.
    """
    if not runs:
        return []
    usable = backends()
    if on == GPU or CPU not in usable:
        lock, (first, *others) = take_gpu(), take_cores(min(workers or 1, runs))
        return [_on_gpu(first, lock), *(_on_gpu(place, ()) for place in others)]
    lock = take_gpu() if on is None and GPU in usable and trains and workers != 0 else ()
    if workers is None:
        workers = usual_workers(runs, usable_cores() - len(lock))
    places = take_cores(max(1, min(workers, runs)) + len(lock))
    # The core of the GPU's worker is the last, so that it is the first to be shared.
    return [*places[:-1], _on_gpu(places[-1], lock)] if lock else places


def _on_gpu(place: Place, lock: tuple[int, ...]) -> Place:
    return replace(place, backend=GPU, locks=place.locks + lock)


def usual_workers(runs: int, cores: int) -> int:
    """Number of workers on so many cores where the user asks for none: no more than three runs each fill."""
    return max(1, min(cores, -(-runs // 3)))


def described(places: Sequence[Place]) -> str:
    """The places of a sweep, in words."""
    on_gpu = sum(place.backend == GPU for place in places)
    on_cores = len(places) - on_gpu
    parts = [f"{on_cores} worker{'s' * (on_cores > 1)}"] if on_cores else []
    parts += [f"{on_gpu} on the GPU"] if on_gpu else []
    text = " and ".join(parts)
    if sharing := sum(place.shared for place in places):
        text += f", {sharing} on a core that another worker has, too"
    return text
