r"""The time that the loss of a rank-one fit stays on its plateau, exactly and in closed form.

The plateau lies at L = 1, the loss of the zero matrix. With f = `HALF_WIDTH` it lasts from the first time
the loss is at most 1 + f to the first time it is at most 1 - f; it starts at 0 if the loss starts
below 1 + f, and never ends (inf) if the loss never falls to 1 - f, as for lambda^2/4 >= 1 - f. Units of time as in
`foretrain.theory.factorization.rank_one`; the derivation is in docs/theory/s-curves.md.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import brentq
from scipy.special import exprel

from foretrain.errors import real
from foretrain.theory.factorization.rank_one import RankOneState, checked, flow_until, loss

HALF_WIDTH = 0.1
_BOUNDS = (1 + HALF_WIDTH, 1 - HALF_WIDTH)


@dataclass(frozen=True)
class Plateau:
    """First and last time of the plateau of a loss.

    Attributes:
        start: First time with loss <= 1 + f; inf if there is none.
        end: First time with loss <= 1 - f; inf if there is none.
    """

    start: float
    end: float

    @property
    def length(self) -> float:
        """Time spent on the plateau; inf if it never ends, nan if it never starts."""
        return self.end - self.start


def plateau(start: RankOneState, *, weight_decay: float = 0.0, until: float = 1e3) -> Plateau:
    """The plateau under gradient flow, by integrating the exact reduction."""
    start, weight_decay = _arguments(start, weight_decay)
    until = real("until", until, above=0)
    events = [lambda state, bound=bound: loss(state) - bound for bound in _BOUNDS]
    _, crossings = flow_until(start, until, weight_decay, events)
    initial = float(loss(start))
    times = [
        0.0 if initial <= bound else (np.inf if np.isnan(time) else time)
        for bound, time in zip(_BOUNDS, crossings, strict=True)
    ]
    return Plateau(*times)


def early_solution(start: RankOneState, times, weight_decay: float = 0.0) -> RankOneState:
    r"""The four numbers while the overlaps are small, in closed form.

    To first order in alpha, beta (alpha^2 and beta^2 dropped beside p, q and 1), with $c = p(0) - q(0)$, $T = (1 - e^{-2
    \lambda t})/(2 \lambda)$ and $D = \cosh 2cT + (p(0) + q(0)) \sinh(2cT)/c$,

    $$ p = p(0) e^{2cT - 2\lambda t}/D, \quad q = q(0) e^{-2cT - 2\lambda t}/D, $$
    $$ (\alpha, \beta) = \frac{e^{-\lambda t}}{\sqrt D}
       \exp\begin{pmatrix} cT & 2t \\ 2t & -cT \end{pmatrix} (\alpha, \beta)(0). $$

    Exact at that order for c = 0 or lambda = 0, otherwise the matrix exponential is the first term of a Magnus series.

    Overlaps grow without bound: it holds while alpha beta << 1. Times are (time,) or a float, not negative.
    """
    times = np.asarray(times, dtype=float)
    alpha, beta = start.overlap_x, start.overlap_y
    p, q = start.irrelevant_x, start.irrelevant_y
    shrunk_time = times * exprel(-2 * weight_decay * times)
    tilt = (p - q) * shrunk_time
    # Hyperbolic functions are written as exp(size) times a bounded factor, so that only products
    # can overflow.
    double = np.abs(2 * tilt)
    bounded = (1 + np.exp(-2 * double)) / 2 + 2 * (p + q) * shrunk_time * exprel(-2 * double)
    growth = np.sqrt(4 * times**2 + tilt**2)
    cosine, sine = (1 + np.exp(-2 * growth)) / 2, exprel(-2 * growth)
    scale = np.exp(growth - double / 2 - weight_decay * times) / np.sqrt(bounded)
    fade = double + 2 * weight_decay * times
    return RankOneState(
        scale * (cosine * alpha + sine * (tilt * alpha + 2 * times * beta)),
        scale * (cosine * beta + sine * (2 * times * alpha - tilt * beta)),
        p * np.exp(2 * tilt - fade) / bounded,
        q * np.exp(-2 * tilt - fade) / bounded,
    )


def plateau_estimate(start: RankOneState, *, weight_decay: float = 0.0) -> Plateau:
    """The plateau from the closed form `early_solution`, saturated.

    The product z = alpha beta of the early solution is replaced by its logistic continuation z / (1 + z/(1 - lambda/2)), which
    is exact for alpha = beta, p = q = 0 to first order in z(0). Its error is set out in docs/theory/s-curves.md.
    """
    start, weight_decay = _arguments(start, weight_decay)

    def excess(time, bound):
        return _composite_loss(start, time, weight_decay) - bound

    ends = weight_decay < 2 and weight_decay**2 / 4 < _BOUNDS[1]
    # Overlaps grow at most as exp((2 - lambda) t): up to this time their products stay within
    # float64.
    longest = 150 / (1 - weight_decay / 2) if ends else 150.0
    begin = _first_crossing(excess, _BOUNDS[0], longest)
    return Plateau(begin, _first_crossing(excess, _BOUNDS[1], longest) if ends else np.inf)


def _composite_loss(start, time, weight_decay):
    early = early_solution(start, time, weight_decay)
    product = early.overlap_x * early.overlap_y
    saturation = 1 + abs(product) / (1 - weight_decay / 2) if weight_decay < 2 else 1.0
    shrink = 1 / np.sqrt(saturation)
    overlaps = shrink * early.overlap_x, shrink * early.overlap_y
    return loss(RankOneState(*overlaps, early.irrelevant_x, early.irrelevant_y))


def _first_crossing(excess, bound, longest):
    low, high, step = 0.0, 0.0, 0.01
    if excess(0.0, bound) <= 0:
        return 0.0
    while excess(high, bound) > 0:
        low, high = high, high + step
        step *= 1.1
        if high > longest:
            return np.inf
    root: Any = brentq(excess, low, high, args=(bound,))
    return float(root)


def _arguments(start, weight_decay):
    return checked(start, scalar=True), real("weight_decay", weight_decay, minimum=0)
