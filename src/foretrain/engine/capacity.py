"""Number of lanes of a worker: as many as fit into memory and cache, and as repay their number."""

import time
from dataclasses import replace
from typing import Any

import jax
import numpy as np

from foretrain.arithmetic import arithmetic
from foretrain.dynamics.program import Completed
from foretrain.engine.dispatch import TRIAL_S
from foretrain.engine.lanes import FEWEST, Lanes
from foretrain.engine.sizes import bytes_per_lane, shapes_of, size
from foretrain.errors import TooLarge
from foretrain.machine import free_memory

_DEFAULT = {"cpu": 16, "gpu": 1024}
_CANDIDATES = {"cpu": (8, 16, 32, 64, 128, 256), "gpu": (64, 256, 1024, 4096, 16384)}
_CACHE_BYTES = 4 * 2**20  # state and inputs of all lanes should stay in the cache of a core
_SHARE = 0.7  # of the free memory
_FULL = 5e5  # operations of a lane's step that keep a core busy: others beside it gain nothing
_SHARED_BYTES = 10**5  # data that all lanes read: with so much they gain, as it is read once
_LONG_S = 60.0  # a shorter sweep does not repay measuring


def choose_lanes(
    program: Completed,
    sample: Any,  # A `Passenger`
    shared: dict[str, Any],  # inputs common to all runs
    *,
    runs: int,  # number of runs of this signature
    steps: float,  # their predicted steps, summed
    workers: int,  # number of workers of the sweep on this backend
    timed: bool = False,  # whether their speed is to be known in any case
) -> tuple[int, float]:
    """Number of lanes for the runs of one static signature, and the steps per second of all of them, 0 where not timed.

    A short sweep gets as many as it has runs per worker, up to a usual number, never 12; for a long one the candidates whose
    states fit into the cache are timed on copies of `sample`. Where more than the fewest gain nothing it gets these, of which
    none is idle for long: where lanes move in turn, and where the step of one of them keeps a core busy.
    Raises `TooLarge`, with the estimate, where not even three lanes fit into memory.
    """
    kind = "cpu" if jax.default_backend() == "cpu" else "gpu"
    with arithmetic(program.precision):
        inputs = {name: np.asarray(value) for name, value in sample.inputs.items()}
        strides = -(-int(inputs["max_steps"]) // program.observe_every) + 1
        state, observed = shapes_of(program, inputs, shared)
        per_lane = bytes_per_lane(program, inputs, shared, strides)
        step = jax.jit(program.step).lower({**inputs, **shared}, state).cost_analysis() or {}
    free = free_memory()
    if kind == "gpu":
        statistics = jax.devices()[0].memory_stats() or {}
        free = statistics.get("bytes_limit", 2**33) - statistics.get("bytes_in_use", 0)
    fitting = int(_SHARE * free / workers / per_lane)
    if fitting < FEWEST:
        raise TooLarge(
            f"A run needs about {per_lane / 1e9:.2g} GB, and {workers} workers with {FEWEST} lanes each "
            f"{workers * FEWEST * per_lane / 1e9:.2g} GB, but {free / 1e9:.2g} GB are free. "
            f"Try fewer workers, or observe less often: {strides} observations take {size(observed) / 1e6:.2g} MB each."
        )
    most = min(fitting, -(-runs // workers))
    full = (step.get("flops", 0) > _FULL and size(shared) < _SHARED_BYTES) or program.in_turn
    if kind == "cpu":
        most = min(most, FEWEST if full else _CACHE_BYTES // max(1, size(state) + size(inputs)))
    most = 8 if most == 12 else most  # of 12 lanes XLA makes 4 and 8, which round differently
    usual = max(FEWEST, min(_DEFAULT[kind], most))
    many = usual == _DEFAULT[kind]
    candidates = [lanes for lanes in _CANDIDATES[kind] if many and lanes <= most // 2]
    if not candidates and not timed:
        return usual, 0.0
    speed = {usual: _lane_steps_per_second(program, sample, shared, usual)}
    if not candidates or steps / workers / speed[usual] < _LONG_S:
        return usual, speed[usual]
    for lanes in candidates:
        speed.setdefault(lanes, _lane_steps_per_second(program, sample, shared, lanes))
    # More lanes wait longer for the last runs: take the fewest that come within a twentieth of the best.
    lanes = min(lanes for lanes, rate in speed.items() if rate > 0.95 * max(speed.values()))
    return lanes, speed[lanes]


def _lane_steps_per_second(program, sample, shared, lanes) -> float:
    endless = np.iinfo(np.int32).max - program.observe_every
    trial = Lanes(program, shared, lanes)
    short, long = (
        replace(sample, inputs={**sample.inputs, "max_steps": steps})
        for steps in (program.observe_every, endless)
    )
    # The first run ends after a stride, so that all is compiled, and another takes its lane.
    trial.board([short, *[long] * lanes])
    trial.advance()
    trial.advance()
    # On a core its own seconds count, whatever else the machine is doing.
    clock = time.process_time if jax.default_backend() == "cpu" else time.perf_counter
    before, began = trial.strides_done, clock()
    while clock() - began < TRIAL_S:
        if not trial.busy:  # such runs soon converge
            trial.board([long] * lanes)
        trial.advance()
    return max((trial.strides_done - before) / (clock() - began) * program.observe_every, 1e-9)
