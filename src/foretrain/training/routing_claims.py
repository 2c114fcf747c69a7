"""The claim of all studies of routing networks: the mask alone decides which routes are trained; the closed form's domain."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from foretrain.claims.sentence import claim
from foretrain.lazy import xr
from foretrain.quantities.representation import cross_domain_similarity
from foretrain.training.routing import ITEMS, PAIR, mask

AXES = ("trained_outputs", "init_scale")


def same_item(runs):
    """Return the mean cosine between the first-layer activities of one item in different domains."""
    return cross_domain_similarity(runs.similarity, ITEMS)[0]


def means_gap(c, drawn) -> xr.DataArray:
    """Return how far stored means over trained and untrained routes are from those over the mask; 0 for runs that diverged.

    Of errors, roots are compared, over that of the loss at the start; of accuracies, where errors are not stored, these.
    """
    if "pair_error" in c.simulation:
        each, names, power = c.pair_error, ("loss", "untrained_error"), 0.5
        scale = c.start.loss.astype(float) ** power
    else:
        each, names, power = c.heldout_accuracy, ("trained_accuracy", "untrained_accuracy"), 1
        scale = 1.0
    each, gaps = each.astype(float), []
    for name, routes in zip(names, (drawn, 1 - drawn), strict=True):
        mean = (each * routes).sum(PAIR, skipna=False) / np.maximum(routes.sum(PAIR), 1)
        stored = c.end[name].astype(float).clip(0)
        gaps.append(abs(stored**power - mean.clip(0) ** power) / scale)
    return np.maximum(*gaps).where(np.isfinite(each).all(PAIR) & np.isfinite(scale), 0)


def mask_gap(c):
    """Return the largest of three gaps of every run: of its trained routes, its means over them, and its first step."""
    axis = {"trained_outputs": list(c.values("trained_outputs"))}
    each = [replace(c.p, trained_outputs=k) for k in axis["trained_outputs"]]
    again = [[mask(p, c.seed(number)) for number in range(c.seeds)] for p in each]
    drawn = xr.DataArray(again, axis, ("trained_outputs", "seed", *PAIR))
    routes = abs(c.trained_pairs - drawn).max(PAIR, skipna=False)
    return np.maximum(np.maximum(routes, means_gap(c, drawn)), c.gradient_gap)


def closed_form_error(c) -> tuple[float, float]:
    """Return by how much of what single domains keep the closed form errs, and lambda_1, the largest pace of a part of them.

    In layers of finite width vectors overlap by 1/sqrt(N_h), which moves the pole of a mode by half of that. What a part keeps
    goes as (1 - lambda)^-2 of its distance from the pole, so that on average it keeps 3/(4 N_h (1 - lambda_1)^2) more.
    """
    masks = [mask(c.p, c.seed(number)) for number in range(c.seeds)]
    paces = (np.linalg.svd(pairs / pairs.sum(1).max(), compute_uv=False)[1:] for pairs in masks)
    pace = min(max(max(pace, default=0.0) for pace in paces), 1.0)
    return 0.75 / c.p.hidden_width / max(1 - pace, 1e-9) ** 2, pace


def closed_form_within(most: Callable) -> Callable:
    """Return the domain in which the closed form errs by at most `most(c)`."""

    def outside(c) -> str:
        (error, pace), bound = closed_form_error(c), most(c)
        off = "more than 100%" if error > 1 else f"{error:.0%}"
        line = f"at lambda_1 = {pace:.2f} of the mask and this width the closed form is wrong by {off}, above {bound:.0%}"
        return line if error > bound else ""

    return outside


trained_routes_alone = claim(
    "trained-routes-alone",
    "The routes of the mask are trained, the gradient comes from these alone, and the errors on trained and untrained routes "
    "are the means over these and over the others.",
    mask_gap,
    at_most=lambda c: 1e-10 if c.p.precision == "float64" else 1e-3,
    rank="control",
    along=AXES,
    source="docs/theory/routing.md",
    why="Two ways to one gradient differ by rounding; one route more or less of KM changes it by about 1/(KM).",
    note="Largest distance of the first step's direction from that of the error on the trained routes, over its length; of "
    "roots of both errors from those of the means over the mask, drawn again, over that of the loss at the start (of "
    "accuracies, where errors are not stored); 1 if another route was trained.",
)
