"""The simple case of the shared representations model: a rank-one fit to ones, seen through a mask.

With trained pairs T in {0, 1}^(n x m) the loss is L = |E|_F^2 / 2, E = (s u v^T - J) o T; the rows of T, and with them u,
belong to input domains. Gradient flow (with the factor s that the note on shared representations drops in its eq. 2) is

    du/dt = -s E v,    dv/dt = -s E^T u,    ds/dt = -u^T E v,

and conserves |u|^2 - s^2 and |v|^2 - s^2. Its escape from small weights is solved in
`foretrain.theory.factorization.masked_rank_one_escape`. See docs/theory/masked-rank-one.md. All in float64.
"""

import math
from typing import Any

import numpy as np
from scipy.integrate import solve_ivp

from foretrain.errors import argument_error, finite_array, real
from foretrain.theory.factorization.masked_rank_one_escape import (
    blow_up_time,
    checked_start,
    early_flow,
)
from foretrain.theory.factorization.random_matrix import circulant_singular_values
from foretrain.theory.integration import checked_times, flow_at


def alignment_exponent(singular_values) -> float:
    """Exponent 1 - s_2/s_1 of the misalignment at escape, which scales as sigma to this power."""
    values = _descending(singular_values)
    return float(1 - values[1] / values[0]) if values.size > 1 else 1.0


def opposing_signs(domains: int, width: int, init_scale: float) -> float:
    """Probability that signs differ on a circulant band where sigma e^(s_1 S) is n^(1/3), its weights being learned there.

    u and v are constant along the leading mode, of amplitude p_1, and waves along the next two, of equal s_2 and length
    |p_2|: signs differ where |p_1| < c |p_1|^g |p_2|, c = sqrt(2) (sigma/n^(1/3))^g, g = 1 - s_2/s_1. All three amplitudes are
    normal of variance 1/2, |p_2|^2 is exponential, and the mean of exp(-|p_1|^(2 - 2g)/c^2) over p_1 is left: c/sqrt(1 + c^2)
    for small g. Further modes, which fall faster, are left out. `width` is above 1 and below n = `domains`.
    """
    gap = alignment_exponent(circulant_singular_values(domains, width))
    log_c = math.log(2) / 2 + gap * math.log(init_scale / domains ** (1 / 3))
    y = min(log_c / (1 - gap), 0) + np.linspace(-40, 3, 4000)  # log |p_1|
    density = np.exp(y - np.exp(2 * y) - np.exp(2 * (1 - gap) * y - 2 * log_c))
    return float(2 / math.sqrt(math.pi) * np.trapezoid(density, y))


def _descending(singular_values):
    values = np.sort(finite_array("singular_values", singular_values, ndim=1).astype(float))[::-1]
    if not values.size or values[0] <= 0:
        raise argument_error("singular_values", "have a positive one", "has none")
    return values


def misalignment_slope(singular_values, scales) -> float:
    """Slope of log misalignment at departure against log sigma, over given scales, with all modes of T in it.

    Mode k is left behind by sigma^(1 - s_k/s_1). Independent starts give all modes equal weight, so that the squared
    misalignment goes as the sum over k >= 2 of sigma^(2 - 2 s_k/s_1). In the limit of small sigma the slope is
    `alignment_exponent`; where s_3 is close to s_2 the limit is far away, and this is what is seen on the way.

    `singular_values` of T are (mode,), in any order, `scales` two different sigma or more; nan for a single mode, which is
    aligned from the start.
    """
    values = _descending(singular_values)
    scales = finite_array("scales", scales, ndim=1).astype(float)
    if np.unique(scales).size < 2 or scales.min() <= 0:
        raise argument_error("scales", "be two different positive numbers at least", f"is {scales}")
    if values.size < 2:
        return math.nan
    left = ((2 - 2 * values[1:] / values[0]) * np.log(scales)[:, None]).T
    return float(np.polyfit(np.log(scales), np.logaddexp.reduce(left, axis=0) / 2, 1)[0])


def best_rank_one(trained_pairs) -> tuple[float, np.ndarray, np.ndarray]:
    """The best rank-one fit s_1 u_1 v_1^T of the mask in Frobenius norm, signs chosen positive.

    Unique, and u_1 and v_1 without a zero, where T is connected; otherwise one of several if two
    components share the largest singular value.
    """
    trained = finite_array("trained_pairs", trained_pairs, ndim=2).astype(float)
    left, values, right = np.linalg.svd(trained)
    sign = math.copysign(1.0, left[:, 0].sum())
    return float(values[0]), sign * left[:, 0], sign * right[0]


def misalignment(left, right, trained_pairs) -> float:
    """Relative Frobenius distance of u v^T, at its best scale, from the best rank-one fit of T.

    It is sqrt(1 - cos^2(u, u_1) cos^2(v, v_1)): 0 where both are aligned, 1 where one is orthogonal.
    Computed from the parts orthogonal to u_1 and v_1, so that small values are exact.
    """
    _, best_left, best_right = best_rank_one(trained_pairs)
    sines = []
    for weight, best in ((left, best_left), (right, best_right)):
        weight = np.asarray(weight, float)
        rest = weight - best * (best @ weight)
        sines.append(float(rest @ rest / (weight @ weight)))
    return math.sqrt(sines[0] + sines[1] - sines[0] * sines[1])


def loss(state, trained_pairs) -> float:
    """L = |(s u v^T - J) o T|_F^2 / 2 of a state (u, v, s)."""
    left, right, scale = state
    return float((((scale * np.outer(left, right) - 1) * trained_pairs) ** 2).sum() / 2)


def velocity(state, trained_pairs) -> tuple[np.ndarray, np.ndarray, float]:
    """(du/dt, dv/dt, ds/dt) of the whole gradient flow at a state (u, v, s)."""
    left, right, scale = state
    error = (scale * np.outer(left, right) - 1) * trained_pairs
    return -scale * error @ right, -scale * left @ error, -float(left @ error @ right)


def flow(start, times, trained_pairs) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The whole gradient flow, by a multistep method that copes with the stiffness of huge weights.

    u, v and s have the shapes (time, row), (time, column) and (time,); relative error about 1e-9.
    """
    times = checked_times(times)
    trained, u, v, s = checked_start(start, trained_pairs)
    path = flow_at(_derivative(trained), np.concatenate([u, v, [s]]), times, **_SOLVER)
    return path[:, : u.size], path[:, u.size : -1], path[:, -1]


def escape(
    start, trained_pairs, *, fraction: float = 0.5
) -> tuple[float, np.ndarray, np.ndarray, float]:
    """First time at which the whole flow has brought the loss below a fraction of |T|/2.

    `fraction` is of the loss of zero weights, reachable by a rank-one fit. Returns time, u, v and s there; the time is nan
    (and the rest the last state) if it is not reached within three blow-up times and a thousand units more.
    """
    fraction = real("fraction", fraction, above=0, maximum=1)
    trained, u, v, s = checked_start(start, trained_pairs)
    level = fraction * trained.sum() / 2
    limit = 3 * blow_up_time(early_flow((u, v, s), trained)) + 1000

    def reached(_, state):
        return loss((state[: u.size], state[u.size : -1], state[-1]), trained) - level

    event: Any = reached  # a function with the attributes that SciPy reads
    event.terminal, event.direction = True, -1
    derivative = _derivative(trained)
    solution = solve_ivp(
        lambda _, state: derivative(state),
        (0.0, limit),
        np.concatenate([u, v, [s]]),
        events=event,
        **_SOLVER,
    )
    state = solution.y[:, -1]
    time = float(solution.t[-1]) if solution.status == 1 else math.nan
    return time, state[: u.size], state[u.size : -1], float(state[-1])


# Relative control only: starts may be as small as 1e-8 and every digit of them counts.
_SOLVER = {"method": "LSODA", "rtol": 1e-11, "atol": 1e-20}


def _derivative(trained):
    rows = len(trained)

    def derivative(state):
        left, right, scale = velocity((state[:rows], state[rows:-1], state[-1]), trained)
        return np.concatenate([left, right, [scale]])

    return derivative
