r"""The reduction of the routing network for any trained pairs: one number per matrix and mode.

From a decoupled start every mode with singular value S and input variance D (un-gated, per item) obeys

    dB1_i/dt = 1/|T| sum_j T_ij B3_j B2 (S - B3_j B2 B1_i D)
    dB2/dt   = 1/|T| sum_ij T_ij B3_j B1_i (S - B3_j B2 B1_i D)
    dB3_j/dt = 1/|T| sum_i T_ij B2 B1_i (S - B3_j B2 B1_i D),

which is Saxe, Sodhani & Lewallen (2022), eq. (10), with the trained paths through every edge counted from T. For a
biregular T and equal starts it is (44)-(46), and with B1 = B3 it is (13)-(14); for other masks those do not apply.
"""

from dataclasses import dataclass

import numpy as np

from foretrain.errors import argument_error, finite_array, integer, real
from foretrain.theory.integration import iterate


@dataclass(frozen=True)
class Routes:
    """Strengths along Euler steps; axes of several starts, if any, follow ``step``.

    Domains with the same training and the same start stay equal: one of each kind is kept.

    Attributes:
        encoders: B1, shape (step, ..., input_kind, mode).
        hidden: B2, shape (step, ..., mode).
        decoders: B3, shape (step, ..., output_kind, mode).
        input_kind, output_kind: Kind of each domain, shape (domain,).
        fraction: Share of the trained routes that joins two kinds, shape (input_kind, output_kind).
        singular_values, input_variances: S and D, shape (mode,).
    """

    encoders: np.ndarray
    hidden: np.ndarray
    decoders: np.ndarray
    input_kind: np.ndarray
    output_kind: np.ndarray
    fraction: np.ndarray
    singular_values: np.ndarray
    input_variances: np.ndarray

    def loss(self) -> np.ndarray:
        """Mean error of the trained routes without the residual, shape (step, ...)."""
        return (self._kind_error() * self.fraction).sum((-2, -1))

    def pair_error(self) -> np.ndarray:
        """Error of every route without the residual, shape (step, ..., input_domain, output_domain)."""
        return self._kind_error()[..., self.input_kind[:, None], self.output_kind]

    def route_strength(self) -> np.ndarray:
        """Strength B3_j B2 B1_i of every route, shape (step, ..., input_domain, output_domain, mode)."""
        return self._strength()[..., self.input_kind[:, None], self.output_kind, :]

    def _strength(self):
        outer = self.encoders[..., :, None, :] * self.decoders[..., None, :, :]
        return outer * self.hidden[..., None, None, :]

    def _kind_error(self):
        # 1/2 |Y - Yhat|^2 of a mode is 1/2 (S - a D)^2 / D.
        gap = self.singular_values - self._strength() * self.input_variances
        return 0.5 * (gap**2 / self.input_variances).sum(-1)


def descent(
    start,
    learning_rate: float,
    steps: int,
    singular_values,
    input_variances,
    trained_pairs,
    *,
    every: int = 1,
) -> Routes:
    """Euler steps of the reduction: exactly what gradient descent of the full network does from a decoupled start.

    `start` is the strength of every mode in every layer at step 0 (an array: as many reductions at once), `learning_rate` a
    step in the paper's time, D positive. Strengths are those at steps 0, every, 2 every, ... <= steps.

    Cost: O(steps * starts * kinds^2 * mode) in NumPy, one pass of Python per step; a biregular T has one kind of
    domain, others have M.
    """
    s = finite_array("singular_values", singular_values, ndim=1).astype(float)
    d = finite_array("input_variances", input_variances, ndim=1).astype(float)
    pairs = finite_array("trained_pairs", trained_pairs, ndim=2).astype(float)
    rate = real("learning_rate", learning_rate, above=0)
    steps = integer("steps", steps, minimum=0)
    every = integer("every", every, minimum=1)
    start = finite_array("start", start).astype(float)[..., None]
    if not (start > 0).all():
        raise argument_error("start", "be greater than 0", f"is {start.min():g}")
    if len(np.unique(pairs.sum(1))) == len(np.unique(pairs.sum(0))) == 1:
        fraction, counts = np.ones((1, 1)), pairs.shape
        input_kind, output_kind = (np.zeros(size, int) for size in pairs.shape)
    else:
        fraction, counts = pairs / pairs.sum(), (1, 1)
        input_kind, output_kind = (np.arange(size) for size in pairs.shape)
    b2 = np.broadcast_to(start, (*start.shape[:-1], len(s))).copy()
    b1 = np.repeat(b2[..., None, :], fraction.shape[0], axis=-2)
    b3 = np.repeat(b2[..., None, :], fraction.shape[1], axis=-2)

    def step(state):
        b1, b2, b3 = state
        left, right, middle = b1[..., :, None, :], b3[..., None, :, :], b2[..., None, :]
        error = fraction[:, :, None] * (s - right * middle[..., None, :] * left * d)
        pulled = error * right
        return (
            b1 + rate / counts[0] * pulled.sum(-2) * middle,
            b2 + rate * (pulled * left).sum((-3, -2)),
            b3 + rate / counts[1] * (error * left).sum(-3) * middle,
        )

    stored = iterate(step, (b1, b2, b3), steps, every)
    encoders, hidden, decoders = (np.stack(values) for values in zip(*stored, strict=True))
    return Routes(encoders, hidden, decoders, input_kind, output_kind, fraction, s, d)
