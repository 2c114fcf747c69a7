r"""The race of gating schemes in one network, in closed form: the winner, its lead and its times.

All schemes q (modules of P_q routes each, every route trained) are gated on together and their outputs add up. From
decoupled starts each keeps its form, and in every mode

    dB1_q/dt = outer_q B2_q B1_q e,   dB2_q/dt = hidden_q B1_q^2 e,   e = S - D sum_p G_p,   G_q = B2_q B1_q^2,

eqs. (16)-(17) of Saxe, Sodhani & Lewallen (2022) with one error for all. On the clock u = int e dt the schemes no longer
feel each other: C_q = r_q B1_q^2 - B2_q^2 is conserved, r_q = hidden_q/outer_q, and dB2_q/du = outer_q (B2_q^2 + C_q) is
solved by circular or hyperbolic tangents, each with a pole u_q. Learning ends where sum_q G_q(u) = S/D, before the first
pole: the scheme whose pole comes first wins, and the smaller all the starts, the more of the map it takes.

From random orthogonal weights of scale sigma, wide layers and modules with copies of their own (r = sqrt P), the mean
encoder and decoder vectors of a mode have length sigma P^(-1/4), and the hidden matrix takes each to a direction
unrelated to the other. On the plane of the four directions the hidden matrix N = sigma n obeys n' = n^2 - diag(0, 1) in
tau = outer sigma u, from n = ((0, 1), (1, 0)). Its solution is the same for all P and sigma,

    n(tau) = ((sinh tau, 1), (1, tau cosh tau - sinh tau)) / (cosh tau - tau sinh tau),    G = sigma^3/r tr(n n'),

with its pole at tau tanh tau = 1. See docs/studies/pathway-race.md. All in float64; time is the paper's.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import wraps

import numpy as np
import scipy

from foretrain.errors import argument_error, real
from foretrain.theory.integration import checked_times, flow_at
from foretrain.theory.pathways.race import RaceFactors
from foretrain.theory.roots import bracketed_root

RANDOM_POLE = 1.1996786402577337  # solves tau tanh(tau) = 1
_SECOND = np.diag([0.0, 1.0])


@dataclass(frozen=True)
class Scheme:
    """One scheme of gates in one mode, on the clock u.

    Attributes:
        gain: u, 0 to `pole`, to G.
        pole: The clock at which G would be infinite; inf if it never grows.
    """

    gain: Callable[[float], float]
    pole: float


def decoupled_scheme(start, factors: RaceFactors) -> Scheme:
    """A scheme from a decoupled start.

    `start` is the pair B1(0) of encoders and decoders, not zero, and B2(0), of any sign.
    """
    outer, hidden = (real(f"start[{place}]", value) for place, value in enumerate(start))
    if outer == 0:
        raise argument_error("start[0]", "not be zero", "is 0, where nothing moves")
    ratio, rate = factors.ratio, factors.outer
    conserved = ratio * outer**2 - hidden**2
    root = math.sqrt(abs(conserved))

    def gain(clock):
        angle = rate * root * clock
        if conserved > 0:
            cosine, sine = math.cos(angle), math.sin(angle) / root
        elif conserved < 0:
            cosine, sine = math.cosh(angle), math.sinh(angle) / root
        else:
            cosine, sine = 1.0, rate * clock
        weight = (hidden * cosine + conserved * sine) / (cosine - hidden * sine)
        # B2^2 + C without cancellation: r B1^2 grows as the inverse square of the same denominator.
        return weight * (outer / (cosine - hidden * sine)) ** 2

    if conserved > 0:
        pole = math.atan2(root, hidden) / (rate * root)
    elif hidden <= 0:
        pole = math.inf
    else:
        pole = math.atanh(root / hidden) / (rate * root) if root else 1 / (rate * hidden)
    return Scheme(gain, pole)


def random_scheme(init_scale: float, factors: RaceFactors) -> Scheme:
    """A scheme of modules with their own copies from wide random orthogonal weights of scale sigma.

    Encoders are not shared between modules.
    """
    scale = real("init_scale", init_scale, above=0)
    speed = factors.outer * scale

    def gain(clock):
        return scale**3 / factors.ratio * _random_gain(speed * clock)

    return Scheme(gain, RANDOM_POLE / speed)


def equal_scheme(start: float, factors: RaceFactors, optimum: float) -> Scheme:
    """A decoupled scheme that starts equal, B1 = B2, below half of what there is to learn.

    A start beyond the half has no half-learning time: one just below it stands for it, which learns at once.
    """
    start = min(start, 0.99 * (optimum / 2) ** (1 / 3))
    return decoupled_scheme((start, start), factors)


def loser_range(slower: float, shift: float, moved: float) -> tuple[float, float]:
    """Range of the fraction that the losing scheme learns, over its prediction; both schemes from wide random weights.

    On the clock at which they grow the loser is at tau < 1.2 when the winner reaches its pole. An overlap of the winner's
    vectors moves that moment by its own size, relatively, and steps are late by half the growth in one of them; an overlap
    of the loser's vectors is a head start on its clock, absolutely.

    `slower` is the loser's speed over the winner's, `shift` the overlap of the loser's vectors, `moved` the relative
    uncertainty of the winner's pole.
    """
    tau = RANDOM_POLE * slower
    middle = _random_gain(tau)
    low, high = _random_gain(tau * (1 - moved) - shift), _random_gain(tau * (1 + moved) + shift)
    return (low / middle, high / middle) if middle < math.inf else (0.0, math.inf)


def _random_gain(tau: float) -> float:
    """Strength from wide random weights in units of sigma^3/r, zero before the start and infinite from the pole on."""
    if tau >= RANDOM_POLE:
        return math.inf
    n = random_growth(max(tau, 0.0))
    return sum(n.dot(n.dot(n) - _SECOND).ravel()[::3].tolist())  # the trace


def random_growth(tau: float) -> np.ndarray:
    """n(tau), the hidden matrix over sigma on the plane of the mean vectors, shape (2, 2), for tau below the pole."""
    sinh, cosh = math.sinh(tau), math.cosh(tau)
    return np.array([[sinh, 1.0], [1.0, tau * cosh - sinh]]) / (cosh - tau * sinh)


def clock_at(schemes: Sequence[Scheme], gain: float) -> float:
    """The clock u at which the schemes' gains add up to `gain`.

    Raises:
        ArgumentError: the start is there or beyond, or no scheme grows.
    """
    total = _total(schemes)
    if not total(0.0) < gain:
        rule = f"be above that of the start ({total(0.0):.4g})"
        raise argument_error("gain", rule, f"is {gain:.4g}")
    pole = min(scheme.pole for scheme in schemes)
    if not math.isfinite(pole):
        raise argument_error("schemes", "hold one that grows", "hold none")
    gap = 1.0
    while total(pole * (1 - gap / 2)) < gain:
        gap /= 2
        if gap < 1e-15:
            raise argument_error("gain", "be reached before the first pole", "is not")
    low, high = pole * (1 - gap), pole * (1 - gap / 2)
    return bracketed_root(lambda clock: total(clock) - gain, low, high, relative=1e-14)


def _of_modes(function):
    """Let a function of one mode take S and D of shape (mode,), for a result with the modes on its last axis."""

    @wraps(function)
    def of_modes(*arguments):
        *arguments, singular, variance = arguments
        if np.ndim(singular) == np.ndim(variance) == 0:
            return function(*arguments, singular, variance)
        modes = np.broadcast(singular, variance)
        return np.stack([function(*arguments, *mode) for mode in modes], axis=-1)

    return of_modes


@_of_modes
def final_gains(schemes: Sequence[Scheme], singular_values, input_variances) -> np.ndarray:
    """The part of S/D that each scheme has learned at the end of training; the parts add up to S/D.

    Returns:
        Shape (scheme,) for one mode, else (scheme, mode).
    """
    singular = real("singular_values", singular_values, above=0)
    clock = clock_at(schemes, singular / real("input_variances", input_variances, above=0))
    return np.array([scheme.gain(clock) for scheme in schemes])


@_of_modes
def half_time(schemes: Sequence[Scheme], singular_values, input_variances):
    """Time at which the schemes together have learned half of S/D; relative error about 1e-9.

    Returns:
        A number for one mode, else shape (mode,).

    Example:
        >>> from foretrain.theory.pathways.race import race_factors
        >>> schemes = [decoupled_scheme((0.1, 0.1), race_factors(4, paths)) for paths in (1, 16)]
        >>> [round(half_time([scheme], 1.0, 1.0), 1) for scheme in schemes]
        [146.3, 22.0]
    """
    half = clock_at(schemes, singular_values / input_variances / 2)
    total, pole = _total(schemes), min(scheme.pole for scheme in schemes)

    # u = pole - e^-x: small starts learn only in the last moments before the pole.
    def integrand(x):
        gap = math.exp(-x)
        return gap / (singular_values - input_variances * total(pole - gap))

    ends = -math.log(pole), -math.log(pole - half)
    return scipy.integrate.quad(integrand, *ends, epsabs=0.0, epsrel=1e-10, limit=200)[0]


@_of_modes
def gains(schemes: Sequence[Scheme], times, singular_values, input_variances) -> np.ndarray:
    """Gains along gradient flow.

    Returns:
        Shape (time, scheme) for one mode, else (time, scheme, mode).
    """
    times, total = checked_times(times), _total(schemes)
    end = clock_at(schemes, singular_values / input_variances)

    # The end is approached exponentially, at the rate S/end or faster: later times are as good as `last`. An overshoot by
    # the solver must not step over the pole.
    def velocity(clock):
        return [singular_values - input_variances * total(min(float(clock[0]), end))]

    last = 1000 * end / velocity(np.zeros(1))[0]
    times = np.minimum(times, last)
    path = flow_at(velocity, np.zeros(1), times, method="LSODA", rtol=1e-9, atol=1e-9 * end)
    clock = np.minimum(path[:, 0], end)
    return np.array([[scheme.gain(u) for scheme in schemes] for u in clock])


def _total(schemes):
    if not schemes:
        raise argument_error("schemes", "hold at least one", "hold none")
    return lambda clock: sum(scheme.gain(clock) for scheme in schemes)
