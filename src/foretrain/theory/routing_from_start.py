r"""The race of a routing network from its own orthogonal start: how its layers grow, with the overlaps that were drawn.

As `foretrain.theory.routing_from_random`, but not in the limit of wide layers. With T/K = U Lambda V^T the encoders' part
along column q of U, the columns of B_q, and the decoders' part along column q of V, the columns of C_q, obey with the hidden
matrix N_q on their planes and the error E of the mean trained route, shape (mode, mode),

    dB_q/dt = lambda_q/M N_q^T C_q E,   dN_q/dt = lambda_q/M C_q E B_q^T,   dC_q/dt = lambda_q/M N_q B_q E^T,
    E = S - D/M sum_q lambda_q C_q^T N_q B_q.

The uniform part, lambda = 1, is that of `foretrain.theory.race_from_starts`. On every plane the imbalances of adjacent layers,
B_q B_q^T - N_q^T N_q and C_q C_q^T - N_q N_q^T, are conserved. Modes overlap as they do; left out is that the planes of
different parts overlap, by 1/sqrt(N_h), and that routes may err differently. See docs/theory/routing.md. Float64, paper time.
"""

from dataclasses import dataclass

import numpy as np
from scipy.integrate import RK45

from foretrain.errors import argument_error, finite_array
from foretrain.tasks.masks import is_biregular
from foretrain.theory.race_from_starts import Common, common

_TOLERANCE = 1e-5


@dataclass(frozen=True)
class Parted:
    """A start by parts.

    Attributes:
        planes: Every part on planes of its own: encoders (part, plane, mode), hidden (part, plane, plane), decoders.
        paces: lambda, shape (part,).
    """

    planes: Common
    paces: np.ndarray


@dataclass(frozen=True)
class Layers:
    """What becomes of a start.

    Attributes:
        gain: u^T W v, mean over trained routes, shape (time, mode).
        singular_values: Of encoders (root mean square over domains), hidden matrix and decoders, shape (time, 3, mode).
        imbalances: B_q B_q^T - N_q^T N_q, which time must not change, shape (time, part, plane, plane).
    """

    gain: np.ndarray
    singular_values: np.ndarray
    imbalances: np.ndarray


def parted(encoders, hidden, decoders, trained_pairs) -> Parted:
    """A start by parts, each on its own planes.

    Args:
        encoders: W1 v of every domain, shape (input_domain, hidden, mode).
        hidden: W2, a multiple of an orthogonal matrix, shape (hidden, hidden).
        decoders: W3^T u of every domain, shape (output_domain, hidden, mode).
        trained_pairs: T, biregular, shape (input_domain, output_domain).

    Raises:
        ArgumentError: T is not biregular, or the hidden matrix leads out of the planes.
    """
    pairs = finite_array("trained_pairs", trained_pairs, ndim=2).astype(float)
    if not is_biregular(pairs):
        raise argument_error("trained_pairs", "be biregular", "is not")
    left, paces, right = np.linalg.svd(pairs / pairs[0].sum())
    first = np.einsum("iq,ihm->qhm", left, encoders)
    last = np.einsum("qj,jhm->qhm", right, decoders)
    matrix = np.broadcast_to(hidden, (len(pairs), *np.shape(hidden)))
    return Parted(common(first, matrix, last), np.minimum(paces, 1))


def flow(start: Parted, times, singular_values, input_variances) -> Layers:
    """Follow the layers of a network from a start.

    Args:
        start: Of `parted`.
        times: From 0 on, not decreasing, paper time, shape (time,).
        singular_values: S, shape (mode,).
        input_variances: D, shape (mode,).

    Returns:
        Strengths, to about 1e-4 of the largest. Cost: some hundred steps of products of M matrices of the size of the planes,
        a tenth of a second for seven domains of four modes.
    """
    times = finite_array("times", times, ndim=1).astype(float)
    if times.size and (times[0] < 0 or (np.diff(times) < 0).any()):
        raise argument_error("times", "not be negative nor decrease", "does")
    parts = (start.planes.encoders, start.planes.hidden, start.planes.decoders)
    sizes, domains = np.cumsum([part.size for part in parts])[:-1], len(start.paces)
    share = start.paces[:, None, None] / domains
    signal, variance = np.diag(singular_values), np.asarray(input_variances, float)

    def split(states):
        blocks = np.split(states, sizes, -1)
        lead = states.shape[:-1]
        return [one.reshape(*lead, *part.shape) for one, part in zip(blocks, parts, strict=True)]

    def velocity(_, state):
        b, n, c = split(state)
        ahead = n @ b
        error = signal - (share * (_turned(c) @ ahead)).sum(0) * variance
        driven = share * (c @ error)
        moved = (_turned(n) @ driven, driven @ _turned(b), share * (ahead @ error.T))
        return np.concatenate([one.ravel() for one in moved])

    state = np.concatenate([part.ravel() for part in parts])
    found = [state] * int((times == 0).sum())
    if len(found) < len(times):
        solver = RK45(velocity, 0.0, state, float(times[-1]), rtol=_TOLERANCE, atol=1e-8)
        while len(found) < len(times):
            solver.step()
            inside = solver.dense_output()
            ends = np.searchsorted(times, solver.t, side="right")
            found += [inside(time) for time in times[len(found) : ends]]
    b, n, c = split(np.array(found).reshape(len(times), state.size))
    gain = (share * (_turned(c) @ n @ b)).sum(1)
    values = [_lengths(b) / np.sqrt(domains), _largest(n, len(variance))]
    layers = np.stack([*values, _lengths(c) / np.sqrt(domains)], 1)
    imbalances = b @ _turned(b) - _turned(n) @ n
    return Layers(np.diagonal(gain, axis1=1, axis2=2), layers, imbalances)


def _turned(matrices):
    return np.swapaxes(matrices, -1, -2)


def _lengths(vectors):
    """Singular values of all parts together, largest first, shape (time, mode)."""
    squares = np.linalg.eigvalsh((_turned(vectors) @ vectors).sum(1))[:, ::-1]
    return np.sqrt(np.maximum(squares, 0))


def _largest(matrices, count):
    """The largest singular values of all parts, shape (time, mode)."""
    values = np.linalg.svd(matrices, compute_uv=False).reshape(len(matrices), -1)
    return -np.sort(-values, 1)[:, :count]
