"""Gradient flow by Runge-Kutta-Chebyshev: an explicit method for long waits beside fast, settled directions.

The Hessian of a loss is symmetric, so the flow's stiffness is real: directions that were learned early limit the step of a
classical explicit method long after nothing happens along them. The second-order method of Sommeijer, Shampine & Verwer
(1998) spends its stages on stability: s evaluations reach along the negative real axis to about 2/3 s^2, where Tsitouras'
fifth-order method with its six reaches 3.3. The step is limited by the error estimate of the method and by the
curvature, the largest eigenvalue of the Hessian, followed by one step of power iteration per step of the flow.

A step is one attempt, accepted or not, so that lanes with different needs ride together without waiting for each other.
Where the number of stages may be chosen step by step, an attempt takes as few as its step size needs to be stable.
"""

from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from numpy.polynomial import chebyshev

_DAMPING = 2 / 13
_MARGIN = 1.2  # of the curvature, which power iteration approaches from below
_NUDGE = (
    1e-2  # along the probe, of the norm of the position: the curvature is needed to a tenth only
)
_SAFETY, _SHRINK, _GROW = 0.8, 0.2, 4.0


class Flow(NamedTuple):
    """A point on a trajectory of gradient flow, with what the next step needs.

    Attributes:
        position: Pytree of float arrays.
        slope: Velocity at `position`.
        probe: Unit pytree close to the direction of largest curvature.
        curvature: Estimate of the largest absolute eigenvalue of the Hessian, scalar.
        step_size: Continuous time that the next attempt goes on by.
        time: Continuous time since the start.
        attempts: Steps tried, int32; each costs one evaluation of the velocity more than it has stages.
        accepted: Steps taken, int32.
    """

    position: Any
    slope: Any
    probe: Any
    curvature: jax.Array
    step_size: jax.Array
    time: jax.Array
    attempts: jax.Array
    accepted: jax.Array


def start(velocity: Callable, position, inputs=None) -> Flow:
    """The start of a flow ``position' = velocity(position, inputs)``.

    `velocity` is minus the gradient of a loss, the position of one dtype, where the slope is not zero. The first step moves
    it by a hundredth of its norm, and power iteration sets out along the slope.
    """
    slope = velocity(position, inputs)
    stretched = _stretched(velocity, position, slope, _unit(slope), inputs)
    dtype = jax.tree.leaves(position)[0].dtype
    step_size = 0.01 * _norm(position) / jnp.maximum(_norm(slope), jnp.finfo(dtype).tiny)
    time, zero = jnp.zeros((), dtype), jnp.zeros((), jnp.int32)
    return Flow(position, slope, _unit(stretched), _norm(stretched), step_size, time, zero, zero)


def attempt(
    velocity: Callable, flow: Flow, inputs, tolerance, stages: int | tuple[int, ...]
) -> Flow:
    """Try one step; if its error is too large only the step size changes.

    The error estimate of every leaf, relative to the norm of that leaf, must not exceed `tolerance`.

    Args:
        flow: State to go on from, of `start` or of an attempt before.
        tolerance: Largest relative error of a step; may be traced.
        stages: Number of evaluations within a step, at least 2; or several, rising, of which the smallest is taken that is
            stable over the step, in a loop of as many turns (of lanes side by side the largest of all).
    """
    here, slope, size = flow.position, flow.slope, flow.step_size
    dtype = size.dtype
    choices = (stages,) if isinstance(stages, int) else stages
    reaches = jnp.asarray([reach(number) for number in choices], dtype)
    # The step size was limited by the reach of the most stages, so that rounding alone can go beyond.
    short = reaches < 0.999 * _MARGIN * flow.curvature * size
    chosen = jnp.minimum(short.sum(), len(choices) - 1) if len(choices) > 1 else 0
    firsts, table = _tables(choices)
    first = jnp.asarray(firsts, dtype)[chosen]

    def stage(pair, row):
        before, earlier = pair
        rest, mu, nu, mu_slope, gamma = row
        pull = velocity(before, inputs)
        later = jax.tree.map(
            lambda y0, y1, y2, f1, f0: (
                rest * y0 + mu * y1 + nu * y2 + size * (mu_slope * f1 + gamma * f0)
            ),
            here,
            before,
            earlier,
            pull,
            slope,
        )
        return (later, before), None

    second = jax.tree.map(lambda y, f: y + first * size * f, here, slope)
    rows = jnp.asarray(table, dtype)
    if len(choices) == 1:
        (end, _), _ = jax.lax.scan(stage, (second, here), rows[0])
    else:
        number = jnp.asarray(choices)[chosen] - 1
        turn = lambda n, both: stage(both, rows[chosen, n])[0]  # noqa: E731
        end, _ = jax.lax.fori_loop(0, number, turn, (second, here))
    arrived = velocity(end, inputs)
    stretched = _stretched(velocity, end, arrived, flow.probe, inputs)
    error = jnp.max(
        jnp.stack(
            [
                _norm(0.8 * (y0 - y1) + 0.4 * size * (f0 + f1))
                / jnp.maximum(_norm(y0), jnp.finfo(dtype).tiny)
                for y0, y1, f0, f1 in zip(
                    *map(jax.tree.leaves, (here, end, slope, arrived)), strict=True
                )
            ]
        )
    )
    error = jnp.where(jnp.isfinite(error), error / tolerance, 1e6).astype(dtype)
    good = error <= 1
    scale = jnp.clip(_SAFETY * jnp.maximum(error, 1e-9) ** (-1 / 3), _SHRINK, _GROW)
    scale = jnp.where(good, scale, jnp.minimum(scale, _SAFETY))
    curvature = jnp.where(good, _norm(stretched), flow.curvature)
    furthest = reaches[-1] / (_MARGIN * jnp.maximum(curvature, jnp.finfo(dtype).tiny))
    choose = lambda new, old: jax.tree.map(lambda n, o: jnp.where(good, n, o), new, old)  # noqa: E731
    return Flow(
        choose(end, here),
        choose(arrived, slope),
        choose(_unit(stretched), flow.probe),
        curvature,
        jnp.minimum(size * scale, furthest),
        flow.time + jnp.where(good, size, 0),
        flow.attempts + 1,
        flow.accepted + good,
    )


def _stretched(velocity, position, slope, probe, inputs):
    """The Hessian times `probe`, up to sign, by a difference over a hundredth of the norm of `position`."""
    length = _NUDGE * jnp.maximum(_norm(position), jnp.finfo(_norm(position).dtype).tiny)
    nudged = jax.tree.map(lambda y, v: y + length * v, position, probe)
    return jax.tree.map(lambda f1, f0: (f1 - f0) / length, velocity(nudged, inputs), slope)


def reach(stages: int) -> float:
    """Length of the negative real axis on which a step of so many stages is stable, in units of 1 / step size."""
    damped, _, _, ratio = _polynomials(stages)
    return float((1 + damped) / ratio)


@cache
def _coefficients(stages):
    """The factor of the first stage, and rows (1 - mu - nu, mu, nu, mu_slope, gamma) of stages 2 to s."""
    damped, values, second, ratio = _polynomials(stages)
    first_derivative = [chebyshev.chebval(damped, chebyshev.chebder(_basis(j))) for j in second]
    b = {j: second[j] / first_derivative[j] ** 2 for j in second if j >= 2}
    b[0] = b[1] = b[2]
    rows = []
    for j in range(2, stages + 1):
        mu, nu = 2 * b[j] * damped / b[j - 1], -b[j] / b[j - 2]
        mu_slope = 2 * b[j] * ratio / b[j - 1]
        gamma = -(1 - b[j - 1] * values[j - 1]) * mu_slope
        rows.append((1 - mu - nu, mu, nu, mu_slope, gamma))
    return b[1] * ratio, np.array(rows)


@cache
def _tables(choices):
    """The factor of the first stage, and the rows of `_coefficients`, zeros behind, for each number of stages."""
    table = np.zeros((len(choices), choices[-1] - 1, 5))
    firsts = np.zeros(len(choices))
    for place, number in enumerate(choices):
        firsts[place], rows = _coefficients(number)
        table[place, : number - 1] = rows
    return firsts, table


@cache
def _polynomials(stages):
    """The damped point w0, Chebyshev's T_j and T_j'' there for j = 0 .. s, and w1 = T_s' / T_s''."""
    damped = 1 + _DAMPING / stages**2
    values, second = {}, {}
    for j in range(stages + 1):
        values[j] = chebyshev.chebval(damped, _basis(j))
        second[j] = chebyshev.chebval(damped, chebyshev.chebder(_basis(j), 2))
    first = chebyshev.chebval(damped, chebyshev.chebder(_basis(stages)))
    return damped, values, second, first / second[stages]


def _basis(degree):
    return np.eye(degree + 1)[degree]


def _norm(tree):
    return jnp.sqrt(sum((leaf**2).sum() for leaf in jax.tree.leaves(tree)))


def _unit(tree):
    length = _norm(tree)
    return jax.tree.map(lambda leaf: leaf / jnp.maximum(length, jnp.finfo(leaf.dtype).tiny), tree)
