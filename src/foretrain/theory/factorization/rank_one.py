r"""Four numbers that describe the rank-one fit of a rank-one matrix exactly.

Target $C = a b^T$ with $|a| = |b| = 1$, learner $Z = x y^T$, loss $L = \|C - Z\|_F^2$ (no 1/2),
descent on $-\nabla L - \lambda (x, y)$. With $\alpha = a \cdot x$, $\beta = b \cdot y$ and the
squared lengths $p, q$ of what is orthogonal to $a$ in $x$ and to $b$ in $y$,

$$ \alpha' = 2 [\beta - (\beta^2 + q) \alpha] - \lambda \alpha, \qquad
   p' = -4 (\beta^2 + q) p - 2 \lambda p $$

and the same with x and y exchanged. Descent with a finite step is closed in the same four numbers, because the direction of
the orthogonal part never changes. The flow conserves |x|^2 - |y|^2; with weight decay it falls as exp(-2 lambda t). This is
one term of the low-rank fits of `foretrain.networks.factorization`; derived in docs/theory/s-curves.md.

The unit of time is continuous time of the flow of L, that is step x learning rate.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.integrate import solve_ivp

from foretrain.errors import argument_error, finite_array, integer, real
from foretrain.theory.integration import checked_times, iterate

_RELATIVE, _ABSOLUTE = 1e-12, 1e-14


@dataclass(frozen=True)
class RankOneState:
    """The four numbers; each a float, or an array of one common shape.

    Attributes:
        overlap_x: alpha = a . x, any sign.
        overlap_y: beta = b . y, any sign.
        irrelevant_x: p, squared length of the part of x orthogonal to a; not negative.
        irrelevant_y: q, squared length of the part of y orthogonal to b; not negative.
    """

    overlap_x: float | np.ndarray
    overlap_y: float | np.ndarray
    irrelevant_x: float | np.ndarray
    irrelevant_y: float | np.ndarray

    @property
    def squared_norm_x(self) -> float | np.ndarray:
        """|x|^2 = alpha^2 + p."""
        return self.overlap_x**2 + self.irrelevant_x

    @property
    def squared_norm_y(self) -> float | np.ndarray:
        """|y|^2 = beta^2 + q."""
        return self.overlap_y**2 + self.irrelevant_y


FIELDS = tuple(RankOneState.__dataclass_fields__)


def reduce(x, y, a, b) -> RankOneState:
    """The four numbers of a learner x y^T and a target a b^T, with vectors a and b of length 1 to 1e-6.

    Example:
        >>> state = reduce([0.1, 0.2], [0.3, 0.0], [1.0, 0.0], [1.0, 0.0])
        >>> state.overlap_x, state.overlap_y
        (0.1, 0.3)
    """
    x, y = finite_array("x", x, ndim=1), finite_array("y", y, ndim=1)
    a, b = _unit("a", a, x.shape), _unit("b", b, y.shape)
    overlap_x, overlap_y = float(a @ x), float(b @ y)
    rest_x, rest_y = x - overlap_x * a, y - overlap_y * b
    return RankOneState(overlap_x, overlap_y, float(rest_x @ rest_x), float(rest_y @ rest_y))


def loss(state: RankOneState) -> float | np.ndarray:
    """L = ||a b^T - x y^T||_F^2 = (1 - alpha beta)^2 + alpha^2 q + beta^2 p + p q."""
    alpha, beta, p, q = _numbers(state)
    return (1 - alpha * beta) ** 2 + alpha**2 * q + beta**2 * p + p * q


def gradient_terms(state: RankOneState, weight_decay: float = 0.0) -> tuple:
    """Lengths of signal and decay, the two terms into which Jermyn & Shlegeris (2022) part the gradient for x.

    -grad L = signal - decay: |2 (b.y) a| = 2 |beta|, and |(2 |y|^2 + lambda) x|, in which the pull of weight decay is counted;
    shapes as the state's. For y exchange both sides of the state.
    """
    decay = (2 * state.squared_norm_y + weight_decay) * np.sqrt(state.squared_norm_x)
    return 2 * np.abs(state.overlap_y), decay


def step(state: RankOneState, learning_rate: float, weight_decay: float = 0.0) -> RankOneState:
    """One step of gradient descent on the full vectors, exactly, for any learning rate.

    With D_x = 1 - eta (2 |y|^2 + lambda): alpha <- D_x alpha + 2 eta beta, p <- D_x^2 p, and
    likewise y, both from the old numbers.
    """
    alpha, beta, p, q = _numbers(state)
    factor_x = 1 - learning_rate * (2 * (beta * beta + q) + weight_decay)
    factor_y = 1 - learning_rate * (2 * (alpha * alpha + p) + weight_decay)
    return RankOneState(
        factor_x * alpha + 2 * learning_rate * beta,
        factor_y * beta + 2 * learning_rate * alpha,
        factor_x * factor_x * p,
        factor_y * factor_y * q,
    )


def descent(
    start: RankOneState,
    learning_rate: float,
    steps: int,
    weight_decay: float = 0.0,
    *,
    every: int = 1,
) -> RankOneState:
    """The four numbers after 0, `every`, 2 `every`, .. up to `steps` steps of gradient descent, exact up to rounding.

    A state whose fields have shape (steps // every + 1, *shape of start); descent that diverges gives inf or nan. About 3
    microseconds a step for one start, 10 for arrays, whatever the dimension of x and y.
    """
    steps, every = integer("steps", steps, minimum=0), integer("every", every, minimum=1)
    learning_rate = real("learning_rate", learning_rate, above=0)
    weight_decay = real("weight_decay", weight_decay, minimum=0)
    state = checked(start)
    path = np.empty((4, steps // every + 1, *np.shape(state.overlap_x)))
    if path.ndim == 2:  # the same arithmetic, several times faster
        state = RankOneState(*(float(number) for number in _numbers(state)))
    with np.errstate(over="ignore", invalid="ignore"):
        states = iterate(lambda now: step(now, learning_rate, weight_decay), state, steps, every)
        for index, state in enumerate(states):
            path[:, index] = _numbers(state)
    return RankOneState(*path)


def flow(start: RankOneState, times, weight_decay: float = 0.0) -> RankOneState:
    """The four numbers under gradient flow, at given times.

    p and q are integrated as p = p(0) exp(-g), so they stay positive however small.

    The state's fields have shape (time,), of times in any order; relative error about 1e-11. Some 10 ms, and 1 ms per unit of
    time beyond convergence.
    """
    times = checked_times(times, ordered=False)
    weight_decay = real("weight_decay", weight_decay, minimum=0)
    start = checked(start, scalar=True)
    path, _ = flow_until(start, max(times.max(initial=0.0), 0.0), weight_decay)
    return path(times)


def flow_until(start: RankOneState, until: float, weight_decay: float, events=()):
    """Integrate up to `until` and return a function of times to states; see `flow`.

    The first zero from above of each of `events`, functions of a state, is searched; the last of them ends the integration.
    Returns ``path(times) -> RankOneState`` and the times of the events (nan where never reached).
    """

    def unpack(numbers):
        alpha, beta, fall_x, fall_y = numbers
        p, q = start.irrelevant_x * np.exp(-fall_x), start.irrelevant_y * np.exp(-fall_y)
        return RankOneState(alpha, beta, p, q)

    def derivative(_, numbers):
        state = unpack(numbers)
        shrink_x = 2 * state.squared_norm_y + weight_decay
        shrink_y = 2 * state.squared_norm_x + weight_decay
        alpha, beta = state.overlap_x, state.overlap_y
        return [
            2 * beta - shrink_x * alpha,
            2 * alpha - shrink_y * beta,
            2 * shrink_x,
            2 * shrink_y,
        ]

    def as_event(function, last):
        event: Any = lambda _, numbers: function(unpack(numbers))  # noqa: E731
        event.direction, event.terminal = -1, last  # what SciPy reads
        return event

    numbers = [start.overlap_x, start.overlap_y, 0.0, 0.0]
    if until == 0:
        still = np.array(numbers)[:, None]
        return lambda times: unpack(np.tile(still, len(times))), [np.nan for _ in events]
    solution = solve_ivp(
        derivative,
        (0.0, until),
        numbers,
        method="DOP853",
        rtol=_RELATIVE,
        atol=_ABSOLUTE,
        dense_output=True,
        events=[as_event(f, i == len(events) - 1) for i, f in enumerate(events)] or None,
    )

    def path(times):
        return unpack(solution.sol(np.asarray(times, dtype=float)))

    crossings = solution.t_events if events else []
    return path, [float(times[0]) if len(times) else np.nan for times in crossings]


def _numbers(state):
    return state.overlap_x, state.overlap_y, state.irrelevant_x, state.irrelevant_y


def checked(state: RankOneState, scalar: bool = False) -> RankOneState:
    """The state as float64 arrays of one shape, or raise; `scalar` demands single numbers."""
    numbers = np.broadcast_arrays(*_numbers(state))
    for name, value in zip(FIELDS, numbers, strict=True):
        finite_array(f"start.{name}", value, ndim=0 if scalar else None)
        if name.startswith("irrelevant") and (value < 0).any():
            raise argument_error(f"start.{name}", "not be negative", f"has {value.min():g}")
    return RankOneState(*(value.astype(float) for value in numbers))


def _unit(name, vector, shape):
    vector = finite_array(name, vector, ndim=1)
    if vector.shape != shape:
        raise argument_error(name, f"have shape {shape}", f"has shape {vector.shape}")
    length = float(np.linalg.norm(vector))
    if abs(length - 1) > 1e-6:
        raise argument_error(name, "be a unit vector", f"has length {length:g}")
    return vector
