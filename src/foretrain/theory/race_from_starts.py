r"""The race of gating schemes from given initial weights: each start's own learning times, shares and strengths.

What the M' = sqrt P domains of a module have in common are the means of their encoder vectors W1 v and decoder vectors
W3^T u, one of each per mode, the columns of B and C. While routes of a module have nearly one error E, shape (mode, mode),
the means see nothing else of the domains and obey, with the hidden matrix N of the module,

    dB/dt = outer N^T C E,   dN/dt = hidden C E B^T,   dC/dt = outer N B E^T,   E = S - D sum over schemes of C^T N B.

With N a multiple of an orthogonal matrix at the start, B never leaves the span of B(0) and N(0)^T C(0), nor C that of C(0)
and N(0) B(0): a few numbers for each mode, whatever the width. In the limit of wide layers the four vectors of a mode are
orthogonal to all else, and this is the closed form of `foretrain.theory.mixed_race`; here they overlap as they do.
Left out are the parts that domains do not share: sigma^3 of a strength, and what moves routes of a module apart.
See docs/studies/pathway-race.md. All in float64; time is the paper's.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.integrate import RK45

from foretrain.errors import argument_error, finite_array
from foretrain.theory.pathway_race import RaceFactors

_SLACK = 1e-6  # share of the hidden matrix that may lead out of the planes: weights may come in single precision


@dataclass(frozen=True)
class Common:
    """What the domains of every module of one scheme have in common, on the planes on which it moves.

    Attributes:
        encoders: B, shape (module, plane, mode).
        hidden: N, shape (module, plane, plane).
        decoders: C, shape (module, plane, mode).
    """

    encoders: np.ndarray
    hidden: np.ndarray
    decoders: np.ndarray


@dataclass(frozen=True)
class Followed:
    """Strengths along training, shape (time, scheme, mode) each.

    Attributes:
        gain: u^T W v, mean over modules.
        outer_power: Product of the mean lengths of the encoder and the decoder vectors.
    """

    gain: np.ndarray
    outer_power: np.ndarray


def common(encoders, hidden, decoders) -> Common:
    """The planes of a scheme's start.

    Args:
        encoders: Means over the domains of a module of W1 v, shape (module, hidden, mode).
        hidden: Hidden matrices, shape (module, hidden, hidden), each a multiple of an orthogonal one or diagonal on the
            planes, as decoupled starts are.
        decoders: Means of W3^T u, shape (module, hidden, mode).

    Raises:
        ArgumentError: a hidden matrix leads out of the planes.
    """
    first, matrix, last = (
        finite_array(name, values, ndim=3).astype(float)
        for name, values in (("encoders", encoders), ("hidden", hidden), ("decoders", decoders))
    )
    before = np.linalg.qr(np.concatenate([first, _turned(matrix) @ last], 2))[0]
    after = np.linalg.qr(np.concatenate([last, matrix @ first], 2))[0]
    plane = _turned(after) @ matrix @ before
    out = np.abs(matrix @ before - after @ plane).max(initial=0)
    out = max(out, np.abs(_turned(matrix) @ after - before @ _turned(plane)).max(initial=0))
    if out > _SLACK * np.abs(matrix).max(initial=0):
        rule = "be multiples of orthogonal matrices"
        raise argument_error("hidden", rule, f"lead out of the planes of the start by {out:.2g}")
    return Common(_turned(before) @ first, plane, _turned(after) @ last)


def flow(
    start: Sequence[Common], times, singular_values, input_variances, factors: Sequence[RaceFactors]
) -> Followed:
    """Follow the gradient flow of all schemes together from a start.

    A scheme of one module sees the mean error over the modules of the others.

    Args:
        start: At most one of several modules.
        times: From 0 on, not decreasing, shape (time,).
        singular_values: S, shape (mode,).
        input_variances: D, shape (mode,).
        factors: Shares of the trained routes, one per scheme.

    Returns:
        Strengths, to about 1e-6 of the largest. Cost: some hundred steps of products of matrices of the size of the planes,
        for every module; below a second for 144 of them.

    Raises:
        ArgumentError: times decrease, or several schemes have several modules.
    """
    times = finite_array("times", times, ndim=1).astype(float)
    if times.size and (times[0] < 0 or (np.diff(times) < 0).any()):
        raise argument_error("times", "not be negative nor decrease", "does")
    if sum(len(scheme.hidden) > 1 for scheme in start) > 1:
        raise argument_error("start", "have at most one of several modules", "have more")
    signal, variance = np.diag(singular_values), np.asarray(input_variances, float)
    parts = [part for one in start for part in (one.encoders, one.hidden, one.decoders)]
    sizes = np.cumsum([part.size for part in parts])[:-1]

    def split(state):
        blocks = np.split(state, sizes)
        shaped = [b.reshape(part.shape) for b, part in zip(blocks, parts, strict=True)]
        return [shaped[at : at + 3] for at in range(0, len(shaped), 3)]

    def velocity(_, state):
        own = split(state)
        forward = [hidden @ encoders for encoders, hidden, _ in own]
        gain = [_turned(c) @ ahead for (_, _, c), ahead in zip(own, forward, strict=True)]
        error = signal - sum(gain) * variance
        moved = []
        for (b, n, c), ahead, share in zip(own, forward, factors, strict=True):
            seen = error if len(b) == len(error) else error.mean(0, keepdims=True)
            moved += [share.outer * (_turned(n) @ c) @ seen]
            moved += [share.hidden * c @ seen @ _turned(b)]
            moved += [share.outer * ahead @ _turned(seen)]
        return np.concatenate([one.ravel() for one in moved])

    def strengths(state):
        own = split(state)
        gain = [np.einsum("kam,kab,kbm->m", c, n, b) / len(b) for b, n, c in own]
        return gain, [_length(b) * _length(c) for b, _, c in own]

    state = np.concatenate([part.ravel() for part in parts])
    found = [strengths(state)] * int((times == 0).sum())
    if len(found) < len(times):
        solver = RK45(velocity, 0.0, state, float(times[-1]), rtol=1e-6, atol=1e-8)
        while len(found) < len(times):
            solver.step()
            inside = solver.dense_output()
            ends = np.searchsorted(times, solver.t, side="right")
            found += [strengths(inside(time)) for time in times[len(found) : ends]]
    gain, power = zip(*found, strict=True)
    return Followed(np.array(gain), np.array(power))


def _turned(matrices):
    return np.swapaxes(matrices, 1, 2)


def _length(vectors):
    return np.sqrt((vectors**2).sum(1)).mean(0)
