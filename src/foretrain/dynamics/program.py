"""What a run is to the engine: four pure functions on pytrees, jitted once and run in many lanes."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

State = Any
Inputs = dict[str, Any]

RUNNING, CONVERGED, DIVERGED, STALLED, OUT_OF_STEPS, FAILED = range(6)
KEEP_STATE = ("no", "end", "all")  # whether, and when, the whole state of a run is stored
OUTCOMES = ("running", "converged", "diverged", "stalled", "out_of_steps", "failed")


@dataclass(frozen=True)
class Program:
    """The jitted part of a run, for one static signature.

    All four functions see a single run; the engine vectorises them over lanes. `inputs` is what the study's
    ``inputs(parameters, root_seed, seed)`` gave for the run, as traced arrays, with the entries of its ``shared(parameters)``
    (not copied per lane), ``inputs["root_seed"]`` and ``inputs["seed"]`` (uint32 scalars) and ``inputs["max_steps"]``
    (int32 scalar) added.

    Attributes:
        init: ``init(inputs) -> state``: a pytree of arrays of fixed shapes.
        step: ``step(inputs, state) -> state``: one step of the optimiser or one step of a flow's solver.
        observe: ``observe(inputs, state) -> dict[str, array]``: what is stored every `observe_every` steps, at step 0
            included. Keys are names of the vocabulary.
        done: ``done(inputs, state, observed) -> int8 scalar``: RUNNING, CONVERGED or STALLED, asked after each observation.
            Not asked at step 0. A non-finite observation is DIVERGED and the last step is OUT_OF_STEPS without being asked.
        finish: ``finish(inputs, state) -> dict[str, array]``: what is stored once, when the run ends.
        observe_every: Common stride in steps of `observe` and `done`.
        precision: "float32" or "float64"; the whole run lives in it.
        every_step: ``every_step(inputs, state) -> dict[str, floating scalar]`` or None: what falls out of a step, such as
            the loss of its minibatch held in the state, read off after every single step. A stored row is one stride of
            them, along a last dim ``substep`` of length `observe_every`; row 0, before the first step, is nan. A value
            that is not finite here ends no run. Anything that must be computed belongs into `observe`.
    """

    init: Callable[[Inputs], State]
    step: Callable[[Inputs, State], State]
    observe: Callable[[Inputs, State], dict[str, Any]]
    done: Callable[[Inputs, State, dict[str, Any]], Any]
    finish: Callable[[Inputs, State], dict[str, Any]]
    observe_every: int
    precision: str = "float32"
    every_step: Callable[[Inputs, State], dict[str, Any]] | None = None
