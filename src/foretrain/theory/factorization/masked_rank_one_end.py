"""The end of training of the masked rank-one model on any mask: known from the start, but for the sign of each component.

At zero loss s u_i v_j = 1 on all trained pairs, so that u_i = mu_c and v_j = nu_c = 1/(s mu_c) throughout a component c
of the bipartite graph of T. On a component of a inputs and b outputs the flow conserves the sum of its u_i^2 less that of
its v_j^2, k_c, and on the whole |u|^2 - s^2; a domain that is never trained stays where it started. These are as many
equations as unknowns:

    a mu_c^2 - b / (s mu_c)^2 = k_c,    sum_c a mu_c^2 + |u_idle|^2 - s^2 = |u(0)|^2 - s(0)^2.

As the start tends to zero so do k_c and what stays, and a pair across components tends to s u_i v_j = +-rho with
rho = ((b_1 / a_1) (a_2 / b_2))^(1/4), off by the square of the initial scale. See docs/theory/masked-rank-one.md. In float64.
"""

import math
from typing import NamedTuple

import numpy as np

from foretrain.tasks.masks import components
from foretrain.theory.factorization.masked_rank_one import best_rank_one
from foretrain.theory.factorization.masked_rank_one_escape import checked_start, early_flow
from foretrain.theory.roots import bracketed_root


class End(NamedTuple):
    """Sizes of the weights at zero loss: |u|, shape (row,), |v|, shape (column,), and |s|."""

    left: np.ndarray
    right: np.ndarray
    scale: float

    @property
    def products(self) -> np.ndarray:
        """|s u_i v_j| of every pair, shape (row, column): 1 within components."""
        return self.scale * np.outer(self.left, self.right)


def end_of_training(start, trained_pairs) -> End:
    """Weights at which zero loss is reached from a start of any size, if it is reached.

    A start must fit as for `foretrain.theory.factorization.masked_rank_one_escape.early_flow`, but may oppose.

    Cost: a tenth of a millisecond for ten domains.
    """
    trained, u, v, s = checked_start(start, trained_pairs)
    rows, columns = components(trained)
    parts = [(rows == part, columns == part) for part in np.unique(rows[trained.any(1)])]
    inputs, outputs = np.array([[mine.sum() for mine in part] for part in parts], float).T
    kept = np.array([(u[row] ** 2).sum() - (v[column] ** 2).sum() for row, column in parts])
    idle = float((u[~trained.any(1)] ** 2).sum())
    whole = float(u @ u) - s**2

    def powers(squared):
        """Sum of the u_i^2 of every component where s^2 is this: the positive root of its own equation."""
        root = np.hypot(kept, 2 * np.sqrt(inputs * outputs / squared))
        # With k_c < 0 root + k_c would cancel; the other root of the equation does not.
        other = np.where(kept < 0, root - kept, 1.0)
        return np.where(kept < 0, 2 * inputs * outputs / squared / other, (root + kept) / 2)

    def excess(squared):
        return float(powers(squared).sum()) + idle - squared - whole

    low = high = float(np.sqrt(inputs * outputs).sum()) ** (2 / 3)
    while excess(low) < 0:
        low /= 2
    while excess(high) > 0:
        high *= 2
    squared = bracketed_root(excess, low, high) if low < high else low
    left, right = np.abs(u), np.abs(v)
    for (row, column), power, size in zip(parts, powers(squared), inputs, strict=True):
        left[row] = math.sqrt(power / size)
        right[column] = 1 / math.sqrt(squared * power / size)
    return End(left, right, math.sqrt(squared))


def component_signs(start, trained_pairs) -> tuple[np.ndarray, np.ndarray]:
    """The sign that each component takes in the limit of small weights, from the start of its own leading mode.

    In the linearised flow the leading mode of a component grows as e^(s_1 |S|) from (u_1 . u(0) + v_1 . v(0)) / 2 if S runs
    to infinity, and from half the difference if to minus infinity. Once other components are learned it still is linear
    in S, so that its sign stays. A pair across components has the sign of the product of both.

    The signs are (row,) and (column,); 0 for domains that are never trained.
    """
    trained, u, v, s = checked_start(start, trained_pairs)
    early = early_flow((u, v, s), trained)
    toward = -early.sign if math.isfinite(early.turning_point) else early.sign
    rows, columns = components(trained)
    left, right = np.zeros(u.size), np.zeros(v.size)
    for part in np.unique(rows[trained.any(1)]):
        row, column = rows == part, columns == part
        _, first, second = best_rank_one(trained[np.ix_(row, column)])
        sign = math.copysign(1.0, first @ u[row] + toward * (second @ v[column]))
        left[row] = right[column] = sign
    return left, right
