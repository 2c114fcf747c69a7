"""Agreement of measured yes-or-no readings with predicted ones."""

import numpy as np


def balanced_agreement(measured: np.ndarray, predicted: np.ndarray) -> float:
    """Mean of two fractions: of measured ones, those predicted to be one; of measured zeros, those predicted to be zero.

    A prediction that says yes to all, or to none, has 1/2. It is one fraction where there is only one kind of measured
    values, shape (case,), and nan where there is none or where one of them is nan, which stands for not known.
    """
    parts = [
        kind.mean() for kind in (predicted[measured == 1], ~predicted[measured == 0]) if kind.size
    ]
    return float(np.mean(parts)) if parts and not np.isnan(measured).any() else np.nan
