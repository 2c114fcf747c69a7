"""The loops that flows and descents share: checked times, flows at given times, steps with a stride."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import scipy

from foretrain.errors import argument_error, finite_array


def checked_times(times, *, ordered: bool = True) -> np.ndarray:
    """Return times as float64, shape (time,), or raise `ArgumentError`: below 0, or, if `ordered`, decreasing."""
    times = finite_array("times", times, ndim=1).astype(float)
    if ordered and times.size and (times[0] < 0 or (np.diff(times) < 0).any()):
        raise argument_error("times", "not be negative nor decrease", "does")
    if times.size and times.min() < 0:
        raise argument_error("times", "not be negative", f"has {times.min():g}")
    return times


def flow_at(velocity: Callable, state: np.ndarray, times: np.ndarray, **how) -> np.ndarray:
    """Integrate a flow from time 0 with `scipy.integrate.solve_ivp`.

    `velocity` is the derivative of a state as a function of it, `state` that at time 0, (number,), `times` are those of
    `checked_times`, `how` options of `solve_ivp`; the result is (time, number).
    """
    if not times.size or times[-1] == 0:
        return np.tile(state, (times.size, 1))
    stops = np.unique(times)
    solution = scipy.integrate.solve_ivp(
        lambda _, now: velocity(now), (0.0, times[-1]), state, t_eval=stops, **how
    )
    return solution.y.T[np.searchsorted(solution.t, times)]


def observed_flow(
    velocity: Callable,
    state: np.ndarray,
    times: np.ndarray,
    observe: Callable,
    error: Callable,
    *,
    relative: float,
) -> list:
    """Integrate a flow of many numbers, of which few are kept (Runge-Kutta of order 5, absolute tolerance 1e-8).

    Arguments as in `flow_at`; `observe` maps a state to what is kept, one entry per time; `relative` is the relative
    tolerance. Where the `error` of a state has fallen below 1e-3, the flow goes on for as long again, and then rests.
    """
    kept = [observe(state)] * int((times == 0).sum())
    if len(kept) < len(times):
        end, rest = float(times[-1]), np.inf
        solver = scipy.integrate.RK45(
            lambda _, now: velocity(now), 0.0, state, end, rtol=relative, atol=1e-8
        )
        while len(kept) < len(times) and solver.t < rest:
            solver.step()
            between = solver.dense_output()
            passed = np.searchsorted(times, solver.t, side="right")
            kept += [observe(between(time)) for time in times[len(kept) : passed]]
            rest = min(rest, 2 * solver.t if error(solver.y) < 1e-3 else np.inf)
        kept += [observe(solver.y)] * (len(times) - len(kept))
    return kept


def iterate(step: Callable, state: Any, steps: int, every: int = 1) -> Iterator[Any]:
    """Yield the states after 0, `every`, 2 `every`, .. up to `steps` steps; `step` makes the next state of a state."""
    yield state
    for count in range(1, steps // every * every + 1):
        state = step(state)
        if count % every == 0:
            yield state
