"""The measure of a fact that is exact: how far the farthest value is from it."""

import numpy as np

from foretrain.claims.sentence import Exact


def largest(deviations, note: str = "") -> Exact:
    """The largest deviation by size, of an array of any shape; nan where there is none or one is nan.

    Args:
        deviations: Differences from what is exact.
        note: As of `Exact`.
    """
    sizes = np.abs(np.asarray(deviations, float))
    return Exact(float(sizes.max()) if sizes.size else float("nan"), note)
