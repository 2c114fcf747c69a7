"""Escape of the masked rank-one model from small weights: its linearised flow, solved.

While s u v^T is small the flow of `foretrain.theory.factorization.masked_rank_one` is du/dt = s T v, dv/dt = s T^T u,
ds/dt = u^T T v. With T = U Sigma V^T it is closed in the variable S(t) = int_0^t s dt':

    U^T u = p e^(Sigma S) + q e^(-Sigma S),    V^T v = p e^(Sigma S) - q e^(-Sigma S),
    s^2 = F(S) = s(0)^2 + |u(S)|^2 - |u(0)|^2,    t = int dS / s,

p and q half the sum and half the difference of the starts (the cosh and sinh of the note on shared representations). F is
convex: S is a particle of zero energy in the concave potential -F. If F reaches zero ahead, s changes sign there and S runs to
minus infinity; in both cases S is infinite after a finite `blow_up_time`. See docs/theory/masked-rank-one.md. All in float64.
"""

import math
from dataclasses import dataclass, replace

import numpy as np
from scipy.integrate import quad

from foretrain.errors import argument_error, finite_array, real
from foretrain.theory.roots import bracketed_root


@dataclass(frozen=True)
class EarlyFlow:
    """The linearised flow from one start, in the singular basis of the mask.

    The gauge (s, u) -> -(s, u) is used so that S first grows; `sign` undoes it.

    Attributes:
        singular_values, left, right: Sigma, shape (mode,), not increasing, U (row, mode) and V (column, mode).
        growing, decaying: p and q, shape (mode,).
        start: s(0) >= 0.
        sign: 1.0 or -1.0, by which s and u were multiplied.
        left_rest, right_rest: Parts of u(0) and v(0) outside the columns of U and V, which do not move.
        turning_point: S at which s changes sign, inf if it never does.
    """

    singular_values: np.ndarray
    left: np.ndarray
    right: np.ndarray
    growing: np.ndarray
    decaying: np.ndarray
    start: float
    sign: float
    left_rest: np.ndarray
    right_rest: np.ndarray
    turning_point: float


def early_flow(start, trained_pairs) -> EarlyFlow:
    """Diagonalise the linearised flow from a start.

    It is what the functions below take as `early`. u and v that oppose each other exactly, so that all weights decay for ever,
    raise `ArgumentError`.
    """
    trained, u, v, s = checked_start(start, trained_pairs)
    left, values, right = np.linalg.svd(trained, full_matrices=False)
    sign = math.copysign(1.0, s if s else u @ trained @ v)
    a, b = sign * left.T @ u, right @ v
    # The most that rounding makes of a singular value, or a part, that is zero: n roundings by each of the singular
    # vectors on either side, by the start that is given, and by the sum of n products.
    rounding = 4 * max(trained.shape) * float(np.finfo(float).eps)
    values = np.where(values <= rounding * values[0], 0.0, values)
    size = (np.linalg.norm(u) + np.linalg.norm(v)) / 2
    growing, decaying = (
        np.where(np.abs(part) <= rounding * size, 0.0, part) for part in ((a + b) / 2, (a - b) / 2)
    )
    early = EarlyFlow(
        singular_values=values,
        left=left,
        right=right.T,
        growing=growing,
        decaying=decaying,
        start=abs(s),
        sign=sign,
        left_rest=sign * u - left @ a,
        right_rest=v - right.T @ b,
        turning_point=math.inf,
    )
    return replace(early, turning_point=_turning_point(early))


def squared_scale(early: EarlyFlow, progress: float) -> float:
    """F(S) = s^2 at S of the linearised flow; exponents are capped at 700, so that it stays finite."""
    return early.start**2 + _increase(early, 0.0)(progress)


def early_weights(early: EarlyFlow, progress: float) -> tuple[np.ndarray, np.ndarray, float]:
    """Directions of u and v at S, which stay finite where cosh and sinh overflow.

    Returns u and v times exp(-log_size), (row,) and (column,), and log_size = s_1 |S|; `progress` is S in the flow's gauge.
    """
    log_size = float(early.singular_values[0]) * abs(progress)
    exponent = early.singular_values * progress
    up = early.growing * np.exp(exponent - log_size)
    down = early.decaying * np.exp(-exponent - log_size)
    still = math.exp(-log_size)
    u = early.left @ (up + down) + still * early.left_rest
    v = early.right @ (up - down) + still * early.right_rest
    return early.sign * u, v, log_size


def weights_at(
    early: EarlyFlow, progress: float, scale: float
) -> tuple[np.ndarray, np.ndarray, float]:
    """u, v and s of the linearised flow at S (not in the flow's gauge); of the two signs of s, that of `scale`."""
    place = early.sign * progress
    left, right, log_size = early_weights(early, place)
    size = np.exp(log_size)
    # A run that is a rounding error away from its turning point may be past that of the linearised flow.
    magnitude = np.sqrt(max(squared_scale(early, place), 0.0))
    return size * left, size * right, float(np.copysign(magnitude, scale))


def rescaled(early: EarlyFlow, init_scale: float) -> EarlyFlow:
    """The flow from the same start times `init_scale`: all weights are, at every S."""
    names = ("growing", "decaying", "start", "left_rest", "right_rest")
    return replace(early, **{name: init_scale * getattr(early, name) for name in names})


def signs_agree(weights: tuple[np.ndarray, np.ndarray, float]) -> bool:
    """Return True if s u_i v_j > 0 for all pairs, of u, v and s: then the flow keeps it so and can only end at zero loss.

    At u_i = 0 the velocity is s sum_j T_ij v_j, of the sign that the other entries of u have; the same goes for v and s.
    Where T is connected, the only critical points with such signs have s u v^T = J.
    """
    left, right, scale = weights
    return bool((scale * np.outer(left, right) > 0).all())


def weights_when(early: EarlyFlow, level: float) -> tuple[np.ndarray, np.ndarray, float]:
    """u, v and s of the linearised flow where s u^T T v, to first order the loss that is gone, is a fraction of |T|/2.

    On its way out s u^T T v = |s| d|s|/dt crosses zero once, where |s| is least, and then grows for ever; if the start
    is past `level` already, the start is returned.

    A start so small that squares of it underflow raises `ArgumentError`.
    """
    values, start = early.singular_values, early.start**2
    up, down = early.growing**2, early.decaying**2
    aim = level * float((values**2).sum()) / 2
    # The logarithm of s u^T T v is nearly linear in S where it is beyond its size at the start, and it itself is below.
    size = float(values[0]) * (start + float((up + down).sum())) ** 1.5
    floor = min(1.0, max(size / aim, 1e-300))
    turns = math.isfinite(early.turning_point)
    origin, direction = (early.turning_point, -1.0) if turns else (0.0, 1.0)

    def excess(distance):
        exponent = 2 * values * (origin + direction * distance)
        more, less = _expm1(exponent), _expm1(-exponent)
        squared = start + up @ more + down @ less  # s^2
        slope = direction * float((values * up) @ (more + 1) - (values * down) @ (less + 1))
        ratio = math.sqrt(max(squared, 0.0)) * slope / aim
        return math.log(ratio) if ratio > floor else math.log(floor) + ratio / floor - 1

    distance = 0.0
    if excess(0.0) < 0:
        far = 1 / float(values[0])
        while excess(far) < 0:
            far = 2 * far
            if far > 4 * _farthest(early):
                raise argument_error("start", "have squares that do not underflow", "has not")
        while excess(far / 2) >= 0:
            far = far / 2
        distance = bracketed_root(excess, far / 2, far)
    progress = early.sign * (origin + direction * distance)
    return weights_at(early, progress, early.sign * direction)


def time_at(early: EarlyFlow, progress: float, *, returning: bool = False) -> float:
    """Time at which the linearised flow is at S, by quadrature of dS/s.

    `progress` is S in the flow's gauge, at least 0, or at most the turning point on the way back (`returning`). The time is
    inf where S is never reached; infinite S gives the `blow_up_time`.
    """
    turn = early.turning_point
    if not returning:
        if not 0 <= progress <= turn:
            rule = f"lie between 0 and the turning point {turn:g} on the way out"
            raise argument_error("progress", rule, f"is {progress:g}")
        if math.isinf(turn):
            return _time_ahead(early, progress)
        return _time_from_turn(early, turn) - _time_from_turn(early, turn - progress)
    if not (progress <= turn < math.inf):
        rule = f"be at most the turning point {turn:g} on the way back, which must exist"
        raise argument_error("progress", rule, f"is {progress:g}")
    return _time_from_turn(early, turn) + _time_from_turn(early, turn - progress)


def blow_up_time(early: EarlyFlow) -> float:
    """Time after which S is infinite: c/sigma exactly, if all starts are multiplied by sigma.

    The whole flow leaves the neighbourhood of zero at this time but for a remainder that is bounded
    as sigma tends to zero: the escape time is t = c/sigma + O(1), c the value at sigma = 1.
    """
    if math.isinf(early.turning_point):
        return time_at(early, math.inf)
    return time_at(early, -math.inf, returning=True)


_QUADRATURE = {"epsabs": 0.0, "epsrel": 1e-11, "limit": 400}
_LARGEST_EXPONENT = 700.0
_ROUNDING = 16 * np.finfo(float).eps  # of a sum of squares whose terms cancel


def checked_start(start, trained_pairs):
    """Return mask, u(0), v(0) and s(0) in float64, or raise as `early_flow`."""
    trained = finite_array("trained_pairs", trained_pairs, ndim=2).astype(float)
    if not trained.any():
        raise argument_error("trained_pairs", "train at least one pair", "trains none")
    left, right, scale = start
    u = finite_array("start[0]", left, ndim=1).astype(float)
    v = finite_array("start[1]", right, ndim=1).astype(float)
    for name, weight, size in zip(("start[0]", "start[1]"), (u, v), trained.shape, strict=True):
        if weight.size != size:
            raise argument_error(name, f"have length {size}", f"has length {weight.size}")
    return trained, u, v, real("start[2]", scale)


def _increase(early, origin):
    """F(origin + step) - F(origin) as a function of the step, without cancellation between like terms."""
    rates = 2 * early.singular_values
    both = np.concatenate([rates, -rates])
    amplitudes = np.concatenate([early.growing, early.decaying]) ** 2 * np.exp(both * origin)

    def increase(step):
        parts = amplitudes * _expm1(both * step)
        return float(np.add.reduce(parts[: rates.size]) + np.add.reduce(parts[rates.size :]))

    return increase


def _expm1(exponent):
    return np.expm1(np.minimum(exponent, _LARGEST_EXPONENT))


def _slope(early, progress):
    """dF/dS, which never decreases."""
    exponent = 2 * early.singular_values * progress
    up = early.growing**2 * (_expm1(exponent) + 1)
    down = early.decaying**2 * (_expm1(-exponent) + 1)
    return float(2 * (early.singular_values * (up - down)).sum())


def _lowest_point(early):
    """The S >= 0 at which F is least; inf if F falls for ever."""
    far = _farthest(early)
    if _slope(early, 0.0) >= 0:
        return 0.0
    if _slope(early, far) <= 0:
        return math.inf
    return bracketed_root(lambda place: _slope(early, place), 0.0, far, relative=1e-15)


def _turning_point(early):
    """The first S > 0 at which F falls to zero, inf if it does not.

    Where F falls to zero up to rounding and no further, u opposes v: s then decays for ever, or until rounding decides.
    """
    lowest = _lowest_point(early)
    if lowest == 0:
        return math.inf
    far = min(lowest, _farthest(early))
    least = squared_scale(early, far)
    scale = early.start**2 + float((early.growing**2 + early.decaying**2).sum())
    if (math.isinf(lowest) and least >= 0) or (early.start and abs(least) <= _ROUNDING * scale):
        raise argument_error("start", "have a part that grows", "only decays: u opposes v")
    if least >= 0:
        return math.inf
    return bracketed_root(lambda place: squared_scale(early, place), 0.0, far, relative=1e-15)


def _farthest(early):
    """An S at which e^(2 s_1 S) is near the largest float."""
    return _LARGEST_EXPONENT / (2 * float(early.singular_values[0]))


def _time_ahead(early, progress):
    """Integral of dS/sqrt(F) from 0 to `progress`, for a flow that never turns."""
    start, increase = early.start**2, _increase(early, 0.0)

    def piece(low, high):  # S = low + x^2 tames the root at a start with s = 0
        def integrand(x):
            return 2 * x / math.sqrt(start + increase(low + x**2))

        return quad(integrand, 0.0, math.sqrt(high - low), **_QUADRATURE)[0]

    lowest = _lowest_point(early)
    if progress <= lowest:
        return piece(0.0, progress) if progress else 0.0
    first = piece(0.0, lowest) if lowest else 0.0
    return first + _sum_of_pieces(early, piece, lowest, progress)


def _time_from_turn(early, distance):
    """Integral of dS/sqrt(F) over a distance below the turning point, taken as the zero of F."""
    increase = _increase(early, early.turning_point)

    def piece(near, far):  # S = turning_point - x^2 tames the root
        def integrand(x):
            return 2 * x / math.sqrt(increase(-(x**2)))

        return quad(integrand, math.sqrt(near), math.sqrt(far), **_QUADRATURE)[0]

    return _sum_of_pieces(early, piece, 0.0, distance)


def _sum_of_pieces(early, piece, low, high):
    """Sum of piece(a, b) from low to high in lengths of 4/s_1, until what is left is rounding."""
    total, length = 0.0, 4 / float(early.singular_values[0])
    while low < high:
        top = min(low + length, high)
        part = piece(low, top)
        total, low = total + part, top
        if part <= 1e-16 * total:
            break
        if low > _farthest(early):
            return math.inf
    return total
