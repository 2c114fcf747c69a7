"""Gradient flow in steps that ride in lanes: one fixed step of a solver, or an adaptive one between points of a grid.

The adaptive flow is observed on a regular grid of time, the same for all runs, by the solver's interpolant: its steps
are those it would take without the grid. Time is the number of the grid point last passed (exact, times the spacing in
float64 on the host) and a local part since then, so that it does not lose digits however long the flow.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import diffrax
import jax
import jax.numpy as jnp
from jax import lax


def fixed_step(velocity, position, inputs, step_size):
    """One step of Tsit5 (order 5) of the autonomous flow ``position' = velocity(position, inputs)``.

    Args:
        velocity: Function of (position, inputs); its result has the structure of `position`.
        position: Pytree of arrays.
        inputs: Passed on to `velocity`.
        step_size: Continuous time to go on by; may be traced.

    Returns:
        The position after `step_size`. Costs 6 evaluations of `velocity`.
    """
    term = _term(velocity)
    solver = diffrax.Tsit5()
    state = solver.init(term, 0.0, step_size, position, inputs)
    later, *_ = solver.step(term, 0.0, step_size, position, inputs, state, made_jump=True)
    return later


class Flow(NamedTuple):
    """An adaptive flow at a point of its grid.

    Attributes:
        position: At the grid point, by interpolation.
        point: Number of the grid point, int32; its time is this times the spacing.
        attempts: Steps the solver has tried so far, int32.
        ahead: Where the solver is, at or beyond the grid point.
        left, right: Ends of the solver's last step, relative to the grid point.
        next_size: Step it will try next.
        dense: What the interpolant of the last step needs.
        solver, controller: Their states.
    """

    position: Any
    point: Any
    attempts: Any
    ahead: Any
    left: Any
    right: Any
    next_size: Any
    dense: Any
    solver: Any
    controller: Any


class AdaptiveFlow(NamedTuple):
    """A flow to be solved by Tsit5 with step size control.

    Attributes:
        velocity: Function of (position, inputs).
        relative, absolute: Tolerances of a step; may be traced.
        most_attempts: Between two grid points, after which the position is set to nan and the run has diverged.
    """

    velocity: Callable[[Any, Any], Any]
    relative: Any = 1e-5
    absolute: Any = 1e-8
    most_attempts: int = 10_000

    def start(self, position, inputs, first_size) -> Flow:
        """The flow at time 0.

        Args:
            position: Pytree of arrays of one floating dtype, which is that of all times.
            inputs: Passed on to `velocity`.
            first_size: Step to try first; an unsuitable one is shortened, or grows at most tenfold per step.
        """
        dtype = jnp.result_type(*jax.tree.leaves(position))
        zero, size = jnp.zeros((), dtype), jnp.asarray(first_size, dtype)
        term, solver = _term(self.velocity), diffrax.Tsit5()
        state = solver.init(term, zero, size, position, inputs)
        _, controller = self._controller().init(
            term, zero, size, position, size, inputs, _scaled_norm, solver.error_order(term)
        )
        dense = jax.eval_shape(
            lambda: solver.step(term, zero, size, position, inputs, state, made_jump=False)[2]
        )
        dense = jax.tree.map(lambda leaf: jnp.zeros(leaf.shape, leaf.dtype), dense)
        count = jnp.zeros((), jnp.int32)
        return Flow(position, count, count, position, zero, zero, size, dense, state, controller)

    def to_next_point(self, flow: Flow, inputs, spacing) -> Flow:
        """Go on to the next grid point.

        Args:
            flow: At a grid point.
            inputs: Passed on to `velocity`.
            spacing: Continuous time between grid points; the same in every call for a run.

        Cost: 6 evaluations of `velocity` per attempted step. Lanes wait for the one with most attempts.
        """
        dtype = flow.right.dtype
        spacing = jnp.asarray(spacing, dtype)
        started = flow.attempts
        flow = flow._replace(left=flow.left - spacing, right=flow.right - spacing)

        def is_short(flow):
            # A step that overflows is shortened until it hardly moves the clock.
            moves = flow.next_size > 8 * jnp.finfo(dtype).eps * spacing
            tries_left = flow.attempts - started < self.most_attempts
            return (flow.right < 0) & moves & tries_left

        flow = lax.while_loop(is_short, lambda flow: self._attempt(flow, inputs), flow)
        interpolation = diffrax.Tsit5.interpolation_cls(t0=flow.left, t1=flow.right, **flow.dense)
        position = interpolation.evaluate(jnp.zeros((), dtype))
        stuck = flow.right < 0
        position = jax.tree.map(lambda x: jnp.where(stuck, jnp.nan, x), position)
        return flow._replace(position=position, point=flow.point + 1)

    def _attempt(self, flow: Flow, inputs) -> Flow:
        """Try one step; it is taken if its estimated error is within the tolerances."""
        term, solver = _term(self.velocity), diffrax.Tsit5()
        end = flow.right + flow.next_size
        later, error, dense, state, _ = solver.step(
            term, flow.right, end, flow.ahead, inputs, flow.solver, made_jump=False
        )
        keep, _, next_end, _, controller, _ = self._controller().adapt_step_size(
            flow.right,
            end,
            flow.ahead,
            later,
            inputs,
            error,
            solver.error_order(term),
            flow.controller,
        )
        next_start = jnp.where(keep, end, flow.right)
        chosen = lambda new, old: jax.tree.map(lambda a, b: jnp.where(keep, a, b), new, old)  # noqa: E731
        return flow._replace(
            attempts=flow.attempts + 1,
            ahead=chosen(later, flow.ahead),
            left=jnp.where(keep, flow.right, flow.left),
            right=next_start,
            next_size=next_end - next_start,
            dense=chosen(dense, flow.dense),
            solver=chosen(state, flow.solver),
            controller=controller,
        )

    def _controller(self):
        return diffrax.PIDController(rtol=self.relative, atol=self.absolute)


def _term(velocity):
    return diffrax.ODETerm(lambda t, y, args: velocity(y, args))


def _scaled_norm(tree):
    return jnp.sqrt(
        sum(jnp.sum(x**2) for x in jax.tree.leaves(tree))
        / sum(x.size for x in jax.tree.leaves(tree))
    )
