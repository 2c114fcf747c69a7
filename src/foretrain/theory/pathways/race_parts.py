r"""The routing network from wide random weights, in closed form: the part that domains share, and the parts of their own.

From orthogonal weights of scale sigma the mean encoder and decoder vector of a mode follow the race of
`foretrain.theory.pathways.race_schemes`: in tau = sigma u/M, with u the integral of the mode's error, the hidden matrix is
N = sigma n(tau) on the plane of these vectors. The difference of a domain's vector from the mean lies, in wide layers, on
planes of its own. The trained pairs couple encoder i to the mean of its own decoders, so that with T/K = U Lambda V^T
the part of the encoders along column q of U is driven by the part of the decoders along column q of V at lambda_q times
the pace of the mean (for which lambda = 1), and obeys the same equations in lambda_q tau. By conservation of
sum_i W1_i W1_i^T - W2^T W2 a part has the squared length sigma^2 f(lambda_q tau), f = tr n^2 - 1, summed over domains:

    M |b|^2 = sigma^2 [f(tau) + sum_q f(lambda_q tau)],    B2 = sigma times the larger eigenvalue of n(tau).

If all routes are trained the parts keep their f(0) = 1. Then the maps of routes may differ as well: with S_ij = S c_ij every
singular pair of c is learned as if it were alone, at S times its singular value over M (`parts_of_maps`).
See docs/theory/routing.md. All in float64; time is the paper's.
"""

import math
from dataclasses import dataclass

import numpy as np

from foretrain.errors import argument_error, finite_array, real
from foretrain.tasks.masks import is_biregular
from foretrain.theory.pathways.race import routing_factors
from foretrain.theory.pathways.race_schemes import RANDOM_POLE, gains, random_scheme


@dataclass(frozen=True)
class Parts:
    """The parts of the encoders of all domains, one along each singular vector of what is trained over domains.

    `vectors` are orthonormal, (input_domain, part); `power` is the squared length of a mode's vectors summed over domains,
    `gain` the strength of the part on the map of all routes, as a singular value over M, both (time, part, mode).
    """

    vectors: np.ndarray
    power: np.ndarray
    gain: np.ndarray


@dataclass(frozen=True)
class FromRandom:
    """Strengths along training, shape (time, mode) each.

    Attributes:
        gain: G, strength of the mode on every route.
        outer: Length of a mode's encoder (and decoder) vector, root mean square over domains: a singular value of W1.
        hidden: B2, singular value of the hidden matrix.
        cosine: Mean over pairs of different domains of the cosine between their encoder vectors; 1 for one domain.
    """

    gain: np.ndarray
    outer: np.ndarray
    hidden: np.ndarray
    cosine: np.ndarray


def from_random(
    init_scale: float, times, trained_pairs, singular_values, input_variances
) -> FromRandom:
    """Follow every mode of a routing network from wide random orthogonal weights.

    Args:
        init_scale: sigma > 0, all singular values of every matrix at the start.
        times: From 0 on, not decreasing, paper time, shape (time,); the last may be inf, the end of training.
        trained_pairs: T, shape (input_domain, output_domain), biregular: K outputs per input, K inputs per output.
    """
    times = np.asarray(times, float)
    scale = real("init_scale", init_scale, above=0)
    pairs = finite_array("trained_pairs", trained_pairs, ndim=2).astype(float)
    if not is_biregular(pairs):
        raise argument_error("trained_pairs", "be biregular", "is not")
    domains = len(pairs)
    gain = race_gains(scale, times, domains, singular_values, input_variances)
    tau = _tau(gain, scale, domains)
    power = parts_of_mask(gain, scale, pairs).power / domains
    length = power.sum(1)
    outside = power[:, 1:].sum(1)
    cosine = (length - outside * domains / max(domains - 1, 1)) / length
    first, cross, last = _entries(tau)
    hidden = scale * ((first + last) / 2 + np.hypot((first - last) / 2, cross))
    return FromRandom(gain, np.sqrt(length), hidden, cosine if domains > 1 else 1 + 0 * gain)


def parts_of_mask(gain, init_scale: float, trained_pairs) -> Parts:
    """The parts of the encoders where all trained routes have one map: along the singular vectors of T/K; by `race_gains`."""
    pairs, scale = np.asarray(trained_pairs, float), init_scale
    tau = _tau(gain, scale, len(pairs))
    vectors, paces, _ = np.linalg.svd(pairs / pairs[0].sum())
    paces = np.minimum(paces, 1)[:, None]
    power = scale**2 * (_squared_norm(paces * tau[:, None, :]) - 1)
    return Parts(vectors, power, (np.arange(len(pairs)) == 0)[:, None] * gain[:, None, :])


def errors_left(init_scale: float, trained_pairs, singular_values, input_variances) -> np.ndarray:
    """Mean errors on trained and on untrained routes that small weights leave where all modes are learned, shape (2,).

    Part q leaves u_iq v_jq sigma^3 h(lambda_q tau) on route (i, j), h = tr(n n'). The mean of domains learns at once what
    trained routes have of that in common; the rest goes at rates that vanish with sigma. Arguments as of `from_random`, K < M.
    """
    pairs, variances = np.asarray(trained_pairs, float), np.asarray(input_variances, float)
    tau = _tau(np.asarray(singular_values) / variances, init_scale, len(pairs))
    left, paces, right = np.linalg.svd(pairs / pairs[0].sum())
    first, cross, last = _entries(paces[1:, None] * tau)
    kept = first**3 + 3 * cross**2 * (first + last) + last**3 - last
    kept = init_scale**3 * np.einsum("iq,qm,qj->mij", left[:, 1:], kept, right[1:])
    kept -= (kept * pairs).sum((1, 2), keepdims=True) / pairs.sum()
    error = np.tensordot(variances / 2, kept**2, 1)
    return np.array([(error * routes).sum() / routes.sum() for routes in (pairs, 1 - pairs)])


def parts_of_maps(init_scale: float, times, maps, singular_values, input_variances) -> Parts:
    """The parts of the encoders where all routes are trained and route (i, j) has the singular values S c_ij.

    Wide layers keep the parts on planes of their own, so that part q races alone with c's singular value c_q: as a network
    whose routes all have S c_q/M. Its first half-learning time is 1/c_q of that of equal maps, in the limit of small weights.

    The maps c are (input_domain, output_domain).
    """
    scale = real("init_scale", init_scale, above=0)
    vectors, strengths, _ = np.linalg.svd(finite_array("maps", maps, ndim=2).astype(float))
    domains, times = len(vectors), np.asarray(times, float)
    gain = np.zeros((times.size, domains, len(singular_values)))
    for part, pace in enumerate(strengths / domains):
        if pace > 1e-9:  # the others are not in the map and stay as drawn
            driven = pace * np.asarray(singular_values)
            gain[:, part] = race_gains(scale, times, domains, driven, input_variances)
    power = scale**2 * (_squared_norm(_tau(gain, scale, domains)) - 1)
    return Parts(vectors, power, gain)


def domain_similarity(parts: Parts, input_modes, first_half: int) -> tuple[np.ndarray, np.ndarray]:
    """Mean cosine between the first-layer representations of one item in two domains, of one half or of different halves.

    `parts` are those of the encoders, `input_modes` V is (item, mode), `first_half` >= 1 the number of domains in the first
    half. Returns (within, between), shape (time,) each; 0 where there is no such pair. Cost: time x item x domains^2.
    """
    domains, items = len(parts.vectors), len(input_modes)
    rest = domains - first_half
    within, between = np.zeros((2, len(parts.power)))
    for weights in np.asarray(input_modes) ** 2:
        for at, power in enumerate(parts.power @ weights):
            units = parts.vectors / np.sqrt(parts.vectors**2 @ power)[:, None]
            first, second = units[:first_half].sum(0), units[first_half:].sum(0)
            within[at] += power @ (first**2 + second**2) - domains
            between[at] += power @ (first * second)
    pairs = first_half * (first_half - 1) + rest * (rest - 1), first_half * rest
    return within / items / max(pairs[0], 1), between / items / max(pairs[1], 1)


def parts_similarity(parts: Parts, input_modes) -> np.ndarray:
    """Dot products of the items of all domains at the last time, shape (domains x item, domains x item), domain first."""
    modes, vectors = np.asarray(input_modes), parts.vectors
    grams = np.einsum("ip,pm,kp->mik", vectors, parts.power[-1], vectors, optimize=True)
    dots = np.einsum("am,mik,bm->iakb", modes, grams, modes, optimize=True)
    return dots.reshape(2 * (len(vectors) * len(modes),))


def parts_loss(parts: Parts, maps, singular_values, input_variances) -> np.ndarray:
    """Loss of a network in which every part has its strength, all routes trained, shape (time,); see `parts_of_maps`."""
    paces = np.linalg.svd(np.asarray(maps, float), compute_uv=False) / len(parts.vectors)
    s, d = np.asarray(singular_values), np.asarray(input_variances)
    return (0.5 * (paces[:, None] * s - d * parts.gain) ** 2 / d).sum((1, 2))


def similarity(input_modes, power, cosine, domains: int) -> np.ndarray:
    """Dot products of the items of all domains: V B1^2 V^T within a domain, times the cosine of each mode across domains.

    `input_modes` V of every domain are (item, mode), `power` B1^2 (mode,), `cosine` between the encoder vectors of two domains
    (mode,) or a number. The result is (domains x item, domains x item), ordered by domain, then item.
    """
    within, across = ((input_modes * values) @ input_modes.T for values in (power, power * cosine))
    same = np.eye(domains)
    return np.kron(same, within) + np.kron(1 - same, across)


def race_gains(
    init_scale: float, times, domains: int, singular_values, input_variances
) -> np.ndarray:
    """Strength of every mode along the race from wide random weights, shape (time, mode); see `from_random`."""
    times = np.asarray(times, float)
    finite = times[np.isfinite(times)]
    scheme = [random_scheme(init_scale, routing_factors(domains))]
    before = gains(scheme, finite, singular_values, input_variances)[:, 0]
    end = np.asarray(singular_values, float) / np.asarray(input_variances, float)
    return np.concatenate([before, np.tile(end, (times.size - finite.size, 1))])


def race_loss(gain, singular_values, input_variances, unexplained_power: float) -> np.ndarray:
    """Loss of a network whose modes have these strengths, shape (time,).

    `gain` is (time, mode), `unexplained_power` <|y|^2> less what the modes explain.
    """
    s, d = np.asarray(singular_values), np.asarray(input_variances)
    return unexplained_power / 2 + (0.5 * (s - d * gain) ** 2 / d).sum(1)


def _tau(gain, scale, domains):
    """The tau at which the gain sigma^3 tr(n n')/r is reached, by bisection in -log(pole - tau)."""
    target = np.asarray(gain) * domains / scale**3
    low = np.full(target.shape, -math.log(RANDOM_POLE))
    high = np.full(target.shape, 32.0)
    for _ in range(60):
        middle = (low + high) / 2
        first, cross, last = _entries(RANDOM_POLE - np.exp(-middle))
        # tr(n n'), with n' = n^2 - diag(0, 1).
        below = first**3 + 3 * cross**2 * (first + last) + last**3 - last < target
        low, high = np.where(below, middle, low), np.where(below, high, middle)
    return np.maximum(RANDOM_POLE - np.exp(-(low + high) / 2), 0.0)


def _entries(tau):
    """Entries n11, n12, n22 of n(tau)."""
    sinh, cosh = np.sinh(tau), np.cosh(tau)
    below = cosh - tau * sinh
    return sinh / below, 1 / below, (tau * cosh - sinh) / below


def _squared_norm(tau):
    first, cross, last = _entries(tau)
    return first**2 + 2 * cross**2 + last**2
