"""Steps of Tsitouras' fifth-order method that ride in lanes: of a given size, or of the size that an error allows."""

from typing import Any, NamedTuple

import diffrax
import jax
import jax.numpy as jnp

_ORDER = 5
_SAFETY, _SHRINK, _GROW = 0.9, 0.2, 5.0


class Clock(NamedTuple):
    """The solver's time of the flow so far, and the step that it will try next, scalars."""

    time: Any
    step_size: Any


def fixed_step(velocity, position, inputs, step_size):
    """One step of Tsit5 (order 5) of the autonomous flow ``position' = velocity(position, inputs)``.

    `step_size` is continuous time. Costs 6 evaluations of `velocity`.
    """
    return _step(velocity, position, inputs, step_size)[0]


def _step(velocity, position, inputs, size):
    """The position after a step, and the estimate of its error."""
    term = diffrax.ODETerm(lambda t, y, args: velocity(y, args))
    solver = diffrax.Tsit5()
    state = solver.init(term, 0.0, size, position, inputs)
    return solver.step(term, 0.0, size, position, inputs, state, made_jump=True)[:2]


def attempt(velocity, position, inputs, clock: Clock, *, relative: float, absolute):
    """Try one step of Tsit5 on the autonomous flow ``position' = velocity(position, inputs)``.

    The step is taken if its estimated error, in units of absolute + relative |x| and as a root mean square over all
    entries x, is at most one; otherwise position and time stay, and the next attempt is shorter. A step that was taken
    with an error near one is followed by a shorter one, so that few are refused (diffrax's own controller lengthens then,
    and tries up to a third more steps), and one that overflows, by one a fifth as long.

    `clock` is the time and the step to try. Tolerances are `relative` to each entry and `absolute` near zero, which may be
    traced. Returns position and clock after the attempt. Costs 7 evaluations of `velocity`.
    """
    size = clock.step_size
    later, error = _step(velocity, position, inputs, size)
    ratio = jax.tree.map(
        lambda e, old, new: e / (absolute + relative * jnp.maximum(jnp.abs(old), jnp.abs(new))),
        error,
        position,
        later,
    )
    leaves = jax.tree.leaves(ratio)
    count = sum(leaf.size for leaf in leaves)
    # A step so long that it overflows is nan or inf here, and so is refused.
    worst = jnp.sqrt(sum(jnp.sum(leaf**2) for leaf in leaves) / count)
    accepted = worst <= 1
    factor = jnp.clip(_SAFETY * worst ** (-1 / _ORDER), _SHRINK, _GROW)
    factor = jnp.where(jnp.isfinite(worst), factor, _SHRINK)
    position = jax.tree.map(lambda old, new: jnp.where(accepted, new, old), position, later)
    return position, Clock(jnp.where(accepted, clock.time + size, clock.time), size * factor)
