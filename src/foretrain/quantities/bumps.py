"""Bumps: a component grows towards a target, then gives it up; and the competition for a target that makes them.

A bump of component j on target i is a local maximum in time of the alignment A_ij that

- has a prominence of at least `prominence`: going from it to the nearest higher value on either
  side, or to the end of the record, the alignment falls by that much below it, on both sides;
- is given up: the last alignment lies below the maximum by at least `prominence`, and the component
  does not end on i, the target of its largest last alignment where that is `ENDS_ON` or more.

Only the order of the samples matters, not their times, provided no bump falls between two of them. Sensitivity to the two
thresholds is a matter of the data: report counts at several prominences beside the default.
"""

from dataclasses import dataclass

import numpy as np
from scipy.signal import find_peaks

from foretrain.errors import finite_array, real
from foretrain.quantities.alignment import ENDS_ON


@dataclass(frozen=True)
class Bump:
    """One bump."""

    component: int  #: j
    target: int  #: i
    index: int  #: sample at which the alignment is largest
    height: float  #: the alignment there
    prominence: float  #: how far it stands out, see the module


def bumps(alignments, *, prominence: float = 0.1) -> list[Bump]:
    """All bumps of one run.

    Args:
        alignments: A, shape (time, target, component), from `foretrain.quantities.alignment.alignment`.
        prominence: Least prominence and least final fall, > 0.

    Returns:
        Bumps by component, then target, then sample. A maximum at the first or last sample is none.

    Raises:
        ArgumentError: `alignments` is not finite with three axes, or `prominence` is not positive.

    Cost:
        About 30 microseconds per target and component.

    Example:
        >>> alignments = np.array([[[0.0], [0.0]], [[0.8], [0.1]], [[0.1], [0.9]]])
        >>> bump = bumps(alignments)[0]
        >>> bump.component, bump.target, bump.height
        (0, 0, 0.8)
    """
    alignments = finite_array("alignments", alignments, ndim=3).astype(float)
    prominence = real("prominence", prominence, above=0)
    results, (_, targets, components) = [], alignments.shape
    for component in range(components):
        last = alignments[-1, :, component]
        for target in range(targets):
            if last[target] >= ENDS_ON and last.argmax() == target:
                continue
            curve = alignments[:, target, component]
            peaks, properties = find_peaks(curve, prominence=prominence)
            for peak, height in zip(peaks, properties["prominences"], strict=True):
                if curve[-1] <= curve[peak] - prominence:
                    bump = Bump(component, target, int(peak), float(curve[peak]), float(height))
                    results.append(bump)
    return results


def bumps_per_component(alignments, *, prominence: float = 0.1) -> np.ndarray:
    """Number of bumps of each component, shape (component,); arguments as for `bumps`."""
    owners = [bump.component for bump in bumps(alignments, prominence=prominence)]
    return np.bincount(np.array(owners, dtype=int), minlength=np.shape(alignments)[2])


def shares_first_target(first) -> np.ndarray:
    """True for components that first aligned with the same target as another component, shape (..., component).

    Here and below `first` holds the first target of every component, -1 for none, and `bumps` its number of bumps.
    """
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


def bumps_of_pairs(first, bumps, partner_first, partner_bumps) -> tuple[np.ndarray, np.ndarray]:
    """Bumps of the two runs of every matched pair in which only one shares a first target.

    Of runs and of their partners, shapes (..., component), the first two components are looked at. Returned are the bumps of
    the run that shares and of the one that does not, shape (...); nan where both or none do.
    """
    shared = shares_first_target(first[..., :2])[..., 0]
    shared_too = shares_first_target(partner_first[..., :2])[..., 0]
    counts, counts_too = bumps[..., :2].sum(-1), partner_bumps[..., :2].sum(-1)
    decides = shared != shared_too
    sharing = np.where(decides, np.where(shared, counts, counts_too), np.nan)
    unmatched = np.where(decides, np.where(shared, counts_too, counts), np.nan)
    return sharing, unmatched
