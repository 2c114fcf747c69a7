"""The first run of a study, traced: nothing is run."""

from collections.abc import Callable
from typing import Any

import numpy as np

from foretrain.arithmetic import arithmetic
from foretrain.dynamics.program import Program, completed
from foretrain.lazy import jax
from foretrain.plans.card import StudyError
from foretrain.plans.study import Study


def traced(
    study: Study, p: Any, make_inputs: Callable[[], dict[str, Any]]
) -> dict[str, tuple[int, ...]]:
    """Return name to shape of all that a program observes or ends with, -1 for ``step`` in front, from inputs of the run."""
    from foretrain.engine.sizes import shapes_of

    def shapes(tree: Any) -> list[str]:
        return [f"{leaf.dtype}{list(leaf.shape)}" for leaf in jax.tree.leaves(tree)]

    bare = study.program(p)
    if bare is None and study.computes:
        return {}
    if not isinstance(bare, Program):
        raise StudyError(f"It must return a Program, but returns {type(bare).__name__}.")
    program = completed(bare, p)
    with arithmetic(program.precision):
        inputs = {name: np.asarray(value) for name, value in make_inputs().items()}
        inputs |= {n: v.astype(program.precision) for n, v in inputs.items() if v.dtype.kind == "f"}
        state, seen = shapes_of(program, inputs, {})
        later = jax.eval_shape(program.step, inputs, state)
        if (before := shapes(state)) != (after := shapes(later)):
            rule = "A step must return a state of the shapes and dtypes that `init` gives"
            raise StudyError(f"{rule}, but {before} becomes {after}.")
        jax.eval_shape(program.done, inputs, state, seen)
        end = jax.eval_shape(program.finish, inputs, state)
    curves = {name: (-1, *leaf.shape) for name, leaf in seen.items()}
    return curves | {name: tuple(leaf.shape) for name, leaf in end.items()}
