"""What a lane takes: its memory, and how many lanes fit."""

from typing import Any

import jax
import numpy as np

from foretrain.dynamics.program import Program


def shapes_of(program: Program, inputs: dict[str, Any], shared: dict[str, Any]) -> tuple[Any, Any]:
    """Shapes and dtypes of the state and of an observation of one run, found without running anything."""
    given = {**inputs, **shared}
    state = jax.eval_shape(program.init, given)
    return state, jax.eval_shape(program.observe, given, state)


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
