r"""Exact learning curves of two-layer linear networks: single modes and whole matrices.

Whitened inputs: the network X Y^T is trained on a target matrix C by the gradient flow

$$ \tau X' = (C - X Y^T) Y, \qquad \tau Y' = (C - X Y^T)^T X. $$

The unit of time is that of `time_constant` = tau. For the loss 1/2 ||C - X Y^T||_F^2 in continuous
time (step x learning rate) tau is 1; for ||C - X Y^T||_F^2 without the 1/2 it is 1/2;
1/learning_rate makes times count steps. Input variance d different from 1 in every direction is a
change of units: use C for the product times d. See docs/theory/deep-linear.md.
"""

import numpy as np
from numpy.typing import ArrayLike

from foretrain.errors import argument_error, finite_array, real, same_length
from foretrain.theory.integration import checked_times

_BALANCE_TOLERANCE = 1e-8


def mode_strength(
    start,
    times,
    singular_values,
    *,
    input_variances=1.0,
    time_constant: float = 1.0,
    imbalance: ArrayLike = 0.0,
) -> np.ndarray:
    r"""Strength of each singular mode from a decoupled start, balanced or not.

    $$ a(t) = \frac{s/d}{1 - (1 - s/(d a_0)) e^{-2 s t / \tau}} $$

    which solves tau a' = 2 a (s - d a): Saxe, Sodhani & Lewallen (2022), eq. (21), finite for all times and for s = 0.
    With an imbalance the equation is tau a' = sqrt(delta^2 + 4 a^2) (s - d a), of Domine et al. (2025), arXiv 2409.14623;
    its closed form is derived in docs/theory/deep-linear.md.

    Args:
        start: a_0, shape (mode,) or a float; > 0 in balanced modes, where zero is a fixed point and is refused.
        times: Shape (time,), not negative, in any order; unit of `time_constant`.
        singular_values: s, shape (mode,), of the input-output correlation; >= 0.
        input_variances: d, shape (mode,) or a float; > 0.
        time_constant: tau > 0.
        imbalance: delta, the difference x^2 - y^2 of the two factors of each mode, which the flow conserves, shape (mode,)
            or a float, of either sign. Where a_0 < 0 rounding grows as the inverse square of delta / a_0.

    Returns:
        a, shape (time, mode), float64; tends to s/d.

    Example:
        >>> mode_strength(0.01, [0.0, 2.0, 6.0], np.array([1.0])).round(3)
        array([[0.01 ],
               [0.355],
               [0.999]])
    """
    times = checked_times(times, ordered=False)
    values = finite_array("singular_values", singular_values, ndim=1).astype(float)
    if (values < 0).any():
        raise argument_error("singular_values", "not be negative", f"has {values.min():g}")
    imbalance = _per_mode("imbalance", imbalance, values, False)
    start = _per_mode("start", start, values, imbalance == 0)
    variances = _per_mode("input_variances", input_variances, values)
    if imbalance.any():
        units = times / real("time_constant", time_constant, above=0)
        return _unbalanced(variances * start, variances * imbalance, units, values) / variances
    exponent = 2 * values * times[:, None] / real("time_constant", time_constant, above=0)
    # a_0 / (e^-x + d a_0 (1 - e^-x)/s), where the last quotient is 2 t / tau at s = 0.
    safe = np.where(values > 0, values, 1.0)
    quotient = np.where(values > 0, -np.expm1(-exponent) / safe, 2 * times[:, None] / time_constant)
    return start / (np.exp(-exponent) + variances * start * quotient)


def _unbalanced(start, imbalance, times, values):
    """Return the strengths, shape (time, mode), at input variance and time constant one."""
    squares = np.hypot(imbalance, 2 * start)
    rate = np.hypot(values, imbalance / 2)
    still = rate == 0
    decay = np.exp(-2 * rate * times[:, None])
    # (1 - e^(-2 w t))/w is 2 t at w = 0.
    grown = -np.expm1(-2 * rate * times[:, None]) / np.where(still, 1.0, rate)
    grown = np.where(still, 2 * times[:, None], grown)
    twice = values * imbalance**2 / 2 + start * (values - imbalance / 2) * (values + imbalance / 2)
    linear = squares * grown * (1 + decay)
    above = start * (1 + decay) ** 2 + values * linear + twice * grown**2
    return above / (4 * decay + linear + (2 * values * start + imbalance**2 / 2) * grown**2)


def balanced_start(product, imbalance: float = 0.0) -> tuple[np.ndarray, np.ndarray]:
    """Factors X, shape (n, r), and Y, shape (m, r), with X Y^T = `product` (n, m), X^T X = Y^T Y and r = min(n, m).

    They are unique up to a common rotation of their columns. With an `imbalance` lambda, X^T X - Y^T Y = lambda I.

    Example:
        >>> left, right = balanced_start(np.diag([4.0, 1.0]))
        >>> left @ right.T
        array([[4., 0.],
               [0., 1.]])
    """
    left, values, right = np.linalg.svd(finite_array("product", product, ndim=2), False)
    if not imbalance:
        root = np.sqrt(values)
        return left * root, right.T * root
    # The larger factor first: the other is what is left of the product, without a difference of near numbers.
    larger = np.sqrt((abs(imbalance) + np.hypot(imbalance, 2 * values)) / 2)
    roots = [larger, values / larger][:: 1 if imbalance > 0 else -1]
    return left * roots[0], right.T * roots[1]


def balanced_flow(
    start, times, target, *, time_constant: float = 1.0
) -> tuple[np.ndarray, np.ndarray]:
    r"""Exact gradient flow of X Y^T towards `target` from a balanced or lambda-balanced start, any shapes and ranks.

    For X^T X = Y^T Y the stacked matrix Q = (Y; X) makes Q Q^T obey a matrix Riccati equation
    (Fukumizu 1998; Braun et al. 2022), solved with F = [[0, C^T], [C, 0]] by

    $$ Q Q^T(t) = e^{Ft/\tau} Q_0
       \Big[ I + Q_0^T \int_0^{t/\tau} e^{2Fs} ds\, Q_0 \Big]^{-1} Q_0^T e^{Ft/\tau}. $$

    The bracket is at least I, so that the solution exists for every C, Q_0 and t, without full rank or equal width. For
    X^T X - Y^T Y = lambda I the same holds with F = [[-lambda/2, C^T], [C, lambda/2]] (Domine et al. 2025).

    Args:
        start: The pair X(0), Y(0), shapes (n, width) and (m, width).
        times: Shape (time,), not negative, in any order.
        target: C, shape (n, m).
        time_constant: tau > 0: 1 for the loss with 1/2, 1/2 for the loss without.

    Returns:
        X(t), shape (time, n, rank), and Y(t), shape (time, m, rank), float64, rank <= width that of the start seen along the
        singular directions of the target; up to a common rotation of the columns, so that they restart the flow.

    Raises:
        ArgumentError: the start is neither balanced nor lambda-balanced: ||X^T X - Y^T Y||_F, and its distance from the
            nearest lambda I, exceed 1e-8 of ||X||_F^2 + ||Y||_F^2.

    Cost: one SVD of the target and per time one QR of (n + m + rank) x rank.

    A mode whose overlap with the start is below rounding (about 1e-14 of the start) counts as absent and is never learned.
    """
    left, right, target, imbalance = _factors(start, target)
    times = checked_times(times, ordered=False) / real("time_constant", time_constant, above=0)
    vectors, rates = _eigenbasis(target, imbalance)
    overlaps, pivots = _echelon(vectors.T @ np.concatenate([right, left]))
    count, rank = len(target), overlaps.shape[1]
    lefts = np.empty((len(times), count, rank))
    rights = np.empty((len(times), len(right), rank))
    for index, time in enumerate(times):
        stacked = vectors @ _riccati_factor(overlaps, rates, pivots, time)
        rights[index], lefts[index] = stacked[: len(right)], stacked[len(right) :]
    return lefts, rights


def _eigenbasis(target, imbalance):
    """Eigenvectors (columns) and eigenvalues of F, largest first.

    With w = sqrt(s^2 + lambda^2/4) they are (q v; p u)/sqrt 2 with w, (p v; -q u)/sqrt 2 with -w, p^2 = 1 + lambda/(2 w),
    p q = s/w, and what is left of u or v alone with lambda/2 or -lambda/2.
    """
    left, values, right = np.linalg.svd(target)
    n, m, count = len(left), len(right), len(values)
    u, v = left[:, :count], right[:count].T
    free_u = np.concatenate([np.zeros((m, n - count)), left[:, count:]])
    free_v = np.concatenate([right[count:].T, np.zeros((n, m - count))])
    rate = np.hypot(values, imbalance / 2)
    safe = np.where(rate > 0, rate, 1.0)
    larger = np.sqrt(1 + abs(imbalance) / 2 / safe)
    smaller = np.where(rate > 0, values / safe, 1.0) / larger
    p, q = (larger, smaller) if imbalance >= 0 else (smaller, larger)
    pairs = np.block([[v * q, v * p], [u * p, -u * q]]) / np.sqrt(2)
    vectors = np.concatenate([pairs, free_u, free_v], axis=1)
    idle = np.full(n - count, imbalance / 2), np.full(m - count, -imbalance / 2)
    rates = np.concatenate([rate, -rate, *idle])
    order = np.argsort(-rates, kind="stable")
    return vectors[:, order], rates[order]


def _echelon(overlaps):
    """Rotate the columns of `overlaps` so that each starts at a later row than the one before it.

    Rows are in order of falling rate. A column then grows no faster than its first row, its pivot, and can be scaled by it.
    """
    noise = 32 * np.finfo(float).eps * np.linalg.norm(overlaps)
    basis, pivots = np.empty((overlaps.shape[1], 0)), []
    for index, row in enumerate(overlaps):
        if basis.shape[1] == overlaps.shape[1]:
            break
        rest = row - basis @ (basis.T @ row)
        rest = rest - basis @ (basis.T @ rest)
        length = np.linalg.norm(rest)
        if length > noise:
            basis = np.column_stack([basis, rest / length])
            pivots.append(index)
    rotated = overlaps @ basis
    for column, pivot in enumerate(pivots):
        rotated[:pivot, column] = 0.0
    return rotated, np.array(pivots, dtype=int)


def _riccati_factor(overlaps, rates, pivots, time):
    """W with W W^T = E A N^-1 A^T E, N = I + A^T Phi A, E = exp(rates x time), Phi its integral.

    Every column is scaled by exp(-time x rate of its pivot), so that no exponent is positive.
    """
    growing = np.maximum(rates, 0.0)
    relative = (growing[:, None] - growing[pivots]) * time
    # Below a pivot the exponent is <= 0; above it the entry is exactly zero whatever the exponent.
    scaled = overlaps * np.exp(np.minimum(relative, 0.0))
    double = 2 * np.abs(rates) * time
    safe = np.where(rates == 0, 1.0, 2 * np.abs(rates))
    integral = np.where(rates == 0, time, -np.expm1(-double) / safe)
    stacked = np.concatenate(
        [np.diag(np.exp(-growing[pivots] * time)), scaled * np.sqrt(integral)[:, None]]
    )
    lengths = np.linalg.norm(stacked, axis=0)
    triangle = np.asarray(np.linalg.qr(stacked / lengths, mode="r"))
    advanced = scaled * np.exp(np.minimum(rates, 0.0) * time)[:, None] / lengths
    return np.linalg.solve(triangle.T, advanced.T).T


def _factors(start, target):
    left, right = start
    left = finite_array("start[0]", left, ndim=2).astype(float)
    right = finite_array("start[1]", right, ndim=2).astype(float)
    target = finite_array("target", target, ndim=2).astype(float)
    if left.shape[1] != right.shape[1]:
        rule = f"have {left.shape[1]} columns, as `start[0]`"
        raise argument_error("start[1]", rule, f"has {right.shape[1]}")
    if target.shape != (shape := (len(left), len(right))):
        raise argument_error("target", f"have shape {shape}", f"has shape {target.shape}")
    scale = np.sum(left**2) + np.sum(right**2)
    difference, imbalance = left.T @ left - right.T @ right, 0.0
    if np.linalg.norm(difference) > _BALANCE_TOLERANCE * scale:
        imbalance = float(np.mean(np.diag(difference)))
        away = float(np.linalg.norm(difference - imbalance * np.eye(len(difference))))
        if away > _BALANCE_TOLERANCE * scale:
            rule = f"be balanced (X^T X = Y^T Y, or lambda I more, to {_BALANCE_TOLERANCE:g})"
            got = f"deviates by {away / scale:.3g} of |X|^2 + |Y|^2"
            raise argument_error("start", rule, got, "Try `balanced_start`, or simulate.")
    return left, right, target, imbalance


def _per_mode(name, value, values, positive=True):
    value = finite_array(name, value).astype(float)
    if value.ndim == 0:
        value = np.full(values.shape, value)
    same_length(singular_values=values, **{name: value})
    if (wrong := positive & (value <= 0)).any():
        raise argument_error(name, "be greater than 0", f"has {value[wrong].min():g}")
    return value
