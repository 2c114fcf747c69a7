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

from foretrain.errors import finite_array, integer, real


@dataclass(frozen=True)
class RoutingReduction:
    """Strengths along Euler steps.

    Attributes:
        encoders: B1, shape (step, input_domain, mode).
        hidden: B2, shape (step, mode).
        decoders: B3, shape (step, output_domain, mode).
        pair_error: Error of every route without the residual, shape (step, input_domain, output_domain).
    """

    encoders: np.ndarray
    hidden: np.ndarray
    decoders: np.ndarray
    pair_error: np.ndarray

    def route_strength(self) -> np.ndarray:
        """Strength B3_j B2 B1_i of every route, shape (step, input_domain, output_domain, mode)."""
        return self.decoders[:, None] * self.hidden[:, None, None] * self.encoders[:, :, None]


def euler(
    singular_values,
    variances,
    trained_pairs,
    init_scale: float,
    learning_rate: float,
    steps: int,
    observe_every: int = 1,
) -> RoutingReduction:
    """Euler steps of the reduction: exactly what gradient descent of the full network does from a decoupled start.

    Args:
        singular_values: S of <y x^T>, shape (mode,).
        variances: D, input variance of each mode, shape (mode,), positive.
        trained_pairs: T, shape (input_domain, output_domain), 0/1.
        init_scale: Strength of every mode in every layer at step 0.
        learning_rate: Step, in the paper's time (loss = mean over items and trained routes of 1/2 |y - yhat|^2).
        steps: Number of steps, at least 0.
        observe_every: Stride of the stored steps; step 0 is stored.

    Returns:
        Strengths at steps 0, observe_every, 2 observe_every, ... <= steps.

    Raises:
        ArgumentError: a number or array breaks its rule.

    Cost: O(steps * M^2 * mode) in NumPy, one pass of Python per step.
    """
    s = finite_array("singular_values", singular_values, ndim=1).astype(float)
    d = finite_array("variances", variances, ndim=1).astype(float)
    pairs = finite_array("trained_pairs", trained_pairs, ndim=2).astype(float)
    rate = real("learning_rate", learning_rate, above=0)
    steps, stride = (
        integer("steps", steps, minimum=0),
        integer("observe_every", observe_every, minimum=1),
    )
    # Domains that are treated alike stay alike; one representative of each class is enough.
    rows, row_of = np.unique(pairs.sum(1), return_inverse=True)
    columns, column_of = np.unique(pairs.sum(0), return_inverse=True)
    if len(rows) == len(columns) == 1:
        share, counts = np.array([[1.0]]), (pairs.shape[0], pairs.shape[1])
    else:
        share, counts = pairs / pairs.sum(), (1, 1)
        row_of, column_of = np.arange(pairs.shape[0]), np.arange(pairs.shape[1])
    start = real("init_scale", init_scale, above=0)
    b1 = np.full((share.shape[0], len(s)), start)
    b2 = np.full(len(s), start)
    b3 = np.full((share.shape[1], len(s)), start)
    stored = []
    for step in range(steps + 1):
        if step % stride == 0:
            stored.append((b1, b2, b3))
        error = share[:, :, None] * (s - b3[None] * b2 * b1[:, None] * d)
        new_b1 = b1 + rate / counts[0] * (error * b3[None]).sum(1) * b2
        new_b3 = b3 + rate / counts[1] * (error * b1[:, None]).sum(0) * b2
        b2 = b2 + rate * (error * b3[None] * b1[:, None]).sum((0, 1))
        b1, b3 = new_b1, new_b3
    encoders, hidden, decoders = (np.stack(values) for values in zip(*stored, strict=True))
    encoders, decoders = encoders[:, row_of], decoders[:, column_of]
    route = decoders[:, None] * hidden[:, None, None] * encoders[:, :, None]
    # 1/2 |Y - Yhat|^2 of a mode is 1/2 (S - a D)^2 / D.
    error = 0.5 * ((s - route * d) ** 2 / d).sum(-1)
    return RoutingReduction(encoders, hidden, decoders, error)
