"""Competition for a target: components that first align with the same target, and components that have bumps.

Throughout `first` holds the first target of every component, -1 for none, and `bumps` its number of
bumps, both of shape (..., component) with runs along the axes in front.
"""

import numpy as np


def shares_first_target(first) -> np.ndarray:
    """True for components that first aligned with the same target as another component, shape (..., component)."""
    same = (first[..., :, None] == first[..., None, :]) & (first >= 0)[..., :, None]
    return same.sum(-1) > 1


def backed_off(first, bumps) -> np.ndarray:
    """Fraction of contested targets of which a contestant has a bump, of runs of shape (run, component).

    A target is contested if two or more components first aligned with it; nan for a run without one.
    """
    fractions = []
    for targets, counts in zip(first, bumps, strict=True):
        contested = [t for t in set(targets[targets >= 0]) if (targets == t).sum() > 1]
        backed = [(counts[targets == t] > 0).any() for t in contested]
        fractions.append(np.mean(backed) if backed else np.nan)
    return np.array(fractions)


def matched_bumps(first, bumps, partner_first, partner_bumps) -> tuple[np.ndarray, np.ndarray]:
    """Bumps of the two runs of every matched pair in which only one shares a first target.

    Args:
        first: Of the runs, shape (..., component); only the first two components are looked at.
        bumps: Of the runs.
        partner_first: Of their partners.
        partner_bumps: Of their partners.

    Returns:
        Bumps of the run that shares and of the one that does not, shape (...); nan where both or none do.
    """
    shared = shares_first_target(first[..., :2])[..., 0]
    shared_too = shares_first_target(partner_first[..., :2])[..., 0]
    counts, counts_too = bumps[..., :2].sum(-1), partner_bumps[..., :2].sum(-1)
    decides = shared != shared_too
    sharing = np.where(decides, np.where(shared, counts, counts_too), np.nan)
    unmatched = np.where(decides, np.where(shared, counts_too, counts), np.nan)
    return sharing, unmatched
