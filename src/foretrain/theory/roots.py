"""The zero of a function of one number."""

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy

FINEST = 4 * np.finfo(np.float64).eps


def bracketed_root(
    function: Callable[[float], float], low: float, high: float, *, relative: float = FINEST
) -> float:
    """The zero of a continuous function between numbers of opposite signs, by Brent, to `relative`, at least `FINEST`."""
    root: Any = scipy.optimize.brentq(function, low, high, xtol=1e-300, rtol=np.float64(relative))
    return float(root)
