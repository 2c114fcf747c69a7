"""Runs that lie apart from the others and carry a mean.

They are seen where k of n values lie beyond Student's t of the others at `LEVEL`, shared out over all choices of k among n on
either side (Bonferroni): normal samples are called so at most once in a thousand for each k. A kind of run that is in none of
the samples leaves no trace in them.
"""

import math
from typing import NamedTuple

import numpy as np
from scipy.special import comb, stdtrit

LEVEL = 1e-3
_MOST = 4  # at most one run in so many is rare


class Apart(NamedTuple):
    """Runs that lie apart."""

    runs: int  # their number
    others: float  # mean of the others, in the unit of the values


def runs_apart(values: np.ndarray) -> Apart | None:
    """Return the largest group of at most a quarter of the runs that lies apart on one side; None where there is none.

    Args:
        values: One finite value per run, shape (n,). Fewer than four runs have no group.
    """
    ordered, n = np.sort(np.asarray(values, float)), len(values)
    for runs in range(n // _MOST, 0, -1):
        others = n - runs
        level = LEVEL / (2 * comb(n, runs, exact=True))
        reach = -float(stdtrit(others - 1, level)) * math.sqrt(1 + 1 / others)
        for side in (1, -1):
            row = side * ordered[::side]  # ascending, from either side
            middle, spread = row[:others].mean(), row[:others].std(ddof=1)
            if row[others] > row[others - 1] and row[others] - middle > reach * spread:
                return Apart(runs, float(side * middle))
    return None
