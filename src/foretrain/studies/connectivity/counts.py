"""What of untrained pairs was predicted and what came, counted for every run; what sentences on connectivity share."""

import xarray as xr

from foretrain.training.translation import PAIR
from foretrain.training.translation_claims import converged, within

OURS = "docs/studies/connectivity.md"
MASKS = ("trained_count",)
LIMIT = ("init_scale", "trained_count")  # of small weights: the smallest scale is looked at
IF_AND_ONLY_IF = {
    "near": 1,
    "inside": (0.95, 1),
    "why": "An 'if and only if', allowing one in twenty to a finite scale and a chance agreement.",
}


def outcomes(cell) -> xr.Dataset:
    """Counts of untrained pairs by what was predicted and what came, per run; nan for runs that did not converge.

    Returns:
        ``predicted`` and ``came`` to generalise, ``hits``, which are both, ``apart``, those across components whose
        languages both are trained, ``false``, which of them came, and ``all_came``, whether every untrained pair did.
    """
    data, theory = cell.simulation, cell.theory
    untrained, joined = data["trained_pairs"] == 0, within(data, theory)
    came = untrained & (data["pair_error"] < cell.parameters.generalises_below)
    apart = untrained & (theory["predicted_pair_error"] == 1)
    kinds = {"predicted": joined, "came": came, "hits": joined & came}
    kinds |= {"apart": apart, "false": apart & came}
    found = xr.Dataset({name: pairs.sum(PAIR) for name, pairs in kinds.items()})
    return found.assign(all_came=(came | ~untrained).all(PAIR)).where(converged(data))


def at_smallest(cell):
    """The runs at the smallest scale, what was predicted of them, and what came of their pairs."""
    place = {"init_scale": 0}
    data, theory = cell.simulation.isel(place), cell.theory.isel(place)
    return data, theory, outcomes(cell).isel(place)
