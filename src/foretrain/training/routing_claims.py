"""The claim of every study of routing networks that the mask alone decides which routes are trained."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from foretrain.claims.sentence import claim
from foretrain.lazy import xr
from foretrain.training.routing import mask

AXES = ("trained_outputs", "init_scale")
PAIR = ("input_domain", "output_domain")


def masks_again(c) -> xr.DataArray:
    """Return the masks of all runs, drawn again, dims (trained_outputs, seed, input_domain, output_domain)."""
    axis = {"trained_outputs": list(c.values("trained_outputs"))}
    each = [replace(c.p, trained_outputs=k) for k in axis["trained_outputs"]]
    drawn = [[mask(p, c.seed(number)) for number in range(c.seeds)] for p in each]
    return xr.DataArray(drawn, axis, ("trained_outputs", "seed", *PAIR))


trained_routes_alone = claim(
    "trained-routes-alone",
    "The routes of the mask are trained, and the gradient comes from these alone.",
    lambda c: np.maximum(
        abs(c.trained_pairs - masks_again(c)).max(PAIR, skipna=False), c.gradient_gap
    ),
    exact=True,
    near=0,
    inside=lambda c: (0, 1e-3 if c.p.precision == "float32" else 1e-10),
    rank="control",
    along=AXES,
    source="docs/theory/routing.md",
    why="Two ways to one gradient differ by rounding; one route more or less of KM changes it by about 1/(KM).",
    note="Largest distance of the first step's direction from that of the error on the trained routes, over its length; 1 if "
    "these are not those of the mask, drawn again.",
)
