"""Claims of every study of routing networks: the routes that were trained are those of the mask."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from foretrain.claims.sentence import claim
from foretrain.training.routing import mask

OURS = "docs/theory/routing.md"
AXES = ("trained_outputs", "init_scale")
PAIR = ("input_domain", "output_domain")
CONTROL = {"source": OURS, "near": 0, "rank": "control", "exact": True, "along": AXES}


def masks_again(c) -> xr.DataArray:
    """Return the masks of all runs, drawn again, shape (trained_outputs, seed, input_domain, output_domain)."""
    import xarray as xr

    return xr.DataArray(
        drawn_masks(c)[:, 0],
        dims=("trained_outputs", "seed", *PAIR),
        coords={"trained_outputs": list(c.values("trained_outputs"))},
    )


def mask_gaps(c) -> np.ndarray:
    """Return how far trained routes and both errors of every run are from those of the mask, of runs that have an end."""
    import xarray as xr

    drawn, error = masks_again(c), c.pair_error.astype(float)
    first = np.sqrt(c.start.loss.astype(float))
    gaps = [abs(c.trained_pairs.astype(float) - drawn).max(PAIR, skipna=False)]
    for values, routes in ((c.end.loss, drawn), (c.end.untrained_error, 1 - drawn)):
        mean = (error * routes).sum(PAIR, skipna=False) / np.maximum(routes.sum(PAIR), 1)
        roots = (np.sqrt(np.maximum(x, 0)) for x in (values.astype(float), mean))
        gaps.append(abs(np.subtract(*roots)) / first)
    gaps = xr.broadcast(*gaps)
    known = np.isfinite(error).all(PAIR) & np.isfinite(first)
    known = known.transpose(*gaps[0].dims).values
    return np.array([gap.values[known] for gap in gaps])


same_mask = claim(
    "same-mask",
    "The trained routes are those of the mask: the loss is the mean error of these routes, the untrained error that of the "
    "others.",
    mask_gaps,
    inside=(0, 1e-5),
    why="One route more or less counts one. Roots of errors, over that of the loss at the start, differ by the rounding of "
    "single precision, some 1e-6.",
    note="Masks are drawn again and compared.",
    **CONTROL,
)

if TYPE_CHECKING:
    import xarray as xr
trained_routes_alone = claim(
    "trained-routes-alone",
    "The gradient comes from trained routes alone.",
    lambda c: c.gradient_gap,
    inside=lambda c: (0, 1e-3 if c.p.precision == "float32" else 1e-10),
    why="Two ways to one gradient differ by rounding; one route more or less of KM changes it by about 1/(KM).",
    note="Largest distance of the first step's direction from that of the error on the stored routes, over its length.",
    **CONTROL,
)
CONTROLS = [same_mask, trained_routes_alone]


def drawn_masks(cell) -> np.ndarray:
    """The masks of all runs drawn again, shape (K, 1, seed, input_domain, output_domain)."""
    each = [replace(cell.p, trained_outputs=k) for k in cell.values("trained_outputs")]
    numbers = range(cell.seeds)
    return np.array([[[mask(p, cell.seed(number)) for number in numbers]] for p in each])
