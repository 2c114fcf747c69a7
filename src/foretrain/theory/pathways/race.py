"""Routing and the pathway race: two numbers per singular mode, Saxe, Sodhani & Lewallen (2022).

M input domains are routed to M output domains through two hidden layers; every input is trained
with K outputs and every output with K inputs (a biregular mask). With un-gated statistics
Sigma_yx = U S V^T and Sigma_x = V D V^T per mode, and decoupled balanced weights, all first and
third layers share the outer weight B1 and the hidden layer has B2 (eqs. 13-14, 16-17):

    dB1/dt = outer B2 B1 [S - B2 B1^2 D],    dB2/dt = hidden B1^2 [S - B2 B1^2 D].

The two factors (`RaceFactors`) are the trained routes through an edge over all trained routes. With
r = hidden/outer the flow conserves C = r B1^2 - B2^2, so that B2/B1 = sqrt(r - C/B1^2), and

    dB2/dt = outer (B2^2 + C) [S - B2 (B2^2 + C) D / r],                                  (eq. 15)

which `foretrain.theory.pathways.race_schemes` solves in closed form, for one set of modules or several together. Time is the
paper's: the loss is half the squared error, averaged over items and trained routes, and tau = 1. See docs/theory/routing.md,
and `authors_time_scale` for the loss that the published figures were made with. All in float64.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from foretrain.errors import argument_error, finite_array, integer, real
from foretrain.theory.integration import checked_times, flow_at, iterate


@dataclass(frozen=True)
class RaceFactors:
    """Share of the trained routes that pass through an edge.

    `outer`: through one matrix of the first or third layer (or one copy of it); `hidden`: through one hidden matrix.
    """

    outer: float
    hidden: float

    @property
    def ratio(self) -> float:
        """The quotient r = hidden/outer; B2/B1 tends to its square root."""
        return self.hidden / self.outer


def routing_factors(domains: int) -> RaceFactors:
    """One shared hidden layer (eqs. 13-14): (1/M, 1), for every K."""
    return RaceFactors(1 / integer("domains", domains, minimum=1), 1.0)


def race_factors(domains: int, paths: float, *, shared_encoders: bool = False) -> RaceFactors:
    """P of the M^2 routes through each hidden matrix, all routes trained (eqs. 16-17).

    There are M^2/P modules, each for sqrt(P) inputs and sqrt(P) outputs.
    By default every module owns copies of its encoders and decoders, as in the paper: factors (sqrt(P)/M^2, P/M^2), a final
    ratio P^(1/4). With `shared_encoders` an input has one encoder and an output one decoder: (1/M, P/M^2) and sqrt(P/M).
    Both agree with `routing_factors` at P = M^2.

    P is 1 to M^2; networks exist for `admissible_paths` only, other values interpolate.

    Example:
        >>> race_factors(4, 16) == routing_factors(4)
        True
    """
    domains = integer("domains", domains, minimum=1)
    paths = real("paths", paths, minimum=1, maximum=domains**2)
    outer = 1 / domains if shared_encoders else math.sqrt(paths) / domains**2
    return RaceFactors(outer, paths / domains**2)


def admissible_paths(domains: int) -> tuple[int, ...]:
    """All P for which M domains can be cut into modules: squares of the divisors of M, increasing."""
    domains = integer("domains", domains, minimum=1)
    return tuple(group**2 for group in range(1, domains + 1) if domains % group == 0)


def authors_time_scale(domains: int, trained_outputs: int, features: int) -> float:
    """Paper time per unit of (step x learning rate) under the loss of the authors' figures: 2KM/N.

    K is 1 to M, N >= 1 the length of an output. Their loss sums over trained routes the mean over items and the N output
    features, without the one half, hence is 2KM/N times the paper's. In their units, with S and D summed over I items, the
    factors of eqs. (13-14) read 2K/(NI) and 2KM/(NI). Their learning rate times this number is a step of paper time, and their
    loss this number times the paper's.
    """
    domains = integer("domains", domains, minimum=1)
    trained_outputs = integer("trained_outputs", trained_outputs, minimum=1, maximum=domains)
    return 2 * trained_outputs * domains / integer("features", features, minimum=1)


def invariant(state, factors: RaceFactors):
    """C = r B1^2 - B2^2 of a state (B1, B2), conserved by the flow; a step of descent changes it by O(step^2)."""
    outer_weight, hidden_weight = state
    return factors.ratio * np.square(outer_weight) - np.square(hidden_weight)


def flow(
    start, times, singular_values, input_variances, factors: RaceFactors
) -> tuple[np.ndarray, np.ndarray]:
    """Gradient flow of eqs. (13-14) by an adaptive Runge-Kutta method of order 8.

    `start` is the pair B1(0), B2(0), scalars or (mode,), `times` paper time. Returns B1 and B2, (time, mode), with a relative
    error of about 1e-10.

    Example:
        >>> outer, hidden = flow((0.1, 0.1), [0.0, 20.0], [1.0], [1.0], routing_factors(4))
        >>> (hidden[-1] / outer[-1]).round(2)
        array([1.96])
    """
    times = checked_times(times)
    singular, variance = _modes(singular_values, input_variances)
    state = np.concatenate(_checked_start(start, singular.shape))
    rates = factors.outer, factors.hidden

    def velocity(state):
        change = _velocity(state.reshape(2, 1, -1), singular, variance, *rates)
        return np.concatenate(change, axis=None)

    path = flow_at(velocity, state, times, method="DOP853", rtol=1e-12, atol=1e-14)
    return path[:, : singular.size], path[:, singular.size :]


def descent(
    start,
    learning_rate: float,
    steps: int,
    singular_values,
    input_variances,
    factors: RaceFactors | Sequence[RaceFactors],
) -> tuple[np.ndarray, np.ndarray]:
    """Gradient descent of the reduced loss: Euler steps of eqs. (13-14) and (16-17).

    From decoupled weights this is what full-batch descent of the whole network does, to rounding.

    `start` is the pair B1(0), B2(0), scalars or (mode,), for several schemes, with one factor each, what broadcasts to
    (scheme, mode); `learning_rate` is paper time per step. Returns B1 and B2, (steps + 1, mode) or (steps + 1, scheme, mode).
    """
    learning_rate = real("learning_rate", learning_rate, above=0)
    steps = integer("steps", steps, minimum=0)
    singular, variance = _modes(singular_values, input_variances)
    single = isinstance(factors, RaceFactors)
    schemes = [factors] if single else factors
    rates = (
        learning_rate * np.array([(scheme.outer, scheme.hidden) for scheme in schemes]).T[..., None]
    )

    def step(state):
        change = _velocity(state, singular, variance, *rates)
        return tuple(now + by for now, by in zip(state, change, strict=True))

    state = tuple(_checked_start(start, (len(schemes), singular.size)))
    outer, hidden = (np.stack(path) for path in zip(*iterate(step, state, steps), strict=True))
    return (outer[:, 0], hidden[:, 0]) if single else (outer, hidden)


def _velocity(state, singular, variance, outer_rate, hidden_rate):
    """(dB1/dt, dB2/dt) at (B1, B2), shape (scheme, mode) each; the outputs of the schemes add up."""
    outer, hidden = state
    error = singular - (hidden * outer**2).sum(0) * variance
    return outer_rate * hidden * outer * error, hidden_rate * outer**2 * error


def _modes(singular_values, input_variances):
    singular = finite_array("singular_values", singular_values, ndim=1).astype(float)
    variance = finite_array("input_variances", input_variances, ndim=1).astype(float)
    if variance.shape != singular.shape:
        rule = f"have one value per singular value ({singular.size})"
        raise argument_error("input_variances", rule, f"has {variance.size}")
    return singular, variance


def _checked_start(start, shape):
    outer, hidden = start
    values = ("start[0]", outer), ("start[1]", hidden)
    return [np.broadcast_to(finite_array(*value).astype(float), shape) for value in values]
