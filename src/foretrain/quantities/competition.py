"""What competition for a target does: which components first align with one target, and which have bumps.

Throughout `first` holds the first target of every component, -1 for none, and `bumps` its number of
bumps, both of shape (..., component) with runs along the axes in front.
"""

import numpy as np


def shares_first_target(first) -> np.ndarray:
    """Which components first aligned with the same target as another one, shape (..., component)."""
    same = (first[..., :, None] == first[..., None, :]) & (first >= 0)[..., :, None]
    return same.sum(-1) > 1


def sharing_of_bumped(first, bumps) -> np.ndarray:
    """Fraction of components with a bump that shared their first target, shape (...); nan where none has one."""
    return _mean_where(shares_first_target(first), bumps > 0)


def excess_sharing_of_bumped(first, bumps) -> np.ndarray:
    """Share of first-target sharers among all components with a bump minus that among all components, of (run, component).

    The quotient is taken over all runs, since within a run of two components both share or none. Per
    run the term of its expansion to first order, shape (run,): their mean is the difference itself,
    and their spread gives its error over runs. nan where no component has a bump.
    """
    shares, bumped = shares_first_target(first), bumps > 0
    if not bumped.any():
        return np.full(len(first), np.nan)
    share = shares[bumped].mean()
    return share + ((shares - share) * bumped).sum(1) / bumped.sum(1).mean() - shares.mean(1)


def extra_bumps_of_sharing(first, bumps) -> np.ndarray:
    """Bumps per component that shared its first target minus per one that did not; nan where all or none did."""
    shares = shares_first_target(first)
    return _mean_where(bumps, shares) - _mean_where(bumps, ~shares)


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


def pairs(first, bumps) -> tuple[np.ndarray, np.ndarray]:
    """Pairs of components that contest a target, and pairs that contest nothing, of runs of shape (run, component).

    Two components contest the target with which both first aligned; they contest nothing if neither shares its first
    target with any.

    Args:
        first: First targets.
        bumps: Of each component on its own first target.

    Returns:
        Number of pairs of either kind and number of those of which one component or both have such a bump, shape
        (run, 2) each.
    """
    one, other = np.triu_indices(first.shape[1], 1)
    alone = (first >= 0) & ~shares_first_target(first)
    contested = (first[:, one] == first[:, other]) & (first[:, one] >= 0)
    kinds = np.stack([contested, alone[:, one] & alone[:, other]], 1)
    bumped = (bumps[:, one] > 0) | (bumps[:, other] > 0)
    return kinds.sum(2), (kinds & bumped[:, None]).sum(2)


def excess_of_contested(first, bumps) -> np.ndarray:
    """Share with a bump of pairs that contest a target, minus that of pairs that contest nothing; arguments as for `pairs`.

    Both shares are taken over all runs, since two components either contest a target or do not. Per run the term of the
    expansion to first order, shape (run,), as in `excess_sharing_of_bumped`; nan where there are no pairs of one kind.
    """
    number, bumped = pairs(first, bumps)
    if not number.sum(0).all():
        return np.full(len(first), np.nan)
    share = bumped.sum(0) / number.sum(0)
    terms = share + (bumped - share * number) / number.mean(0)
    return terms[:, 0] - terms[:, 1]


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
    apart = np.where(decides, np.where(shared, counts_too, counts), np.nan)
    return sharing, apart


def mean_over_cells(values) -> np.ndarray:
    """Mean over the first axis of what is finite, shape (cell, seed) to (seed,); nan where nothing is."""
    values = np.asarray(values, dtype=float)
    counts = np.isfinite(values).sum(0)
    return np.where(counts > 0, np.nansum(values, 0) / np.maximum(counts, 1), np.nan)


def _mean_where(values, mask) -> np.ndarray:
    counts = mask.sum(-1)
    return np.where(counts > 0, (values * mask).sum(-1) / np.maximum(counts, 1), np.nan)
