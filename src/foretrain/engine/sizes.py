"""Shapes and bytes of the state, inputs and observations of a run, and of the largest product of a step; nothing is run."""

from collections.abc import Iterator
from typing import Any

import jax

from foretrain.arithmetic import arithmetic
from foretrain.dynamics.program import Completed
from foretrain.plans.card import StudyError


def shapes_of(
    program: Completed, inputs: dict[str, Any], shared: dict[str, Any]
) -> tuple[Any, Any]:
    """Shapes and dtypes of the state and of an observation of one run, found without running anything."""
    arguments = {**inputs, **shared}
    state = jax.eval_shape(program.init, arguments)
    observed = jax.eval_shape(program.observe, arguments, state)
    if program.every_step is not None:
        scalars = jax.eval_shape(program.every_step, arguments, state)
        length = (program.observe_every,)
        observed |= {n: jax.ShapeDtypeStruct(length, x.dtype) for n, x in scalars.items()}
    return state, observed


def result_bytes(
    program: Completed, inputs: dict[str, Any], shared: dict[str, Any]
) -> tuple[int, int]:
    """Return the fewest and the most bytes that a run takes in the labelled result: its finals and two or all observations.

    Raises:
        StudyError: an observation, or what is stored at the end, is no dictionary.
    """
    with arithmetic(program.precision):
        state, observed = shapes_of(program, inputs, shared)
        finals = jax.eval_shape(program.finish, {**inputs, **shared}, state)
    for name, arrays in (("observe", observed), ("finish", finals)):
        if not isinstance(arrays, dict):
            got = type(arrays).__name__
            raise StudyError(f"`{name}` must return a dictionary of arrays, but returns {got}.")
    strides = -(-int(inputs["max_steps"]) // program.observe_every) + 1
    return 2 * size(observed) + size(finals), strides * size(observed) + size(finals)


def size(tree) -> int:
    """Bytes of all leaves of a tree of arrays or shapes."""
    return sum(leaf.size * leaf.dtype.itemsize for leaf in jax.tree.leaves(tree))


def bytes_per_lane(
    program: Completed, inputs: dict[str, Any], shared: dict[str, Any], strides: int
) -> int:
    """Bytes that a lane holds: states (lane, pool, next, chunk's), inputs (lane, pool), observations, one product of a step.

    The inputs common to all runs are not counted; the observations of a run, at most `strides`, stay in memory until it is
    done (and once more while written). Of what a step needs besides its state only the factors and the result of its largest
    product of matrices are counted, which stand in memory together; other arrays may be fused away, and gradients are as large
    as the parameters in the state.
    """
    state, observed = shapes_of(program, inputs, shared)
    step = jax.make_jaxpr(program.step)({**inputs, **shared}, state)
    # Where lanes move in turn, one of them is at a step.
    product = 0 if program.in_turn else max(_products(step.jaxpr), default=0)
    return 4 * size(state) + 2 * size(inputs) + (2 * strides + 2) * size(observed) + product


def _products(jaxpr: Any) -> Iterator[int]:
    """Bytes of the factors and the result of each product of matrices, those of inner functions too."""
    for equation in jaxpr.eqns:
        if equation.primitive.name in ("dot_general", "conv_general_dilated"):
            yield size([variable.aval for variable in (*equation.invars, *equation.outvars)])
        for value in equation.params.values():
            for part in value if isinstance(value, tuple | list) else (value,):
                inner = getattr(part, "jaxpr", part)
                if hasattr(inner, "eqns"):
                    yield from _products(inner)
