"""Linear attention that learns regression in context: levels of its loss, and which head leaves for which mode, and when.

H heads of rank one predict beta^T A x, A = sum_h v_h k_h q_h^T, beta being the mean of y_n x_n over a context of N pairs,
y = w^T x for normal x and a normal w of each sequence. The squared error depends on sequences through three statistics alone.
Below, `eigenvalues` (mode,) are those of the covariance of inputs, above 0, descending, and `context` is N, at least 1.
Derived in ``docs/studies/attention-ladder.md``; the setting is that of Zhang, Singh, Latham & Saxe (2025), arXiv 2501.16265,
of which the abstract alone was read.
"""

from typing import Any

import numpy as np
from scipy.integrate import quad, solve_ivp

# Of a head's weight over that at the end, u, where half of the fall is over; then the time until there in 1 / (rate u), after
# a head that nothing stops would be infinite: x' = x^2 (1 - x^3), and (1 - x^3)^2 of the fall is left.
HALF = (1 - 0.5**0.5) ** (1 / 3)
HALF_WAY = quad(lambda x: x / (1 - x**3), 0, HALF)[0] - 1 / HALF
FAR = 1e4  # value weight at which a head that nothing stops counts as gone; one that has learned a mode has about one


def moments(eigenvalues: np.ndarray, context: int) -> np.ndarray:
    """Return the eigenvalues (mode,) of E[beta beta^T], lambda^2 + (lambda + sum lambda) lambda / N, for normal inputs."""
    return eigenvalues**2 + (eigenvalues + eigenvalues.sum()) * eigenvalues / context


def statistics(eigenvalues: np.ndarray, context: int) -> dict[str, Any]:
    """Return E y^2 (), E[y beta x^T] (D^2,) and E[(beta x^T) (beta x^T)^T] (D^2, D^2), A being read row by row."""
    square = np.kron(np.diag(moments(eigenvalues, context)), np.diag(eigenvalues))
    cross = np.diag(eigenvalues**2).ravel()
    return {"power": eigenvalues.sum(), "cross": cross, "square": square}


def sampled(eigenvalues: np.ndarray, context: int, count: int, generator) -> dict[str, Any]:
    """Return the same of `count` sequences of N = `context` pairs and one input that is asked for."""
    x = generator.standard_normal((count, context + 1, len(eigenvalues))) * eigenvalues**0.5
    y = np.einsum("snd,sd->sn", x, generator.standard_normal((count, len(eigenvalues))))
    beta = np.einsum("sn,snd->sd", y[:, :-1], x[:, :-1]) / context
    seen = np.einsum("sd,se->sde", beta, x[:, -1]).reshape(count, -1)
    power, cross = (y[:, -1] ** 2).mean(), y[:, -1] @ seen / count
    return {"power": power, "cross": cross, "square": seen.T @ seen / count}


def strengths(eigenvalues: np.ndarray, context: int) -> np.ndarray:
    """Return A along each mode (mode,) once that is learned, lambda over the eigenvalue of E[beta beta^T]."""
    return eigenvalues / moments(eigenvalues, context)


def levels(eigenvalues: np.ndarray, context: int) -> np.ndarray:
    """Return the loss E (y - prediction)^2 with the first m modes learned, shape (mode + 1,), m = 0 first."""
    gained = eigenvalues**2 * strengths(eigenvalues, context)
    return eigenvalues.sum() - np.concatenate([[0], np.cumsum(gained)])


def settling(eigenvalues: np.ndarray, context: int) -> np.ndarray:
    """Return the time (mode - 1,) in which a head on a mode forgets the next one, the slowest that it does on a level.

    Its key and query, off by (e, d), move as e' = u l^2 (d - e), d' = u l (l e - L d) for eigenvalues L and l and a mode of
    strength u^3: at u l^2 (L - l) / (L + l), for a long context.
    """
    first, second = eigenvalues[:-1], eigenvalues[1:]
    weight = strengths(eigenvalues, context)[:-1] ** (1 / 3)
    return (first + second) / (weight * second**2 * (first - second))


def coupling(eigenvalues: np.ndarray, context: int) -> np.ndarray:
    """Return what the head of each mode feels of those before, relatively, over the scale of the initial weights (mode,).

    A head of weights sigma moves by sigma lambda^2 a time, and of each mode before its own it feels for about
    (L + l) / ((L - l) u l^2) that the head on it is not aligned yet.
    """
    return np.append(0, np.cumsum(settling(eigenvalues, context) * eigenvalues[1:] ** 2))


def drops(
    eigenvalues: np.ndarray, context: int, most: float, value, keys, queries, step: float = 1.0
) -> np.ndarray:
    """Tell from small weights when half of the fall to each mode is over, and which head learns it.

    Until it leaves a head moves as if there were no other, v' = sum_d k_d l_d^2 q_d, k_d' = v l_d^2 q_d and
    q_d' = v l_d^2 k_d over the modes that none has learned, and is infinite after a finite time. For the heads that wait
    a mode counts as learned 1 / (l^2 u) before: the integral of what is left of its covariance is the same. A `step` of
    descent moves as x' = g - step J g / 2, J g being about g d ln|g| / dt: later by the logarithm of its gain in speed.

    Initial weights `value` (head,), `keys` and `queries` (head, mode) are along the modes of the inputs; the flow is followed
    to the time `most`, steps times `step`. Times and numbers of heads, (2, mode), are nan for a mode that is not learned.
    """
    size, rates = len(eigenvalues), eigenvalues**2
    units = 1 / (rates * strengths(eigenvalues, context) ** (1 / 3))
    left, waiting, time = np.ones(size), list(range(len(value))), 0.0
    state, carriers = np.column_stack([value, keys, queries]), np.full((2, size), np.nan)

    def velocity(_, flat):
        heads, rest = flat.reshape(-1, 1 + 2 * size), rates * left
        v, k, q = heads[:, :1], heads[:, 1:-size], heads[:, -size:]
        pull = v * rest
        return np.concatenate([(k * q) @ rest[:, None], pull * q, pull * k], 1).ravel()

    def gone(_, flat):
        return abs(flat[:: 1 + 2 * size]).max() - FAR

    event: Any = gone
    event.terminal = True
    slow = np.linalg.norm(velocity(0, state.ravel()).reshape(state.shape), axis=1)
    options = {"rtol": 1e-8, "atol": 1e-8 * abs(state).max(), "events": event, "dense_output": True}
    while waiting and left.any() and time < most:
        way = solve_ivp(velocity, (time, most), state[waiting].ravel(), "LSODA", **options)
        if not way.t_events[0].size:
            break
        heads = way.y_events[0][0].reshape(len(waiting), -1)
        place = int(abs(heads[:, 0]).argmax())
        mode = int((abs(heads[place, 1 : 1 + size]) * left).argmax())
        infinite = way.t_events[0][0] + 1 / (rates[mode] * FAR)
        delay = np.log(3**0.5 / (rates[mode] * units[mode] ** 2 * slow[waiting[place]])) * step / 2
        carriers[:, mode] = infinite + HALF_WAY * units[mode] + delay, waiting[place]
        time = max(time, infinite - units[mode])
        state[waiting] = way.sol(time).reshape(len(waiting), -1)
        left[mode] = 0
        del waiting[place]
    return carriers
