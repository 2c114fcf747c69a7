"""What a lane takes, and how many lanes a worker gets."""

import os
import time
from pathlib import Path
from typing import Any

import jax
import numpy as np

from foretrain.dynamics.program import Program
from foretrain.errors import TooLarge

FEWEST = 3  # from here on the bits of a run do not depend on the number of lanes
_DEFAULT = {"cpu": 16, "gpu": 1024}
_CANDIDATES = {"cpu": (8, 16, 32, 64, 128, 256), "gpu": (1024, 4096, 16384)}
_CACHE_BYTES = 4 * 2**20  # state and inputs of all lanes should stay in the cache of a core
_SHARE = 0.7  # of the free memory
_LONG_S = 60.0  # a shorter sweep does not repay measuring
_TRIAL_S = 0.3


def shapes_of(program: Program, inputs: dict[str, Any], shared: dict[str, Any]) -> tuple[Any, Any]:
    """Shapes and dtypes of the state and of an observation of one run, found without running anything."""
    given = {**inputs, **shared}
    state = jax.eval_shape(program.init, given)
    observed = jax.eval_shape(program.observe, given, state)
    if program.every_step is not None:
        scalars = jax.eval_shape(program.every_step, given, state)
        length = (program.observe_every,)
        observed |= {n: jax.ShapeDtypeStruct(length, x.dtype) for n, x in scalars.items()}
    return state, observed


def result_bytes(program: Program, inputs: dict[str, Any], shared: dict[str, Any]) -> int:
    """Fewest bytes that a run takes in the labelled result: two observations, after which it may end, and its finals."""
    with jax.enable_x64(program.precision == "float64"):
        state, observed = shapes_of(program, inputs, shared)
        finals = jax.eval_shape(program.finish, {**inputs, **shared}, state)
    return 2 * size(observed) + size(finals)


def size(tree) -> int:
    """Bytes of all leaves of a tree of arrays or shapes."""
    leaves = (leaf for leaf in jax.tree.leaves(tree))
    return sum(int(np.prod(leaf.shape)) * leaf.dtype.itemsize for leaf in leaves)


def bytes_per_lane(
    program: Program, inputs: dict[str, Any], shared: dict[str, Any], strides: int
) -> int:
    """Bytes that a lane holds at most: states (lane, pool, next and chunk's), inputs (lane, pool), observations.

    Args:
        program: The program.
        inputs: Inputs of one run.
        shared: Inputs common to all runs, not counted.
        strides: Most observations of a run, which stay in memory until it is done (and once more while written).

    What a step needs besides its state is not counted: gradients are as large as the parameters within the state.
    """
    state, observed = shapes_of(program, inputs, shared)
    return 4 * size(state) + 2 * size(inputs) + (2 * strides + 2) * size(observed)


def choose_lanes(
    program: Program,
    sample: Any,
    shared: dict[str, Any],
    *,
    runs: int,
    steps: float,
    workers: int,
) -> int:
    """Number of lanes for the runs of one static signature.

    A short sweep gets as many as it has runs per worker, up to a usual number; for a long one the candidates whose
    states fit into the cache are timed on copies of `sample`.

    Args:
        program: The program.
        sample: A `Passenger`, or None where its inputs cannot be made.
        shared: Inputs common to all runs.
        runs: Number of runs of this signature.
        steps: Their predicted steps, summed.
        workers: Number of workers of the sweep.

    Raises:
        TooLarge: not even three lanes fit into memory, with the estimate.
    """
    kind = "cpu" if jax.default_backend() == "cpu" else "gpu"
    per_worker = -(-runs // workers)
    if sample is None:
        return FEWEST
    with jax.enable_x64(program.precision == "float64"):
        inputs = {name: np.asarray(value) for name, value in sample.inputs.items()}
        strides = -(-int(inputs["max_steps"]) // program.observe_every) + 1
        state, observed = shapes_of(program, inputs, shared)
        per_lane = bytes_per_lane(program, inputs, shared, strides)
    free = free_memory()
    fitting = int(_SHARE * free / workers / per_lane)
    if fitting < FEWEST:
        raise TooLarge(
            f"A run needs about {per_lane / 1e9:.2g} GB, and {workers} workers with {FEWEST} lanes each "
            f"{workers * FEWEST * per_lane / 1e9:.2g} GB, but {free / 1e9:.2g} GB are free. "
            f"Try fewer workers, or observe less often: {strides} observations take {size(observed) / 1e6:.2g} MB each."
        )
    most = min(fitting, per_worker)
    if kind == "cpu":
        most = min(most, _CACHE_BYTES // max(1, size(state) + size(inputs)))
    usual = max(FEWEST, min(_DEFAULT[kind], most))
    candidates = [lanes for lanes in _CANDIDATES[kind] if lanes <= most // 2]
    if not candidates or usual < _DEFAULT[kind]:
        return usual
    speed = {usual: _lane_steps_per_second(program, sample, shared, usual)}
    if steps / workers / speed[usual] < _LONG_S:
        return usual
    for lanes in candidates:
        speed.setdefault(lanes, _lane_steps_per_second(program, sample, shared, lanes))
    # More lanes wait longer for the last runs: take the fewest that come within a twentieth of the best.
    return min(lanes for lanes, rate in speed.items() if rate > 0.95 * max(speed.values()))


def _lane_steps_per_second(program, sample, shared, lanes) -> float:
    """Steps of all lanes per second, with a copy of the sample in each."""
    from dataclasses import replace

    from foretrain.engine.lanes import Lanes

    endless = {**sample.inputs, "max_steps": np.iinfo(np.int32).max - program.observe_every}
    trial = Lanes(program, shared, lanes)
    trial.board(replace(sample, inputs=endless) for _ in range(lanes))
    trial.advance()
    before, began = trial.strides_done, time.perf_counter()
    while trial.busy and time.perf_counter() - began < _TRIAL_S:
        trial.advance()
    rate = (trial.strides_done - before) / (time.perf_counter() - began)
    return max(rate * program.observe_every, 1e-9)


def free_memory() -> int:
    """Bytes this process may still take: of the accelerator where there is one, else of the machine or its cgroup."""
    if jax.default_backend() != "cpu":
        statistics = jax.devices()[0].memory_stats() or {}
        return statistics.get("bytes_limit", 2**33) - statistics.get("bytes_in_use", 0)
    free = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
        free = 1024 * int(
            next(line for line in lines if line.startswith("MemAvailable")).split()[1]
        )
        cgroup = Path("/sys/fs/cgroup")
        limit, used = ((cgroup / name).read_text() for name in ("memory.max", "memory.current"))
        return min(free, int(limit) - int(used))
    except (OSError, StopIteration, ValueError):
        return free
