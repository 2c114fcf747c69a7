r"""The routing network from wide random weights, in closed form: what its domains share, and what each keeps of its own.

From orthogonal weights of scale sigma the mean encoder and decoder vector of a mode follow the race of
`foretrain.theory.mixed_race`: in tau = sigma u/M, with u the integral of the mode's error, the hidden matrix is
N = sigma n(tau) on the plane of these vectors. What a domain's vector differs from the mean lies, in wide layers, on
planes of its own. The trained pairs couple encoder i to the mean of its own decoders, so that with T/K = U Lambda V^T
the part of the encoders along column q of U is driven by the part of the decoders along column q of V at lambda_q times
the pace of the mean (for which lambda = 1), and obeys the same equations in lambda_q tau. By conservation of
sum_i W1_i W1_i^T - W2^T W2 a part has the squared length sigma^2 f(lambda_q tau), f = tr n^2 - 1, summed over domains:

    M |b|^2 = sigma^2 [f(tau) + sum_q f(lambda_q tau)],    B2 = sigma times the larger eigenvalue of n(tau).

If all routes are trained the parts keep their f(0) = 1. See docs/theory/routing.md. All in float64; time is the paper's.
"""

import math
from dataclasses import dataclass

import numpy as np

from foretrain.errors import argument_error, finite_array, real
from foretrain.tasks.masks import is_biregular
from foretrain.theory.mixed_race import RANDOM_POLE, gains, random_scheme
from foretrain.theory.pathway_race import routing_factors


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


def from_random(times, init_scale: float, trained_pairs, singular_values, variances) -> FromRandom:
    """Follow every mode of a routing network from wide random orthogonal weights.

    Args:
        times: From 0 on, not decreasing, paper time, shape (time,); the last may be inf, the end of training.
        init_scale: sigma > 0, all singular values of every matrix at the start.
        trained_pairs: T, shape (input_domain, output_domain), biregular: K outputs per input, K inputs per output.
        singular_values: S, shape (mode,).
        variances: D, shape (mode,).

    Raises:
        ArgumentError: T is not biregular, or a number is out of range.
    """
    times = np.asarray(times, float)
    scale = real("init_scale", init_scale, above=0)
    pairs = finite_array("trained_pairs", trained_pairs, ndim=2).astype(float)
    if not is_biregular(pairs):
        raise argument_error("trained_pairs", "be biregular", "is not")
    domains = len(pairs)
    paces = np.linalg.svd(pairs, compute_uv=False)[1:] / pairs[0].sum()
    gain = race_gains(times, scale, domains, singular_values, variances)
    tau = _tau(gain, scale, domains)
    shared = _squared_norm(tau) - 1
    own = (_squared_norm(paces * tau[..., None]) - 1).sum(-1)
    length = (shared + own) / domains
    apart = own / domains
    alike = (length - apart * domains / max(domains - 1, 1)) / length
    hidden = scale * _larger_eigenvalue(tau)
    return FromRandom(gain, scale * np.sqrt(length), hidden, alike if domains > 1 else 1 + 0 * gain)


def race_gains(times, init_scale: float, domains: int, singular_values, variances) -> np.ndarray:
    """Strength of every mode along the race from wide random weights, shape (time, mode); see `from_random`."""
    times = np.asarray(times, float)
    finite = times[np.isfinite(times)]
    scheme = [random_scheme(init_scale, routing_factors(domains))]
    modes = []
    for s, d in zip(singular_values, variances, strict=True):
        end = np.full(times.size - finite.size, s / d)
        modes.append(np.concatenate([gains(finite, scheme, s, d)[:, 0], end]))
    return np.stack(modes, 1)


def race_loss(gain, singular_values, variances, unexplained_power: float) -> np.ndarray:
    """Loss of a network whose modes have these strengths, shape (time,).

    Args:
        gain: Shape (time, mode).
        singular_values: S, shape (mode,).
        variances: D, shape (mode,).
        unexplained_power: <|y|^2> less what the modes explain.
    """
    loss = np.full(len(gain), unexplained_power / 2)
    for mode, (s, d) in enumerate(zip(singular_values, variances, strict=True)):
        loss += 0.5 * (s - d * gain[:, mode]) ** 2 / d
    return loss


def _tau(gain, scale, domains):
    """The tau at which the gain sigma^3 tr(n n')/r is reached, by bisection in -log(pole - tau)."""
    target = np.asarray(gain) * domains / scale**3
    low = np.full(target.shape, -math.log(RANDOM_POLE))
    high = np.full(target.shape, 32.0)
    for _ in range(60):
        middle = (low + high) / 2
        below = _growth_rate(RANDOM_POLE - np.exp(-middle)) < target
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


def _larger_eigenvalue(tau):
    first, cross, last = _entries(tau)
    return (first + last) / 2 + np.hypot((first - last) / 2, cross)


def _growth_rate(tau):
    """tr(n n'), with n' = n^2 - diag(0, 1)."""
    first, cross, last = _entries(tau)
    return first**3 + 3 * cross**2 * (first + last) + last**3 - last
