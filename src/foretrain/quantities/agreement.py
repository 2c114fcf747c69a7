"""Agreement of two yes-or-no readings."""

import numpy as np


def balanced_agreement(found: np.ndarray, told: np.ndarray) -> float:
    """Mean of two fractions: of what is found those foretold, of what is not found those foretold not to be.

    A prediction that says yes to all, or to none, has 1/2.

    Args:
        found: Shape (case,), 0 or 1; nan where it is not known.
        told: Shape (case,), bool.

    Returns:
        One fraction where there is only one kind; nan where there is none, or something is not known.
    """
    parts = [kind.mean() for kind in (told[found == 1], ~told[found == 0]) if kind.size]
    return float(np.mean(parts)) if parts and not np.isnan(found).any() else np.nan
