"""The memory that the processes of a sweep will take: each by itself, the lanes of its programs, and the labelled result."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import jax

from foretrain.arithmetic import arithmetic
from foretrain.dynamics.program import Completed, completed
from foretrain.engine.capacity import lanes_at_most
from foretrain.engine.dispatch import Group
from foretrain.engine.sizes import bytes_per_lane, shapes_of, size
from foretrain.plans.plan import Run
from foretrain.plans.study import Study

HERE = 350e6  # bytes of the process that deals out runs, with what judges and draws them
WORKER = 200e6  # bytes of a worker with JAX and XLA that has compiled nothing yet
PROGRAM = 120e6  # bytes of what compiles a program, and of what it makes
COPIES = 4  # of the labelled result, while it is stored, judged and drawn


@dataclass(frozen=True)
class Footprint:
    """Bytes of memory, at most."""

    here: float  # of the process that deals out the runs, judges and draws
    worker: float  # of each worker


def footprint(
    study: Study, runs: Sequence[Run], groups: Sequence[Group], workers: int
) -> Footprint:
    """The memory that runs which are trained take in the lanes of so many workers on cores where none ends early.

    What a study computes on the host beside, or predicts, is not counted.

    Cost: what making the inputs of one run of every group costs, and tracing its program.
    """
    lanes, result = [0.0], 0.0
    for group in groups:
        run = runs[group.waiting[0]]
        given = study.program(group.parameters)
        if given is None:  # these are computed on the host
            continue
        program = completed(given, group.parameters)
        shared = study.shared(group.parameters)
        inputs = study.inputs(run.parameters, run.seed)
        inputs |= {
            "root_seed": run.seed.root,
            "seed": run.seed.number,
            "max_steps": run.parameters.steps,
        }
        strides = -(-run.parameters.steps // program.observe_every) + 1
        with arithmetic(program.precision):
            arrays, shared = (
                {name: jax.numpy.asarray(value) for name, value in given.items()}
                for given in (inputs, shared)
            )
            each = bytes_per_lane(program, arrays, shared, strides)
            number = lanes_at_most(program, arrays, shared, -(-group.count // workers))
            result += group.count * _stored(program, arrays, shared, strides)
        lanes.append(number * each + 2 * size(shared))
    return Footprint(HERE + COPIES * result, WORKER + PROGRAM * len(groups) + max(lanes))


def _stored(
    program: Completed, inputs: dict[str, Any], shared: dict[str, Any], strides: int
) -> int:
    """Bytes of a run in the labelled result, with all observations."""
    state, observed = shapes_of(program, inputs, shared)
    finals = jax.eval_shape(program.finish, {**inputs, **shared}, state)
    return strides * size(observed) + size(finals)
