"""The jitted half of the lanes: a program vectorised over a fixed number of lanes, in five compiled functions.

Every function is compiled once for a program and a number of lanes: the number of strides of a chunk is a traced value,
the loop over them leaves early on the device, and lanes are filled by a gather. What a lane computes therefore never
depends on how the runs are cut into chunks or which run rides beside it.
"""

from functools import cache, partial

import jax
import jax.numpy as jnp
from jax import lax

from foretrain.dynamics.program import DIVERGED, OUT_OF_STEPS, RUNNING, Completed

# On a CPU XLA copies the weights in every step unless it looks at the loop as a whole, and uses half of the vector units of
# a core with 512 bits: together up to a sixth of a step. Given here and not by XLA_FLAGS, they hold wherever JAX was
# started, so that the bits do not depend on it. On a GPU XLA times several kernels for each product while it compiles, and
# takes another one in another process: bits would differ. Without it, and without sums in the order of arrival, the
# perceptron of grokking is as fast on an H100 and compiles in a sixth of the time.
_OPTIONS: dict[str, dict[str, bool | int]] = {
    "cpu": {
        "xla_cpu_copy_insertion_use_region_analysis": True,
        "xla_cpu_prefer_vector_width": 512,
    },
    "gpu": {"xla_gpu_deterministic_ops": True},
}


@cache
def known_options(backend: str) -> dict[str, bool | int]:
    """Those of these options for the compiler of a program that the installed XLA knows."""
    return {n: value for n, value in _OPTIONS.get(backend, {}).items() if _is_known(n, value)}


def _is_known(name, value):
    try:
        jax.jit(lambda x: x, compiler_options={name: value}).lower(jnp.float32(0)).compile()
    except jax.errors.JaxRuntimeError:
        return False
    return True


def moves_in_turn(program: Completed) -> bool:
    """Return True if lanes of the program move one after the other here."""
    return program.in_turn and jax.default_backend() == "cpu"


class Kernel:
    """A program over lanes; the observations of a chunk, of `rows` strides at most, are kept on the device until it ends.

    All methods must be called inside ``arithmetic(program.precision)``.
    """

    def __init__(self, program: Completed, rows: int):
        self.program, self.rows = program, rows
        self.in_turn = moves_in_turn(program)
        backend = jax.default_backend()
        options = known_options(backend)
        others = {} if backend == "cpu" else options  # starts on a CPU keep the bits that they had
        self.start = jax.jit(self._start, compiler_options=others)
        self.chunk = jax.jit(self._chunk, donate_argnames="state", compiler_options=options)
        self.finish = jax.jit(self._finish, compiler_options=others)

    def _over_lanes(self, function, shared):
        return jax.vmap(lambda inputs, *rest: function({**inputs, **shared}, *rest))

    def _start(self, inputs, shared):
        """State, outcome and observation of fresh runs at step 0."""
        state = self._over_lanes(self.program.init, shared)(inputs)
        # A weakly typed leaf would compile everything a second time once it has been through a chunk.
        state = jax.tree.map(_strong, state)
        observed = self._over_lanes(self.program.observe, shared)(inputs, state)
        # Large constants, such as the zeros that an optimiser starts from, would be folded at compile time for seconds.
        floating = [
            leaf for leaf in jax.tree.leaves(state) if jnp.issubdtype(leaf.dtype, jnp.inexact)
        ]
        fine = _finite(lax.optimization_barrier(floating)) & _finite(observed)
        outcome = jnp.where(inputs["max_steps"] > 0, RUNNING, OUT_OF_STEPS)
        outcome = jnp.where(fine, outcome, DIVERGED).astype(jnp.int8)
        return state, outcome, {**observed, **self._no_steps(inputs, state, shared)}

    def _chunk(self, inputs, state, step, outcome, shared, limit, allowance):
        """Move all lanes on until `limit` strides are done, no lane moves, or `allowance` is wasted.

        A lane moves while its outcome is RUNNING. Waste is counted in strides of lanes that froze in this chunk; where lanes
        move in turn, a frozen one takes no time, and nothing is wasted.

        Returns:
            state, step and outcome after it; the strides done; the observations, shape (row, lane, ...), of which
            a lane has as many rows as it has done strides.
        """
        stride = self.program.observe_every
        one_step = self._over_lanes(self.program.step, shared)
        observe = self._over_lanes(self.program.observe, shared)
        done = self._over_lanes(self.program.done, shared)
        frozen_before = jnp.sum(outcome != RUNNING)

        def one_stride_of_steps(state):
            if self.program.every_step is None:
                return lax.fori_loop(0, stride, lambda _, state: one_step(inputs, state), state), {}

            def step_and_look(state, _):
                state = one_step(inputs, state)
                return state, self._over_lanes(self.program.every_step, shared)(inputs, state)

            later, steps = lax.scan(step_and_look, state, length=stride)
            return later, jax.tree.map(lambda values: jnp.moveaxis(values, 0, 1), steps)

        def goes_on(carry):
            row, wasted, _, _, outcome, _ = carry
            return (row < limit) & (wasted <= allowance) & jnp.any(outcome == RUNNING)

        def one_stride(carry):
            row, wasted, state, step, outcome, record = carry
            moves = outcome == RUNNING
            if self.in_turn:
                later, steps, observed, ended = self._stride_in_turn(inputs, state, moves, shared)
            else:
                later, steps = one_stride_of_steps(state)
                observed = observe(inputs, later)
                ended = done(inputs, later, observed).astype(jnp.int8)
            step = jnp.where(moves, step + stride, step)
            ended = jnp.where(step >= inputs["max_steps"], OUT_OF_STEPS, ended)
            ended = jnp.where(_finite(later) & _finite(observed), ended, DIVERGED)
            outcome = jnp.where(moves, ended, outcome).astype(jnp.int8)
            state = jax.tree.map(partial(_select, moves), later, state)
            seen = {**observed, **steps}
            record = jax.tree.map(lambda kept, new: kept.at[row].set(new), record, seen)
            if not self.in_turn:
                wasted = wasted + jnp.sum(outcome != RUNNING) - frozen_before
            return row + 1, wasted.astype(jnp.int32), state, step, outcome, record

        shapes = jax.eval_shape(observe, inputs, state)
        shapes |= jax.eval_shape(lambda: self._no_steps(inputs, state, shared))
        record = jax.tree.map(lambda x: jnp.zeros((self.rows, *x.shape), x.dtype), shapes)
        zero = jnp.zeros((), jnp.int32)
        carry = (zero, zero, state, step, outcome, record)
        row, _, state, step, outcome, record = lax.while_loop(goes_on, one_stride, carry)
        return state, step, outcome, row, record

    def _stride_in_turn(self, inputs, state, moves, shared):
        """State, what fell out of the steps, observation and whether it is done, of one lane after the other.

        A frozen lane is passed over, and what stands for it says nothing.
        """
        program = self.program

        def go(inputs, state):
            inputs = {**inputs, **shared}

            def step(state, _):
                state = program.step(inputs, state)
                return state, program.every_step(inputs, state) if program.every_step else {}

            later, steps = lax.scan(step, state, length=program.observe_every)
            observed = program.observe(inputs, later)
            return later, steps, observed, program.done(inputs, later, observed).astype(jnp.int8)

        def stay(inputs, state):
            _, *rest = jax.eval_shape(go, inputs, state)
            return state, *jax.tree.map(lambda x: jnp.zeros(x.shape, x.dtype), rest)

        def lane(arguments):
            moves, inputs, state = arguments
            return lax.cond(moves, go, stay, inputs, state)

        return lax.map(lane, (moves, inputs, state))

    def _no_steps(self, inputs, state, shared):
        """Return what stands for `every_step` before the first step: nan, shape (lane, substep)."""
        if self.program.every_step is None:
            return {}
        shapes = jax.eval_shape(self._over_lanes(self.program.every_step, shared), inputs, state)
        length = self.program.observe_every
        return {n: jnp.full((*x.shape, length), jnp.nan, x.dtype) for n, x in shapes.items()}

    def _finish(self, inputs, state, shared, lanes):
        """Return the finals of the runs in `lanes`, shape (finished,)."""
        taken = jax.tree.map(lambda leaf: leaf[lanes], (inputs, state))
        return self._over_lanes(self.program.finish, shared)(*taken)


@partial(jax.jit, donate_argnums=0)
def refill(riders, pool, source):
    """Put row ``source[lane]`` of the pool into each lane; a negative source leaves the lane as it is."""
    rows = jnp.maximum(source, 0)
    return jax.tree.map(lambda old, new: _select(source >= 0, new[rows], old), riders, pool)


@jax.jit
def take(tree, lanes):
    """Copy of the given lanes of every leaf."""
    return jax.tree.map(lambda leaf: leaf[lanes], tree)


def _strong(leaf):
    leaf = jnp.asarray(leaf)
    if jnp.issubdtype(leaf.dtype, jax.dtypes.extended):
        return leaf
    return lax.convert_element_type(leaf, leaf.dtype)


def _select(lanes, new, old):
    return jnp.where(lanes.reshape(lanes.shape + (1,) * (new.ndim - 1)), new, old)


def _finite(tree):
    """Per lane whether every floating leaf of the tree is finite."""
    leaves = [leaf for leaf in jax.tree.leaves(tree) if jnp.issubdtype(leaf.dtype, jnp.inexact)]
    per_leaf = [jnp.isfinite(leaf).reshape(leaf.shape[0], -1).all(axis=1) for leaf in leaves]
    if not per_leaf:
        return jnp.array(True)
    return jnp.stack(per_leaf).all(axis=0)
