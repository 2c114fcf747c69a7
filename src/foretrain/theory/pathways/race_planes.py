r"""The race from given orthogonal weights, with the overlaps that were drawn, for any mask and any set of modules.

**Modules.** The M' = sqrt P domains of a module share the means of their encoder vectors W1 v and decoder vectors W3^T u, one
of each per mode: the columns of B and C. While routes of a module have nearly one error E, shape (mode, mode), the means
depend on nothing else of the domains and obey, with the hidden matrix N of the module,

    dB/dt = outer N^T C E,   dN/dt = hidden C E B^T,   dC/dt = outer N B E^T,   E = S - D sum over schemes of C^T N B.

With N a multiple of an orthogonal matrix at the start, B never leaves the span of B(0) and N(0)^T C(0), nor C that of C(0) and
N(0) B(0): a few numbers for each mode, whatever the width. In the limit of wide layers this is the closed form of
`foretrain.theory.pathways.race_schemes`. Left out are the parts that domains do not share, sigma^3 of a strength.

**Parts.** With T/K = U Lambda V^T the encoders' part along column q of U, the columns of B_q, and the decoders' part along
column q of V, the columns of C_q, obey with the hidden matrix N_q on their planes and the error E of the mean trained route

    dB_q/dt = lambda_q/M N_q^T C_q E,   dN_q/dt = lambda_q/M C_q E B_q^T,   dC_q/dt = lambda_q/M N_q B_q E^T,
    E = S - D/M sum_q lambda_q C_q^T N_q B_q.

The uniform part, lambda = 1, is that of one module. Left out is that the planes of different parts overlap, by 1/sqrt(N_h),
and that routes may err differently. See docs/theory/routing.md and docs/studies/pathway-race.md. Float64, paper time.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from foretrain.errors import argument_error, finite_array
from foretrain.tasks.masks import is_biregular
from foretrain.theory.integration import checked_times, observed_flow
from foretrain.theory.pathways.race import RaceFactors

# Fraction of the hidden matrix that may lead out of the planes: weights may come in single precision.
_SLACK = 1e-6


@dataclass(frozen=True)
class Planes:
    """The start of the modules of one scheme, or of the parts of a mask, on the planes on which it moves.

    B is (module, plane, mode) or (part, plane, mode), N (module or part, plane, plane), C as B; `paces` are lambda of every
    part, None for modules.
    """

    encoders: np.ndarray
    hidden: np.ndarray
    decoders: np.ndarray
    paces: np.ndarray | None = None


@dataclass(frozen=True)
class Strengths:
    """Strengths of schemes along training, shape (time, scheme, mode) each.

    `gain` is u^T W v, mean over modules, `outer_power` the product of the mean lengths of the encoder and the decoder vectors.
    """

    gain: np.ndarray
    outer_power: np.ndarray


def planes(encoders, hidden, decoders) -> Planes:
    """Find the planes of a scheme's start.

    Encoders W1 v and decoders W3^T u are means over the domains of a module, (module, hidden, mode); hidden matrices are
    (module, hidden, hidden), each a multiple of an orthogonal one or diagonal on the planes, as decoupled starts are; one
    that leads out of the planes raises `ArgumentError`.
    """
    first, matrix, last = (
        finite_array(name, values, ndim=3).astype(float)
        for name, values in (("encoders", encoders), ("hidden", hidden), ("decoders", decoders))
    )
    before = np.linalg.qr(np.concatenate([first, matrix.mT @ last], 2))[0]
    after = np.linalg.qr(np.concatenate([last, matrix @ first], 2))[0]
    plane = after.mT @ matrix @ before
    out = np.abs(matrix @ before - after @ plane).max(initial=0)
    out = max(out, np.abs(matrix.mT @ after - before @ plane.mT).max(initial=0))
    if out > _SLACK * np.abs(matrix).max(initial=0):
        rule = "be multiples of orthogonal matrices"
        raise argument_error("hidden", rule, f"lead out of the planes of the start by {out:.2g}")
    return Planes(before.mT @ first, plane, after.mT @ last)


def part_planes(encoders, hidden, decoders, trained_pairs) -> Planes:
    """Find the planes of a routing network's start, one set for every part of its mask.

    `encoders` W1 v are (input_domain, hidden, mode), `decoders` W3^T u (output_domain, hidden, mode), `hidden` W2, a multiple
    of an orthogonal matrix, (hidden, hidden). A T that is not biregular, or a W2 that leads out of the planes, raises
    `ArgumentError`.
    """
    pairs = finite_array("trained_pairs", trained_pairs, ndim=2).astype(float)
    if not is_biregular(pairs):
        raise argument_error("trained_pairs", "be biregular", "is not")
    left, paces, right = np.linalg.svd(pairs / pairs[0].sum())
    first = np.einsum("iq,ihm->qhm", left, encoders)
    last = np.einsum("qj,jhm->qhm", right, decoders)
    start = planes(first, np.broadcast_to(hidden, (len(pairs), *np.shape(hidden))), last)
    return Planes(start.encoders, start.hidden, start.decoders, np.minimum(paces, 1))


def flow(
    start: Sequence[Planes], times, singular_values, input_variances, factors: Sequence[RaceFactors]
) -> Strengths:
    """Follow the gradient flow of all schemes together.

    A scheme of one module sees the mean error over the modules of the others.

    `start` and `factors` have one entry per scheme, at most one of several modules. Strengths are exact to about 1e-6 of the
    largest. Cost: some hundred steps of products of matrices of the size of the planes, below a second for 144 modules.
    """
    times = checked_times(times)
    if sum(len(scheme.hidden) > 1 for scheme in start) > 1:
        raise argument_error("start", "have at most one of several modules", "have more")
    signal, variance = np.diag(singular_values), np.asarray(input_variances, float)
    state, split = _flattened(start)

    def missing(state):
        return signal - variance * sum(c.mT @ (n @ b) for b, n, c in split(state))

    def velocity(state):
        schemes, error, change = split(state), missing(state), []
        ahead = [n @ b for b, n, _ in schemes]
        for (b, n, c), forward, pace in zip(schemes, ahead, factors, strict=True):
            shared = error if len(b) == len(error) else error.mean(0, keepdims=True)
            change += [pace.outer * (n.mT @ c) @ shared]
            change += [pace.hidden * c @ shared @ b.mT]
            change += [pace.outer * forward @ shared.mT]
        return np.concatenate([part.ravel() for part in change])

    def strengths(state):
        schemes = split(state)
        gain = [np.einsum("kam,kab,kbm->m", c, n, b) / len(b) for b, n, c in schemes]
        return gain, [_mean_length(b) * _mean_length(c) for b, _, c in schemes]

    miss = lambda state: abs(missing(state)).max() / signal.max()  # noqa: E731
    observed = observed_flow(velocity, state, times, strengths, miss, relative=1e-6)
    gain, power = zip(*observed, strict=True)
    return Strengths(np.array(gain), np.array(power))


def part_flow(start: Planes, times, singular_values, input_variances) -> np.ndarray:
    """Follow the layers of a routing network along gradient flow, all parts of its mask together.

    Returns singular values, shape (time, 3, mode), of encoders (root mean square over domains), hidden matrix and decoders,
    exact to about 1e-4 of the largest strength. Cost: some hundred steps of products of M matrices of the size of
    the planes, a tenth of a second for seven domains of four modes.
    """
    times = checked_times(times)
    if start.paces is None:
        raise argument_error("start", "come from `part_planes`", "has no paces")
    domains = len(start.paces)
    rate = start.paces[:, None, None] / domains
    signal, variance = np.diag(singular_values), np.asarray(input_variances, float)
    state, split = _flattened([start])

    def terms(state):
        ((b, n, c),) = split(state)
        ahead = n @ b
        return b, n, c, ahead, signal - (rate * (c.mT @ ahead)).sum(0) * variance

    def velocity(state):
        b, n, c, ahead, error = terms(state)
        driven = rate * (c @ error)
        change = n.mT @ driven, driven @ b.mT, rate * (ahead @ error.T)
        return np.concatenate([part.ravel() for part in change])

    miss = lambda state: abs(terms(state)[-1]).max() / signal.max()  # noqa: E731
    states = observed_flow(velocity, state, times, np.copy, miss, relative=1e-5)
    ((b, n, c),) = split(np.reshape(states, (-1, state.size)))
    hidden = np.sort(np.linalg.svd(n, compute_uv=False).reshape(len(n), -1))[:, ::-1]
    outer = [_joint_values(vectors) / np.sqrt(domains) for vectors in (b, c)]
    return np.stack([outer[0], hidden[:, : len(variance)], outer[1]], 1)


def _flattened(start: Sequence[Planes]):
    """The start as one vector, and a function of such vectors to (B, N, C) of every scheme."""
    parts = [part for factor in start for part in (factor.encoders, factor.hidden, factor.decoders)]
    ends = np.cumsum([part.size for part in parts]).tolist()
    cuts = [(slice(end - x.size, end), x.shape) for end, x in zip(ends, parts, strict=True)]

    def split(state):
        shaped = [state[..., at].reshape(*state.shape[:-1], *shape) for at, shape in cuts]
        return [shaped[at : at + 3] for at in range(0, len(shaped), 3)]

    return np.concatenate([part.ravel() for part in parts]), split


def _mean_length(vectors):
    """Lengths of the columns, mean over modules, shape (mode,)."""
    return np.sqrt((vectors**2).sum(1)).mean(0)


def _joint_values(vectors):
    """Singular values of all parts together, largest first, shape (..., mode)."""
    squares = np.linalg.eigvalsh((vectors.mT @ vectors).sum(-3))[..., ::-1]
    return np.sqrt(np.maximum(squares, 0))
