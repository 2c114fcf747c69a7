"""A run as the engine sees it: pure functions on pytrees, jitted once and run in many lanes."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from foretrain.vocabulary import COMPUTED as COMPUTED
from foretrain.vocabulary import CONVERGED as CONVERGED
from foretrain.vocabulary import DIVERGED as DIVERGED
from foretrain.vocabulary import FAILED as FAILED
from foretrain.vocabulary import OUT_OF_STEPS as OUT_OF_STEPS
from foretrain.vocabulary import OUTCOMES as OUTCOMES
from foretrain.vocabulary import RUNNING as RUNNING
from foretrain.vocabulary import STALLED as STALLED

State = Any
Inputs = dict[str, Any]

KEEP_STATE = ("no", "end", "all")  # whether, and when, the whole state of a run is stored


@dataclass(frozen=True)
class Program:
    """The jitted part of a run, for one static signature.

    All functions see a single run; the engine vectorises them over lanes. `inputs` is what the study gives for the run, as
    traced arrays: every traced number of its parameters, what its ``inputs(p, seed)`` draws, the entries of its
    ``shared(p)`` (not copied per lane), ``inputs["root_seed"]`` and ``inputs["seed"]`` (uint32 scalars) and
    ``inputs["max_steps"]`` (int32 scalar).

    Attributes:
        init: ``init(inputs) -> state``: a pytree of arrays of fixed shapes.
        step: ``step(inputs, state) -> state``: one step of the optimizer or one step of a flow's solver.
        observe: ``observe(inputs, state) -> dict[str, array]``: what is stored every `observe_every` steps, at step 0
            included. Keys are names of the vocabulary.
        done: ``done(inputs, state, observed) -> int8 scalar``: RUNNING, CONVERGED or STALLED, asked after each observation.
            Not asked at step 0. A non-finite observation is DIVERGED and the last step is OUT_OF_STEPS without being
            asked. By default a run has converged when ``observed["loss"]`` is at most ``inputs["loss_tolerance"]`` and that
            is above zero; it runs all its steps where there is no such tolerance.
        finish: ``finish(inputs, state) -> dict[str, array]``: what is stored once, when the run ends; by default nothing.
        observe_every: Common stride in steps of `observe` and `done`; by default that of the parameters.
        precision: "float32" or "float64", in which the whole run lives; by default that of the parameters, or float32.
        every_step: ``every_step(inputs, state) -> dict[str, floating scalar]`` or None: what falls out of a step, such as
            the loss of its minibatch held in the state, read off after every single step. A stored row is one stride of
            them, along a last dim ``substep`` of length `observe_every`; row 0, before the first step, is nan. A value
            that is not finite here ends no run. Anything that must be computed belongs into `observe`.
        in_turn: True if on a CPU the lanes move one after the other, a stride each, and not side by side: faster where the
            state of one run fills the cache of a core and its products are large.
    """

    init: Callable[[Inputs], State]
    step: Callable[[Inputs, State], State]
    observe: Callable[[Inputs, State], dict[str, Any]]
    done: Callable[[Inputs, State, dict[str, Any]], Any] | None = None
    finish: Callable[[Inputs, State], dict[str, Any]] | None = None
    observe_every: int | None = None
    precision: str | None = None
    every_step: Callable[[Inputs, State], dict[str, Any]] | None = None
    in_turn: bool = False


@dataclass(frozen=True)
class Completed(Program):
    """A `Program` that leaves nothing open; what the engine runs."""

    done: Callable[[Inputs, State, dict[str, Any]], Any] = field(kw_only=True)
    finish: Callable[[Inputs, State], dict[str, Any]] = field(kw_only=True)
    observe_every: int = field(kw_only=True)
    precision: str = field(kw_only=True)


def completed(program: Program, p: Any) -> Completed:
    """The program with what it leaves open: `done` and `finish` by their defaults, stride and precision from `p`."""
    filled = {
        "done": program.done or _at_tolerance,
        "finish": program.finish or (lambda inputs, state: {}),
        "observe_every": program.observe_every or p.observe_every,
        "precision": program.precision or vars(p).get("precision", "float32"),
    }
    return Completed(**vars(program) | filled)


def _at_tolerance(inputs: Inputs, state: State, observed: dict[str, Any]) -> Any:
    import jax.numpy as jnp

    if "loss_tolerance" not in inputs or "loss" not in observed:
        return jnp.int8(RUNNING)
    tolerance = inputs["loss_tolerance"]
    reached = (tolerance > 0) & (observed["loss"] <= tolerance)
    return jnp.where(reached, CONVERGED, RUNNING).astype(jnp.int8)
