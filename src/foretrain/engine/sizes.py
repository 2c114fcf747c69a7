"""What a run takes: shapes and bytes of its state, inputs and observations, found without running anything."""

from typing import Any

import jax
import numpy as np

from foretrain.arithmetic import arithmetic
from foretrain.dynamics.program import Completed


def shapes_of(
    program: Completed, inputs: dict[str, Any], shared: dict[str, Any]
) -> tuple[Any, Any]:
    """Shapes and dtypes of the state and of an observation of one run, found without running anything."""
    given = {**inputs, **shared}
    state = jax.eval_shape(program.init, given)
    observed = jax.eval_shape(program.observe, given, state)
    if program.every_step is not None:
        scalars = jax.eval_shape(program.every_step, given, state)
        length = (program.observe_every,)
        observed |= {n: jax.ShapeDtypeStruct(length, x.dtype) for n, x in scalars.items()}
    return state, observed


def result_bytes(program: Completed, inputs: dict[str, Any], shared: dict[str, Any]) -> int:
    """Fewest bytes that a run takes in the labelled result: two observations, after which it may end, and its finals."""
    with arithmetic(program.precision):
        state, observed = shapes_of(program, inputs, shared)
        finals = jax.eval_shape(program.finish, {**inputs, **shared}, state)
    return 2 * size(observed) + size(finals)


def size(tree) -> int:
    """Bytes of all leaves of a tree of arrays or shapes."""
    leaves = (leaf for leaf in jax.tree.leaves(tree))
    return sum(int(np.prod(leaf.shape)) * leaf.dtype.itemsize for leaf in leaves)


def bytes_per_lane(
    program: Completed, inputs: dict[str, Any], shared: dict[str, Any], strides: int
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
